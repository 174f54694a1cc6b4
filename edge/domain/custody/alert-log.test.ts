/** The waiting alerts of a Ledger: in order, once, bounded, and let go only when told (decisions §35). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AlertEvent } from "../../../shared/alerts.ts";
import {
  ALERTS_MAX_WAITING,
  ALERTS_PER_BATCH,
  ALERTS_REMEMBERED,
  type AlertIndex,
  alertBatch,
  appendAlerts,
  tellAlerts,
} from "./alert-log.ts";

const EMPTY: AlertIndex = { waiting: [], told: [], nextSequence: 1, dropped: 0 };

const event = (id: number | string): AlertEvent => ({
  id: String(id),
  issueKey: "k",
  title: "t",
  detail: "d",
  atMs: 0,
});
const events = (count: number, from = 0): AlertEvent[] => Array.from({ length: count }, (_, at) => event(from + at));
const ids = (index: AlertIndex): string[] => index.waiting.map((entry) => entry.event.id);

describe("the alerts of a Ledger", () => {
  it("drops the oldest beyond its bound, and counts them", () => {
    const { index, effects } = appendAlerts(EMPTY, events(ALERTS_MAX_WAITING + 3));
    expect([index.waiting.length, ids(index)[0], ids(index).at(-1), index.dropped]).toEqual([
      ALERTS_MAX_WAITING,
      "3",
      String(ALERTS_MAX_WAITING + 2),
      3,
    ]);
    expect(effects.filter((effect) => effect.type === "drop").at(-1)).toEqual({ type: "drop", sequence: 3, total: 3 });
  });

  it("takes an id once, whether it waits or was told, and forgets it in the end", () => {
    const taken = appendAlerts(EMPTY, [event(1), event(2), event(1)]).index;
    const told = tellAlerts(taken, 1).index;
    expect(appendAlerts(told, [event(1), event(2)]).effects).toEqual([]);
    const more = appendAlerts(told, events(ALERTS_MAX_WAITING - 1, 3)).index;
    const afterThousand = tellAlerts(more, ALERTS_MAX_WAITING + 1).index;
    const next = appendAlerts(afterThousand, events(ALERTS_MAX_WAITING, 5000)).index;
    const { index, effects } = tellAlerts(next, 2 * ALERTS_MAX_WAITING + 1);
    expect(index.told.length).toBe(ALERTS_REMEMBERED);
    expect(effects.filter((effect) => effect.type === "forget")).toEqual([{ type: "forget", id: "1" }]);
    expect(ids(appendAlerts(index, [event(1), event(2)]).index)).toEqual(["1"]);
  });

  it("ignores a confirmation of what does not wait any more", () => {
    const { index } = appendAlerts(EMPTY, events(2));
    const after = tellAlerts(index, 2).index;
    expect(tellAlerts(after, 2)).toEqual({ index: after, effects: [] });
    expect(tellAlerts(index, 0).effects).toEqual([]);
  });

  it("brings every alert to a reader who confirms what it read, in order, though answers and acks are lost", () => {
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
            index = tellAlerts(index, ack).index;
            const batch = alertBatch(index);
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
          // what was read and dropped before its confirmation came is both
          expect(read.length).toBeGreaterThanOrEqual(raised - index.dropped);
          if (index.dropped === 0) expect(read.length).toBe(raised);
        },
      ),
    );
  });
});
