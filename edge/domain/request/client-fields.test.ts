/** The allowed numbers and names of a client (docs/rules/token-estimates.md#client-limits). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decidingFields,
  inputFault,
  isCheckedName,
  numberFault,
  numberTextFault,
  spellingFault,
  TOKEN_LIMITS,
} from "./client-fields.ts";
import { routeClassOf } from "./route-class.ts";

const FIELDS = ["model", ...TOKEN_LIMITS, "n", "input"];
const BOUNDS = [...TOKEN_LIMITS.map((name) => [name, 0, 2_147_483_647] as const), ["n", 1, 1000] as const];

describe.each(BOUNDS)("%s", (name, min, max) => {
  const fault = { param: name, message: `${name} must be an integer between ${min} and ${max}` };

  it("may be null, absent, or an integer in its bounds, however JSON writes it", () => {
    for (const text of ["null", String(min), String(max), `${max}.0`, `${min}e0`, "1e2", "100.00E-0"])
      expect({ text, numberFault: numberFault(JSON.parse(`{"${name}":${text}}`)) }).toEqual({
        text,
        numberFault: null,
      });
    expect(numberFault({})).toBeNull();
  });

  it.each(["1e308", "1e400", "-1e400", "1e-7", "5e-324", "0.5", "-1", `${max + 1}`, "9007199254740993"])(
    "is not %s",
    (text) => {
      expect(numberFault(JSON.parse(`{"${name}":${text}}`))).toEqual(fault);
    },
  );

  it("is nothing else of JSON, and of numbers only the integers in its bounds", () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.double(), fc.maxSafeInteger(), fc.integer({ min, max })), (value) => {
        const fits = value === null || (Number.isInteger(value) && Number(value) >= min && Number(value) <= max);
        expect(numberFault({ [name]: value })).toEqual(fits ? null : fault);
      }),
    );
  });

  it("of a form is the plain digits of such an integer", () => {
    for (const text of [String(min), String(max), "7"]) expect(numberTextFault(name, text)).toBeNull();
    for (const text of [
      "",
      " 7",
      "7 ",
      "+7",
      "-0",
      "07",
      "7.0",
      "1e2",
      "0x7",
      "7\n",
      "٧",
      "７",
      "1_0",
      `${max + 1}`,
      "9".repeat(400),
    ])
      expect({ text, numberTextFault: numberTextFault(name, text) }).toEqual({ text, numberTextFault: fault });
  });
});

describe("the name of a field that decides", () => {
  it.each([
    "Model",
    "MODEL",
    "model\0",
    "model\0x",
    "Model\0",
    "Max_Tokens",
    "max_to\u212aens",
    "max_token\u017f",
    "N",
  ])("is written one way: not %j", (name) => {
    expect(isCheckedName(name)).toBe(true);
    expect(spellingFault(["user", name], FIELDS)).toMatchObject({
      message: expect.stringContaining("must be written"),
    });
  });

  it.each(["models", "a model", " model", "model ", "max_token", "nn", "\0model", "", "mödel"])(
    "may be part of another name: %j",
    (name) => {
      expect({ isCheckedName: isCheckedName(name), spellingFault: spellingFault([name], FIELDS) }).toEqual({
        isCheckedName: false,
        spellingFault: null,
      });
    },
  );

  it("comes once, but for the model of a JSON body, which is the same everywhere upstream", () => {
    expect(spellingFault(["model", "n", "model"], FIELDS)).toBeNull();
    for (const name of [...TOKEN_LIMITS, "n", "input"])
      expect(spellingFault([name, "model", name], FIELDS)).toEqual({
        param: name,
        message: `${name} must be given only once`,
      });
  });

  it("is shown printable and short", () => {
    expect(spellingFault([`model\0\u001b${"x".repeat(1000)}`], FIELDS)?.param).toMatch(/^model\\u\{0\}\\u\{1b\}x{57}$/);
  });

  it("is free where the route reads no such field", () => {
    expect(spellingFault(["Input", "input", "input"], decidingFields(routeClassOf("/v1/chat/completions")))).toBeNull();
    expect(spellingFault(["Max_Tokens"], decidingFields(routeClassOf("/v1/embeddings")))).toBeNull();
    for (const path of ["/v1/embeddings", "/v1/rerank", "/v1/anything"])
      expect(spellingFault(["Model"], decidingFields(routeClassOf(path)))).not.toBeNull();
  });
});

describe("the input of a speech", () => {
  const speech = routeClassOf("/v1/audio/speech");

  it.each([[["a"]], [{}], [5], [true], [null], [undefined]])("is a text, not %j", (input) => {
    expect(inputFault(speech, { input })).toEqual({ param: "input", message: "input must be a string" });
    expect(inputFault(routeClassOf("/v1/embeddings"), { input })).toBeNull();
  });

  it("may be any text", () => {
    for (const input of ["x", ""]) expect(inputFault(speech, { input })).toBeNull();
  });
});
