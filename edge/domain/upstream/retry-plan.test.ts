/** The steps after an attempt (docs/rules/upstream-calls.md#attempts), and the laws that no sequence of outcomes can break. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AttemptEnd,
  FRESH_CONNECTION_MS,
  isRetryable,
  nextStep,
  RETRY_AFTER_MAX_MS,
  RETRY_START,
  type RetryRules,
  type RetryState,
} from "./retry-plan.ts";

const rules = (changes: Partial<RetryRules> = {}): RetryRules => ({
  targets: 1,
  maxRetries: 0,
  backoffMs: 200,
  resendable: true,
  ...changes,
});
const answered = (status: number, retryAfterMs: number | null = null): AttemptEnd => ({
  kind: "answered",
  status,
  retryAfterMs,
});
const unreachable: AttemptEnd = { kind: "unreachable" };
const timedOut: AttemptEnd = { kind: "timed-out" };

/** Runs a plan on outcomes, the last of which repeats: `target@wait` for every attempt, then the end. */
function trace(given: RetryRules, ends: readonly AttemptEnd[]): readonly string[] {
  const seen = ["0@0"];
  let state: RetryState = RETRY_START;
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    const end = ends[attempt] ?? ends.at(-1) ?? unreachable;
    const step = nextStep(given, state, end);
    if (step.kind === "final" || step.kind === "exhausted") return [...seen, step.kind];
    state = step.state;
    seen.push(`${state.target}@${step.kind === "again" ? step.waitMs : 0}`);
  }
  throw new Error("the plan does not end");
}

describe("an answer", () => {
  it.each([200, 204, 301, 302, 304, 400, 409, 413, 422, 501, 505, 525])("%i is final", (status) => {
    expect(trace(rules({ targets: 3, maxRetries: 3 }), [answered(status)])).toEqual(["0@0", "final"]);
  });

  it.each([401, 402, 403, 404, 424])(
    "%i is final at the last endpoint, and tried at every other one once",
    (status) => {
      expect(trace(rules({ targets: 2, maxRetries: 3 }), [answered(status)])).toEqual(["0@0", "1@0", "final"]);
      expect(trace(rules({ targets: 2, resendable: false }), [answered(status)])).toEqual(["0@0", "final"]);
    },
  );

  it("409 is tried again when its upstream says when", () => {
    expect(trace(rules({ maxRetries: 1 }), [answered(409, 700)])).toEqual(["0@0", "0@700", "exhausted"]);
  });

  it.each([408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529])(
    "%i is tried again, then elsewhere",
    (status) => {
      expect(trace(rules({ targets: 2, maxRetries: 1 }), [answered(status)])).toEqual([
        "0@0",
        "0@200",
        "1@0",
        "1@200",
        "exhausted",
      ]);
    },
  );
});

describe("the wait before another attempt", () => {
  it("doubles up to 64 times its base", () => {
    const waits = trace(rules({ maxRetries: 10 }), [answered(503)]).slice(1, -1);
    expect(waits).toEqual([200, 400, 800, 1600, 3200, 6400, 12_800, 12_800, 12_800, 12_800].map((ms) => `0@${ms}`));
  });

  it.each([
    [answered(503, 1500), 1500],
    [answered(429, 5000), 5000],
    [answered(503, 5001), 200],
    [answered(503, 100), 200],
    [answered(503, 0), 200],
    [timedOut, 200],
  ])("after %j is %i ms", (end, waitMs) => {
    expect(trace(rules({ maxRetries: 1 }), [end])).toEqual(["0@0", `0@${waitMs}`, "exhausted"]);
  });
});

describe("a failed connection", () => {
  it("is replaced once per request, also when nothing is to be retried", () => {
    expect(trace(rules({ targets: 2 }), [unreachable])).toEqual(["0@0", "0@50", "1@0", "exhausted"]);
    expect(trace(rules({ maxRetries: 2 }), [unreachable])).toEqual(["0@0", "0@50", "0@200", "0@400", "exhausted"]);
    expect(trace(rules({ targets: 2 }), [answered(503), unreachable])).toEqual(["0@0", "1@0", "1@50", "exhausted"]);
  });

  it("is not what a deadline is", () => {
    expect(trace(rules(), [timedOut])).toEqual(["0@0", "exhausted"]);
  });
});

it.each([unreachable, timedOut, answered(503)])("is over after %j when the body cannot be sent again", (end) => {
  expect(trace(rules({ targets: 2, maxRetries: 2, resendable: false }), [end])).toEqual(["0@0", "exhausted"]);
});

it("leaves an endpoint that cannot be used at once", () => {
  expect(trace(rules({ targets: 2, maxRetries: 5 }), [{ kind: "unusable" }, answered(200)])).toEqual([
    "0@0",
    "1@0",
    "final",
  ]);
});

describe("whatever happens", () => {
  const anyEnd: fc.Arbitrary<AttemptEnd> = fc.oneof(
    fc.record({
      kind: fc.constant("answered" as const),
      status: fc.integer({ min: 200, max: 599 }),
      retryAfterMs: fc.option(fc.integer({ min: 0, max: 20_000 })),
    }),
    fc.constant(unreachable),
    fc.constant(timedOut),
    fc.constant<AttemptEnd>({ kind: "unusable" }),
  );
  const anyRules = fc.record({
    targets: fc.integer({ min: 1, max: 5 }),
    maxRetries: fc.integer({ min: 0, max: 10 }),
    backoffMs: fc.integer({ min: 0, max: 60_000 }),
    resendable: fc.boolean(),
  });

  it("the plan visits endpoints in order, with bounded attempts and waits, and ends", () => {
    fc.assert(
      fc.property(anyRules, fc.infiniteStream(anyEnd), (given, ends) => {
        const attempts = Array.from({ length: given.targets }, () => 0);
        let state: RetryState = RETRY_START;
        for (const end of ends) {
          attempts[state.target] = (attempts[state.target] ?? 0) + 1;
          const step = nextStep(given, state, end);
          if (step.kind === "final") {
            expect(end.kind === "answered" && !isRetryable(end)).toBe(true);
            break;
          }
          if (step.kind === "exhausted") {
            expect(state.target === given.targets - 1 || !given.resendable).toBe(true);
            break;
          }
          if (step.kind === "next") expect(step.state).toEqual({ ...state, target: state.target + 1, made: 0 });
          else {
            expect(step.state.target).toBe(state.target);
            const longest = Math.max(64 * given.backoffMs, RETRY_AFTER_MAX_MS, FRESH_CONNECTION_MS);
            expect(step.waitMs).toBeGreaterThanOrEqual(0);
            expect(step.waitMs).toBeLessThanOrEqual(longest);
          }
          state = step.state;
        }
        const extra = attempts.map((count) => Math.max(0, count - given.maxRetries - 1));
        expect(extra.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(1);
        if (!given.resendable) expect(attempts.reduce((sum, count) => sum + count, 0)).toBe(1);
      }),
      { numRuns: 500 },
    );
  });
});
