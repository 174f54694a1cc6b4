import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../../shared/steps.ts";
import { scanTopLevel as scanTopLevelInSteps } from "../../../../shared/wire/json-top-level.ts";
import { BytePieces, concat, splice } from "../bytes/byte-pieces.ts";

const scanTopLevel = (...given: Parameters<typeof scanTopLevelInSteps>) => atOnce(scanTopLevelInSteps(...given));

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

describe("scanning the top level", () => {
  it("finds every member of any document, wherever its spaces are", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue()),
        fc.constantFrom(0, 1, 3),
        (document, indent) => {
          const text = JSON.stringify(document, null, indent);
          const bytes = bytesOf(text);
          const members = scanTopLevel(bytes)?.members ?? [];
          expect(members.map((member) => member.name)).toEqual(Object.keys(document));
          for (const { name, value } of members) {
            expect(JSON.parse(textOf(bytes.subarray(value.start, value.end)))).toEqual(
              JSON.parse(JSON.stringify(document[name])),
            );
          }
        },
      ),
    );
  });

  it.each([
    "",
    "[]",
    '"a"',
    "{",
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,}',
    '{"a":1} x',
    '{"a":"\\"}',
    "{a:1}",
    '{"a":}',
    '{"a":[1}',
  ])("finds none in %j", (text) => {
    expect(scanTopLevel(bytesOf(text))).toBeNull();
  });

  it("lists what is wanted, by the names that JSON makes of them", () => {
    const bytes = bytesOf('{"a":1,"m\\u006fdel":"x","model":"y","mod\\u0065l\\u0000":"z","b":{"model":1}}');
    const isModel = (name: string): boolean => name.startsWith("model");
    expect(scanTopLevel(bytes, isModel)?.members.map((member) => member.name)).toEqual(["model", "model", "model\0"]);
  });

  it("reads a million members for the few that are wanted, and gives up on ten thousand of those", () => {
    const many = bytesOf(`{${'"a":1,'.repeat(1_000_000)}"model":"m"}`);
    expect(scanTopLevel(many, (name) => name === "model")?.members).toHaveLength(1);
    expect(scanTopLevel(many)).toBeNull();
  });

  it("is not fooled by the content of strings", () => {
    const bytes = bytesOf('{"a":"}\\"],{","model":"m","n":{"model":"inner"}}');
    expect(scanTopLevel(bytes)?.members.map((member) => member.name)).toEqual(["a", "model", "n"]);
  });
});

describe("splicing", () => {
  it.each([
    ['{"model":"a"}', '"a"', 1],
    ['{"model":"b"}', '"a"', 3],
    ['{"model":"aa"}', '"a"', 3],
    ['{"model":"\u00fc"}', '"\u00fc"', 3],
    ['{"model":"a","b":1,"model":"c"}', '"a"', 3],
  ])("of %s with %s, where it stands already or not, gives %d pieces", (text, model, pieces) => {
    const bytes = bytesOf(text);
    const spans = scanTopLevel(bytes)?.members.filter((member) => member.name === "model") ?? [];
    const spliced = splice(
      new BytePieces([bytes]),
      spans.map((member) => ({ span: member.value, text: model })),
    );
    expect(spliced.length).toBe(pieces);
    expect(JSON.parse(textOf(concat(spliced)))).toMatchObject({ model: JSON.parse(model) });
  });

  it("replaces spans and leaves every other byte alone", () => {
    const bytes = bytesOf('{ "model" : "a" , "ü":[1, 2],"model":"b"}');
    const spans = scanTopLevel(bytes)?.members.filter((member) => member.name === "model") ?? [];
    expect(
      textOf(
        concat(
          splice(
            new BytePieces([bytes]),
            spans.map((member) => ({ span: member.value, text: '"longer name"' })).reverse(),
          ),
        ),
      ),
    ).toBe('{ "model" : "longer name" , "ü":[1, 2],"model":"longer name"}');
  });
});
