/** Settings are sent as they were meant, or not at all with a reason at their field. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { NUMBERS, toolNames, validatedSettings } from "./request-settings.ts";

it("sends what was typed and leaves out what is empty", () => {
  expect(validatedSettings({})).toEqual({ members: { stream: true }, errors: {} });
  const tool = { type: "function", function: { name: "f" } };
  const { members, errors } = validatedSettings({
    temperature: " 0.5 ",
    max_tokens: "0",
    seed: "-7",
    stop: "END\n\n\\n",
    tools: JSON.stringify([tool]),
    tool_choice: "required",
    schema: '{"type":"object"}',
    stream: "off",
    system: "is a message",
  });
  expect(errors).toEqual({});
  expect(members).toEqual({
    temperature: 0.5,
    max_tokens: 0,
    seed: -7,
    stop: ["END", "\\n"],
    tools: [tool],
    tool_choice: "required",
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
  });
});

it.each([
  ["temperature", "2.1"],
  ["temperature", "1e-1"],
  ["temperature", "0x1"],
  ["top_p", "-0.1"],
  ["max_tokens", "1.5"],
  ["max_tokens", "2147483648"],
  ["seed", "9007199254740993"],
  ["tools", "[]"],
  ["tools", '[{"type":"function"}]'],
  ["tools", "[null]"],
  ["schema", "[]"],
  ["schema", "null"],
  ["schema", "{"],
] as const)("%s %s is wrong, and not sent", (name, typed) => {
  const { members, errors } = validatedSettings({ [name]: typed });
  expect(Object.keys(errors)).toEqual([name]);
  expect(members).toEqual({ stream: true });
});

it("sends no choice of tools without tools, and none that the API does not know", () => {
  expect(validatedSettings({ tool_choice: "auto" }).members).toEqual({ stream: true });
  const tools = '[{"function":{"name":"f"}}]';
  expect(validatedSettings({ tools, tool_choice: "any" }).members).not.toHaveProperty("tool_choice");
});

it("leaves out the numbers that messages do not have, and does not check them", () => {
  expect(validatedSettings({ api: "messages", seed: "one", presence_penalty: "1", top_p: "0.5" })).toEqual({
    members: { top_p: 0.5, stream: true },
    errors: {},
  });
});

it("takes a tool by its name, and a schema as the API has it", () => {
  const tools = JSON.stringify([{ type: "function", function: { name: "weather" } }]);
  expect(toolNames({ tools })).toEqual(["weather"]);
  expect(validatedSettings({ tools, tool_choice: "weather" }).members).toMatchObject({
    tool_choice: { type: "function", function: { name: "weather" } },
  });
  const named = { name: "city", strict: true, schema: { type: "object" } };
  expect(validatedSettings({ schema: JSON.stringify(named) }).members).toMatchObject({
    response_format: { type: "json_schema", json_schema: named },
  });
});

it("takes whatever is typed for a number within its bounds, or for a mistake", () => {
  fc.assert(
    fc.property(fc.constantFrom(...NUMBERS), fc.oneof(fc.string(), fc.double().map(String)), (number, typed) => {
      const { name, min, max } = number;
      const { members, errors } = validatedSettings({ [name]: typed });
      const value = members[name];
      if (value === undefined) expect(typed.trim() === "" || errors[name] !== undefined).toBe(true);
      else expect(Number(value) >= min && Number(value) <= max && errors[name] === undefined).toBe(true);
    }),
  );
});
