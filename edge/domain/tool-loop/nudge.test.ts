/** Where the nudge stands (docs/rules/tool-loop.md#nudge). */
import { describe, expect, it } from "vitest";
import { withNudge } from "./nudge.ts";

const user = { role: "user", content: "hi" };

describe("the nudge", () => {
  it.each([
    ["becomes the first message", [user], true, [{ role: "system", content: "N" }, user]],
    [
      "joins a system message",
      [user, { role: "system", content: "S" }],
      true,
      [user, { role: "system", content: "S\n\nN" }],
    ],
    ["joins a developer message", [{ role: "developer", content: "" }], true, [{ role: "developer", content: "N" }]],
    [
      "joins parts",
      [{ role: "system", name: "n", content: [{ type: "text", text: "S" }] }],
      true,
      [
        {
          role: "system",
          name: "n",
          content: [
            { type: "text", text: "S" },
            { type: "text", text: "N" },
          ],
        },
      ],
    ],
    [
      "joins the user's message of a model without system messages",
      [user],
      false,
      [{ role: "user", content: "hi\n\nN" }],
    ],
    [
      "has no place without messages of such a model",
      [{ role: "tool", content: "x" }],
      false,
      [{ role: "tool", content: "x" }],
    ],
    [
      "has no place in content of another kind",
      [{ role: "system", content: 7 }],
      true,
      [{ role: "system", content: 7 }],
    ],
    ["does not mind messages that are none", [null, 7, "x"], true, [{ role: "system", content: "N" }, null, 7, "x"]],
  ])("%s", (_, messages, systemMessages, expected) => {
    expect(withNudge(messages, "N", systemMessages)).toEqual(expected);
  });
});
