/**
 * The waiting alerts of a Ledger: in order, once, bounded, and deleted only when acknowledged
 * (docs/rules/alerts.md#bounds).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AlertEvent } from "../../../shared/alerts.ts";
import {
  ALERTS_MAX_WAITING,
  ALERTS_PER_BATCH,
  ALERTS_REMEMBERED,
  type AlertIndex,
  acknowledgeAlerts,
  appendAlerts,
  offerAlerts,
} from "./alert-log.ts";

const EMPTY: AlertIndex = { waiting: [], rememberedIds: [], nextSequence: 1, offeredThrough: 0, dropped: 0 };

const event = (id: number | string): AlertEvent => ({
  id: String(id),
  issueKey: `k${id}`,
  title: "t",
  detail: "d",
  atMs: 0,
  count: 1,
});
/** Of one issue, with any id. */
const repeat = (id: number | string, count: number, issueKey = "k"): AlertEvent => ({
  ...event(id),
  issueKey,
  detail: `detail of ${id}`,
  count,
});
const events = (count: number, from = 0): AlertEvent[] => Array.from({ length: count }, (_, at) => event(from + at));
const ids = (index: AlertIndex): string[] => index.waiting.map((entry) => entry.event.id);

describe("the alerts of a Ledger", () => {
  it("drops the oldest beyond its bound, and counts them", () => {
    const { index, effects } = appendAlerts(EMPTY, events(ALERTS_MAX_WAITING + 3));
    expect({
      waitingCount: index.waiting.length,
      firstId: ids(index)[0],
      lastId: ids(index).at(-1),
      dropped: index.dropped,
    }).toEqual({ waitingCount: ALERTS_MAX_WAITING, firstId: "3", lastId: String(ALERTS_MAX_WAITING + 2), dropped: 3 });
    expect(effects.filter((effect) => effect.type === "drop").at(-1)).toEqual({ type: "drop", sequence: 3, total: 3 });
  });

  it("takes an id once, whether it waits or was acknowledged, and forgets it in the end", () => {
    const taken = appendAlerts(EMPTY, [event(1), event(2), event(1)]).index;
    const acknowledged = acknowledgeAlerts(taken, 1).index;
    expect(appendAlerts(acknowledged, [event(1), event(2)]).effects).toEqual([]);
    const more = appendAlerts(acknowledged, events(ALERTS_MAX_WAITING - 1, 3)).index;
    const afterThousand = acknowledgeAlerts(more, ALERTS_MAX_WAITING + 1).index;
    const next = appendAlerts(afterThousand, events(ALERTS_MAX_WAITING, 5000)).index;
    const { index, effects } = acknowledgeAlerts(next, 2 * ALERTS_MAX_WAITING + 1);
    expect(index.rememberedIds.length).toBe(ALERTS_REMEMBERED);
    expect(effects.filter((effect) => effect.type === "forget")).toEqual([{ type: "forget", id: "1" }]);
    expect(ids(appendAlerts(index, [event(1), event(2)]).index)).toEqual(["1"]);
  });

  it("ignores a confirmation of what no longer waits", () => {
    const { index } = appendAlerts(EMPTY, events(2));
    const after = acknowledgeAlerts(index, 2).index;
    expect(acknowledgeAlerts(after, 2)).toEqual({ index: after, effects: [] });
    expect(acknowledgeAlerts(index, 0).effects).toEqual([]);
  });

  it("makes one of what waits for one issue, with the last detail and every time counted", () => {
    const { index, effects } = appendAlerts(EMPTY, [repeat("a", 1), event("other"), repeat("b", 9), repeat("c", 5)]);
    expect(index.waiting).toEqual([
      { sequence: 1, event: { ...repeat("c", 15), id: "a" } },
      { sequence: 2, event: event("other") },
    ]);
    expect(effects.map(({ type }) => type)).toEqual(["add", "add", "merge", "merge"]);
    expect(appendAlerts(index, [repeat("b", 9), repeat("c", 5), repeat("a", 1)]).effects).toEqual([]);
  });

  it("changes nothing that the control service may have already", () => {
    const offered = offerAlerts(appendAlerts(EMPTY, [repeat("a", 1)]).index).index;
    const { index } = appendAlerts(offered, [repeat("b", 2), repeat("c", 3)]);
    expect(index.waiting.map(({ event: { id, count } }) => [id, count])).toEqual([
      ["a", 1],
      ["b", 5],
    ]);
  });

  it("keeps room for others through a long outage: ten thousand repeats wait as one", { tags: ["check"] }, () => {
    let index = appendAlerts(EMPTY, [event("budget")]).index;
    for (let id = 0; id < 10_000; id += 1) index = appendAlerts(index, [repeat(id, 10)]).index;
    expect({ dropped: index.dropped, ids: ids(index), count: index.waiting[1]?.event.count }).toEqual({
      dropped: 0,
      ids: ["budget", "0"],
      count: 100_000,
    });
    expect(index.rememberedIds.length).toBe(ALERTS_REMEMBERED);
  });

  it("delivers the exact count of each issue to its reader, over lost answers and restarts", () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant("raise" as const), issue: fc.constantFrom("a", "b"), count: fc.nat(50) }),
      fc.record({ type: fc.constant("again" as const), back: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ type: fc.constant("read" as const), answered: fc.boolean() }),
      fc.record({ type: fc.constant("restart" as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        let index = EMPTY;
        let ack = 0;
        const raised: AlertEvent[] = [];
        const read: AlertEvent[] = [];
        const pull = (answered: boolean): number => {
          index = acknowledgeAlerts(index, ack).index;
          const offer = offerAlerts(index);
          index = offer.index;
          if (!answered || offer.alerts.length === 0) return 0;
          read.push(...offer.alerts);
          ack = offer.through;
          return offer.alerts.length;
        };
        for (const one of steps) {
          if (one.type === "read") pull(one.answered);
          else if (one.type === "restart") index = { ...index, offeredThrough: index.nextSequence - 1 };
          else if (one.type === "again") index = appendAlerts(index, raised.slice(-one.back)).index;
          else {
            const fresh = repeat(raised.length, one.count + 1, one.issue);
            raised.push(fresh);
            index = appendAlerts(index, [fresh]).index;
          }
        }
        while (pull(true) > 0);
        for (const issueKey of ["a", "b"]) {
          const sum = (all: readonly AlertEvent[]) =>
            all.filter((one) => one.issueKey === issueKey).reduce((total, { count }) => total + count, 0);
          expect(sum(read)).toBe(sum(raised));
        }
      }),
    );
  });

  it("delivers every alert in order to a reader that confirms, though answers and acks are lost", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.record({ type: fc.constant("raise" as const), count: fc.integer({ min: 1, max: 250 }) }),
            fc.record({ type: fc.constant("read" as const), answered: fc.boolean() }),
          ),
          { maxLength: 40 },
        ),
        (steps) => {
          let index = EMPTY;
          let raised = 0;
          let ack = 0;
          const read: string[] = [];
          const pull = (answered: boolean): number => {
            index = acknowledgeAlerts(index, ack).index;
            const batch = offerAlerts(index);
            index = batch.index;
            expect(batch.alerts.length).toBeLessThanOrEqual(ALERTS_PER_BATCH);
            if (!answered || batch.alerts.length === 0) return 0;
            read.push(...batch.alerts.map((one) => one.id));
            ack = batch.through;
            return batch.alerts.length;
          };
          for (const step of steps) {
            if (step.type === "read") pull(step.answered);
            else {
              index = appendAlerts(index, events(step.count, raised)).index;
              raised += step.count;
            }
            expect(index.waiting.length).toBeLessThanOrEqual(ALERTS_MAX_WAITING);
          }
          while (pull(true) > 0);
          expect(read).toEqual([...new Set(read)].toSorted((a, b) => Number(a) - Number(b)));
          // an alert that was read and dropped before its confirmation came counts as both
          expect(read.length).toBeGreaterThanOrEqual(raised - index.dropped);
          if (index.dropped === 0) expect(read.length).toBe(raised);
        },
      ),
    );
  });
});
