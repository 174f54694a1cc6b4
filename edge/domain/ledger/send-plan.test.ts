/** A segment on its way to a store that refuses rows, loses answers, fails and changes its mind: each row once, in order. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DEAD_LETTER_MAX_BYTES,
  DEAD_LETTER_MAX_ROWS,
  deadLetterRoom,
  planAfterInsert,
  planAfterRefusal,
  planOf,
  rangeName,
  restartedPlan,
  type SendPlan,
} from "./send-plan.ts";

/** A store that honours tokens and takes all of an insert or nothing. */
class TestStore {
  readonly rows: number[] = [];
  readonly #tokens = new Set<string>();
  inserts = 0;

  insert(token: string, rows: readonly number[], refuses: ReadonlySet<number>): boolean {
    this.inserts += 1;
    if (rows.some((row) => refuses.has(row))) return false;
    if (!this.#tokens.has(token)) this.rows.push(...rows);
    this.#tokens.add(token);
    return true;
  }
}

/**
 * One attempt at the first remaining range, as the shell does it. If rows were refused although the store has them, an attempt
 * whose answer was lost had inserted them.
 */
function send(plan: SendPlan, store: TestStore, refuses: ReadonlySet<number>): SendPlan {
  const range = plan.left[0];
  if (range === undefined) return plan;
  const rows = Array.from({ length: range.to - range.from }, (_, at) => range.from + at);
  const sent = rows.filter((row) => !plan.skip.includes(row));
  const taken = sent.length === 0 || store.insert(rangeName(plan, range), sent, refuses);
  return taken || sent.every((row) => store.rows.includes(row)) ? planAfterInsert(plan) : planAfterRefusal(plan);
}

const EVENTS = ["send", "lost answer", "restart", "other mind", "repaired"] as const;

describe("the plan of a segment", () => {
  it("delivers each row that the store accepts once, in order, and leaves exactly the refused", () => {
    const positions = fc.array(fc.nat(2499), { maxLength: 8 });
    const world = fc.record({
      rows: fc.integer({ min: 1, max: 2500 }),
      skip: positions,
      minds: fc.array(positions, { minLength: 1, maxLength: 4 }),
      events: fc.array(fc.constantFrom(...EVENTS, "send", "send"), { maxLength: 60 }),
    });
    fc.assert(
      fc.property(world, ({ rows, skip, minds, events }) => {
        const store = new TestStore();
        const untouched = planOf(1, rows, skip);
        let mind = 0;
        let refuses: ReadonlySet<number> = new Set(minds[0]);
        let plan = untouched;
        // the state on disk: nothing new before the first refusal
        let kept = untouched;
        const advance = (next: SendPlan): void => {
          const refused = next.left.length > plan.left.length || next.refused.length > plan.refused.length;
          plan = next;
          if (refused || kept !== untouched) kept = plan;
        };
        for (const event of events) {
          if (event === "send") advance(send(plan, store, refuses));
          else if (event === "lost answer") send(plan, store, refuses);
          else if (event === "restart") plan = kept;
          else if (event === "repaired") refuses = new Set();
          else {
            mind += 1;
            refuses = new Set(minds[mind % minds.length]);
          }
        }
        while (plan.left.length > 0) advance(send(plan, store, refuses));
        const all = Array.from({ length: rows }, (_, at) => at);
        expect(store.rows).toEqual(all.filter((row) => !skip.includes(row) && !plan.refused.includes(row)));
        const ever = new Set(minds.flat());
        expect(plan.refused.filter((row) => !ever.has(row))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("finds a refused row among a thousand in a few inserts, and keeps its skips on restart", () => {
    const store = new TestStore();
    let plan = planOf(7, 1000, [3]);
    while (plan.left.length > 0) plan = send(plan, store, new Set([617]));
    expect({ refused: plan.refused, taken: plan.taken, rowCount: store.rows.length }).toEqual({
      refused: [617],
      taken: true,
      rowCount: 998,
    });
    expect(store.inserts).toBeLessThan(25);
    expect(restartedPlan(plan)).toEqual(planOf(7, 1000, [3]));
  });

  it("names whole parts by number and everything else by its rows", () => {
    const plan = planOf(3, 1500);
    expect(plan.left.map((range) => rangeName(plan, range))).toEqual(["3-0", "3-1"]);
    expect(planAfterRefusal(planAfterInsert(plan)).left.map((range) => rangeName(plan, range))).toEqual([
      "3-1-1000-1250",
      "3-1-1250-1500",
    ]);
  });
});

describe("the room for refused rows", () => {
  it("drops the oldest once the store takes other rows, and nothing before", () => {
    const full = Array.from({ length: DEAD_LETTER_MAX_ROWS - 1 }, () => 10);
    expect(deadLetterRoom(full, [10], false)).toEqual({ displaced: 0 });
    expect(deadLetterRoom(full, [10, 10, 10], true)).toEqual({ displaced: 2 });
    expect(deadLetterRoom(full, [10, 10, 10], false)).toBeNull();
    expect(deadLetterRoom([1, DEAD_LETTER_MAX_BYTES - 1], [1], true)).toEqual({ displaced: 1 });
    expect(deadLetterRoom([], [DEAD_LETTER_MAX_BYTES + 1], true)).toEqual({ displaced: 1 });
  });
});
