/**
 * A large answer that cannot be parsed for want of memory does not keep others waiting (docs/rules/batches.md#large-answers).
 *
 * @module-tag check
 */
import { expect, it } from "vitest";
import { largeInOneLine } from "./answer-text.ts";
import { LargeAnswers } from "./large-answers.ts";

it("is stored as a text after three tries, and the next one as JSON", async () => {
  const failed: string[] = [];
  const stored: string[] = [];
  const answers = new LargeAnswers({
    inOneLine: async (answer) => {
      if (answer.length > 1_000_000) throw new Error("no memory");
      return await largeInOneLine(answer);
    },
    store: async (batchId, content) => {
      stored.push(content.toString("utf8"));
      return batchId;
    },
    ending: new AbortController().signal,
    onFailed: (_, error) => void failed.push((error as Error).message),
  });
  const line = { batchId: "b", tries: 1, requestId: "r", cell: "eu", state: "completed", status: 200, error: null };
  const [many, few] = [`[${"{},".repeat(400_000)}{}]`, `{"text":"${"x".repeat(100_000)}"}`];
  const ends = [many, few].map(
    (answer, n) => ({ ...line, n, answer }) as unknown as Parameters<typeof answers.apart>[0],
  );
  await Promise.all(ends.map(async (end) => await answers.apart(end)));
  expect({ failed, isText: stored[0] === JSON.stringify(many), isJson: stored[1] === few }).toEqual({
    failed: Array.from({ length: 3 }, () => "no memory"),
    isText: true,
    isJson: true,
  });
});
