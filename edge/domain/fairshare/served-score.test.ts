/** The service that counts: exact while nothing starts, and never less than the floor of the last start plus the use since. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServedScore } from "./served-score.ts";

const tokens = fc.integer({ min: 0, max: 10_000 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("charge" as const), estimate: tokens, actual: tokens }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("end" as const), pick: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("start" as const), ahead: tokens }) },
);

interface Open {
  readonly at: number;
  readonly estimate: number;
  readonly actual: number;
}

describe("served scores", () => {
  it("never fall below the last start's floor plus later use, whatever was charged before", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        const served = new ServedScore();
        const open: Open[] = [];
        let floor = 0;
        let startedAt = -1;
        let since = 0;
        for (const [at, given] of steps.entries()) {
          if (given.kind === "charge") {
            served.charge(given.estimate);
            since += given.estimate;
            open.push({ at, ...given });
          } else if (given.kind === "start") {
            floor += given.ahead;
            startedAt = at;
            since = 0;
            served.start(floor, at);
          } else {
            const [ended] = open.splice(given.pick % Math.max(1, open.length), 1);
            if (ended === undefined) continue;
            served.correct(ended.estimate, ended.actual - ended.estimate, ended.at);
            if (ended.at > startedAt) since += ended.actual - ended.estimate;
          }
          expect(served.score).toBeGreaterThanOrEqual(floor + since);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("without estimates in flight are what is left when all of these come to nothing", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        const served = new ServedScore();
        let open: Open[] = [];
        for (const [at, given] of steps.entries()) {
          if (given.kind === "charge") {
            served.charge(given.estimate);
            open.push({ at, ...given });
          } else if (given.kind === "start") served.start(served.settled + given.ahead - 5000, at);
          else {
            const ended = open[given.pick % Math.max(1, open.length)];
            open = open.filter((one) => one !== ended);
            if (ended !== undefined) served.correct(ended.estimate, ended.actual - ended.estimate, ended.at);
          }
          const refunded = served.copy(0, at);
          for (const { estimate, at: chargedAt } of open) refunded.correct(estimate, -estimate, chargedAt);
          expect({ score: refunded.score, settled: refunded.settled }).toEqual({
            score: served.settled,
            settled: served.settled,
          });
        }
      }),
      { numRuns: 500 },
    );
  });

  it("are what was used once every request has ended, if nothing started meanwhile", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ estimate: tokens, actual: tokens }), { maxLength: 30 }), (requests) => {
        const served = new ServedScore();
        for (const { estimate } of requests) served.charge(estimate);
        for (const [at, { estimate, actual }] of requests.entries()) served.correct(estimate, actual - estimate, at);
        expect(served.score).toBe(requests.reduce((sum, { actual }) => sum + actual, 0));
      }),
    );
  });

  it("are lifted once: use above estimates from before a start is set off against the lift", () => {
    const served = new ServedScore();
    served.charge(10);
    served.start(1000, 5);
    served.correct(10, 600, 1);
    expect(served.score).toBe(1000);
    served.correct(10, 600, 2);
    expect(served.score).toBe(1210);
  });

  it("are refunded only what an inflated estimate held above the start, never twice", () => {
    const served = new ServedScore();
    served.charge(8000);
    served.charge(500);
    served.start(8100, 5);
    served.correct(8000, -7999, 1);
    expect(served.score).toBe(8100);
    served.correct(500, 700, 2);
    expect(served.score).toBe(8800);
  });

  it("of a copy are corrected by what was charged before it was made", () => {
    const served = new ServedScore();
    served.charge(100);
    const copy = served.copy(30, 2);
    expect({ score: copy.score, holdsEarlier: copy.holds(1), holdsLater: copy.holds(3) }).toEqual({
      score: 70,
      holdsEarlier: true,
      holdsLater: false,
    });
    copy.correct(100, -50, 1);
    expect({ copyScore: copy.score, servedScore: served.score }).toEqual({ copyScore: 20, servedScore: 100 });
  });

  it("that are reset have no past: no earlier correction changes them", () => {
    const served = ServedScore.beginning(500, 7);
    served.correct(400, -400, 3);
    served.correct(900, 900, 4);
    served.charge(10);
    served.correct(10, 5, 8);
    expect(served.score).toBe(515);
  });
});
