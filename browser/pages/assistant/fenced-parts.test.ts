/** Code in an answer of the assistant is shown without its fences. */
import { expect, it } from "vitest";
import { fencedParts } from "./fenced-parts.ts";

it.each([
  ["plain", "one\ntwo", ["one\ntwo"]],
  ["between", "see:\n```json\n{\n}\n```\nand so on", ["see:", "<{\n}>", "and so on"]],
  ["not closed yet", "see:\n```sh\ncurl x", ["see:", "<curl x>"]],
  ["just opened", "```", ["<>"]],
  ["longer than what is in it", "````md\n```\ninner\n```\n````", ["<```\ninner\n```>"]],
  ["of tildes, two of them", "~~~\na\n~~~\n\n~~~\nb\n~~~", ["<a>", "<b>"]],
  ["empty", "", []],
])("cuts an answer at its fences: %s", (_what, text, parts) => {
  expect(fencedParts(text).map((part) => (part.isCode ? `<${part.text}>` : part.text))).toEqual(parts);
});
