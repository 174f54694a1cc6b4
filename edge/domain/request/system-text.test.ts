import { expect, it } from "vitest";
import { withSystemText } from "./system-text.ts";

const user = { role: "user", content: "q" };
const part = { type: "text", text: "T" };

it.each<[string, unknown, boolean, unknown]>([
  ["the system message", [{ role: "system", content: "a" }, user], true, [{ role: "system", content: "a\n\nT" }, user]],
  [
    "a developer message",
    [user, { role: "developer", content: "a", name: "n" }],
    true,
    [user, { role: "developer", content: "a\n\nT", name: "n" }],
  ],
  ["parts", [{ role: "system", content: [part] }], true, [{ role: "system", content: [part, part] }]],
  ["an empty message", [{ role: "system", content: "" }], true, [{ role: "system", content: "T" }]],
  ["a message without content", [{ role: "system" }], true, [{ role: "system", content: "T" }]],
  ["a message of its own", [user], true, [{ role: "system", content: "T" }, user]],
  ["a message of its own, the only one", [], true, [{ role: "system", content: "T" }]],
  [
    "the first user message",
    [{ role: "system", content: "a" }, user, user],
    false,
    [{ role: "system", content: "a" }, { role: "user", content: "q\n\nT" }, user],
  ],
  ["nothing without a user message", [{ role: "assistant", content: "a" }], false, null],
  ["nothing that is not content", [{ role: "user", content: 5 }], false, null],
  ["nothing that is not a list", { role: "user" }, true, null],
  [
    "messages that are none",
    [1, null, ["user"], "x", { role: ["user"] }],
    true,
    [{ role: "system", content: "T" }, 1, null, ["user"], "x", { role: ["user"] }],
  ],
])("joins %s", (_, messages, systemMessages, expected) => {
  const before = JSON.stringify(messages);
  expect(withSystemText(messages, "T", systemMessages)).toEqual(expected);
  expect(JSON.stringify(messages)).toBe(before);
});
