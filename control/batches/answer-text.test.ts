/**
 * Answers are written as JSON in one line, and a large one leaves the thread to others (docs/rules/batches.md#results).
 *
 * @module-tag check
 */
import { expect, it } from "vitest";
import { inOneLine, largeInOneLine } from "./answer-text.ts";

it.each([
  ["JSON", '{\r\n "a": [1]\n}', '{  "a": [1] }'],
  ["text", "no\nJSON", '"no\\nJSON"'],
])("an answer that is %s is the same, whichever thread parses it", async (_, answer, expected) => {
  expect({ here: inOneLine(answer), apart: await largeInOneLine(answer) }).toEqual({ here: expected, apart: expected });
});

it("an answer of many small values leaves the thread to others while it is parsed", async () => {
  const answer = `[${"{},".repeat(2_700_000)}\n{}]`;
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  const written = await largeInOneLine(answer);
  clearImmediate(next);
  expect({ isSame: written === answer.replace("\n", " "), turns: turns > 100 }).toEqual({ isSame: true, turns: true });
});
