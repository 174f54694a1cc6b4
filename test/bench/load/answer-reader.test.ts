import { describe, expect, test } from "vitest";
import { AnswerReader, type StreamTimes } from "./answer-reader.ts";

const none = (): StreamTimes => ({ firstMs: [], addedGapMs: [], longestGapMs: 0 });
const event = (atMs: number) => `data: {"at":${atMs},"choices":[]}\n\n`;
const DONE = "data: [DONE]\n\n";

describe("a stream", () => {
  test("is whole with its [DONE], wherever it was split", () => {
    const text = `${event(1)}${event(2)}${DONE}`;
    for (const reading of ["stream", "timed-stream"] as const)
      for (let at = 1; at < text.length; at += 1) {
        const reader = new AnswerReader(reading, none(), 0);
        reader.read(200, Buffer.from(text.slice(0, at)));
        reader.read(200, Buffer.from(text.slice(at)));
        expect(reader.verdict(200)).toBeNull();
      }
  });

  test("without it is cut off", () => {
    for (const reading of ["stream", "timed-stream"] as const) {
      const reader = new AnswerReader(reading, none(), 0);
      reader.read(200, Buffer.from(`${event(1)}data: [DONE`));
      expect(reader.verdict(200)).toBe("stream without [DONE]");
    }
  });

  test("shows the time each gap gained or lost, and its first byte once, wherever it is split", () => {
    const text = [0, 20, 40].map((ms) => event(1000 + ms)).join("");
    for (let at = 1; at < text.length; at += 1) {
      const times = none();
      const reader = new AnswerReader("timed-stream", times, 990, () => 1050);
      reader.read(200, Buffer.from(text.slice(0, at)));
      reader.read(200, Buffer.from(text.slice(at)));
      expect(times.firstMs).toEqual([60]);
      // All three arrived at once, so each gap lost the time that the upstream had put between two events.
      expect(times.addedGapMs).toEqual([20, 20]);
    }
  });
});

test("a refusal is reported with its status and its text", () => {
  const reader = new AnswerReader("whole", none(), 0);
  reader.read(503, Buffer.from('{"error":'));
  reader.read(503, Buffer.from('"later"}'));
  expect(reader.verdict(503)).toBe('503 {"error":"later"}');
});
