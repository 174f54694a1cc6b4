import fc from "fast-check";
import { expect, it } from "vitest";
import { OutageLines } from "./outage-lines.ts";

it("reports an outage of two minutes in four lines", () => {
  const outage = new OutageLines();
  const lines: unknown[] = [];
  for (let ms = 0; ms <= 120_000; ms += 250) lines.push(outage.failed(ms));
  for (let ms = 120_250; ms <= 180_000; ms += 250) lines.push(outage.answered(ms));
  expect(lines.filter((line) => line !== null)).toEqual([
    { failures: 1, for_secs: 0 },
    { failures: 241, for_secs: 60 },
    { failures: 481, for_secs: 120 },
    { failures: 481, for_secs: 120 },
  ]);
});

it("says nothing of a part that answers", () => {
  expect(new OutageLines().answered(0)).toBeNull();
});

it("writes at most a line a minute and two for each end, in any order of answers and failures", () => {
  const step = fc.record({ fails: fc.boolean(), afterMs: fc.integer({ min: 0, max: 8_000 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const outage = new OutageLines();
      let nowMs = 0;
      let lines = 0;
      let quiets = 0;
      let failedMs = Number.NEGATIVE_INFINITY;
      for (const { fails, afterMs } of steps) {
        nowMs += afterMs;
        if ((fails ? outage.failed(nowMs) : outage.answered(nowMs)) !== null) lines += 1;
        if (nowMs - failedMs >= 5_000) quiets += 1;
        if (fails) failedMs = nowMs;
      }
      expect(lines).toBeLessThanOrEqual(1 + nowMs / 60_000 + 2 * quiets);
    }),
  );
});
