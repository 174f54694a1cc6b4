/**
 * Which failures of upstreams become alerts (docs/rules/alerts.md#failures-of-upstreams), with the real database.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { AlertSender } from "./alert-sender.ts";
import { alertChannels } from "./configured-channels.ts";
import { amongMany, FailureRates, type FailureRule } from "./failure-rates.ts";
import { alertFailures, alertLog } from "./tables.ts";

const START_MS = Date.parse("2026-11-29T08:00:00.000Z");
const SECOND_MS = 1000;

let control: TestControl;
beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  const { db } = control.connection;
  await db.delete(alertFailures);
  await db.delete(alertLog);
});

let ids = 0;
const failure = (model: string, afterSecs: number, count = 1, cell = "local"): RaisedAlert => {
  ids += 1;
  const issueKey = `upstream_5xx_response:${model}`;
  return { id: `${ids}`, issueKey, title: "t", detail: "d", atMs: START_MS + afterSecs * SECOND_MS, cell, count };
};

/** A replica of the control service at this time, in a gateway in which every model has so many requests a minute. */
function replicaAt(afterSecs: number, requests = 0, rule: FailureRule = { perMinute: 3, percent: 5 }) {
  const { db } = control.connection;
  const asked: string[] = [];
  const rates = new FailureRates(db, rule, async (model, fromMs, untilMs) => {
    asked.push(`${model} ${(fromMs - START_MS) / SECOND_MS}..${(untilMs - START_MS) / SECOND_MS}`);
    return requests;
  });
  const channels = async () => await alertChannels(control.ctx);
  const now = () => START_MS + afterSecs * SECOND_MS;
  const logger = pino({ level: "silent" });
  return { asked, sender: new AlertSender({ db, channels, rates, consoleUrl: null, now, logger }) };
}

/** How many failures of each issue are in its alerts. */
async function raised(): Promise<Readonly<Record<string, number>>> {
  const rows = await control.connection.db.select().from(alertLog);
  const counts = new Map<string, number>();
  for (const { issue_key, times } of rows) counts.set(issue_key, (counts.get(issue_key) ?? 0) + times);
  return Object.fromEntries(counts);
}

describe("failures of an upstream", () => {
  it("raise no alert alone, and one when there are three within a minute, for each model", async () => {
    const { sender } = replicaAt(100);
    await sender.take([failure("a", 0), failure("b", 1), failure("a", 30)]);
    expect(await raised()).toEqual({});
    await sender.take([failure("b", 62), failure("a", 59)]);
    expect(await raised()).toEqual({ "upstream_5xx_response:a": 3 });
    await sender.take([failure("b", 70, 2)]);
    expect(await raised()).toEqual({ "upstream_5xx_response:a": 3, "upstream_5xx_response:b": 3 });
  });

  it("are counted over all cells and replicas, in whatever order they arrive", async () => {
    await replicaAt(100).sender.take([failure("a", 40, 1, "east")]);
    await replicaAt(101).sender.take([failure("a", 90, 1, "west")]);
    await replicaAt(102).sender.take([failure("a", 60, 1, "north")]);
    expect(await raised()).toEqual({ "upstream_5xx_response:a": 3 });
  });

  it("of a cell whose clock is ahead happened now", async () => {
    const { sender } = replicaAt(60);
    await sender.take([failure("a", 30), failure("a", 50), failure("a", 4000)]);
    expect(await raised()).toEqual({ "upstream_5xx_response:a": 3 });
  });

  it("raise one when two of a few requests in a minute failed", async () => {
    const { sender } = replicaAt(20);
    await sender.take([failure("a", 1), failure("a", 2), failure("b", 3)]);
    const early = replicaAt(89, 40);
    expect({ done: await early.sender.raiseByShare(), asked: early.asked }).toEqual({ done: { raised: 0 }, asked: [] });
    const late = replicaAt(90, 40);
    expect({ done: await late.sender.raiseByShare(), asked: late.asked }).toEqual({
      done: { raised: 1 },
      asked: ["a 0..60"],
    });
    expect(await raised()).toEqual({ "upstream_5xx_response:a": 2 });
    const again = replicaAt(95, 40);
    expect({ done: await again.sender.raiseByShare(), asked: again.asked }).toEqual({ done: { raised: 0 }, asked: [] });
  });

  it("raise none when they are a small part, or the share is turned off", async () => {
    await replicaAt(20).sender.take([failure("a", 1), failure("a", 2)]);
    expect(await replicaAt(90, 41).sender.raiseByShare()).toEqual({ raised: 0 });
    await replicaAt(80).sender.take([failure("c", 61), failure("c", 62)]);
    const off = { perMinute: 3, percent: 0 };
    expect(await replicaAt(200, 2, off).sender.raiseByShare()).toEqual({ raised: 0 });
    expect(await raised()).toEqual({});
  });

  it("wait for the analytics store, and are forgotten after a quarter of an hour", async () => {
    await replicaAt(20).sender.take([failure("a", 1), failure("a", 2)]);
    const { db } = control.connection;
    const away = new FailureRates(db, { perMinute: 3, percent: 5 }, async () => {
      throw new Error("away");
    });
    await expect(away.failingMinutes(START_MS + 90 * SECOND_MS)).rejects.toThrow("away");
    expect(await replicaAt(95, 2).sender.raiseByShare()).toEqual({ raised: 1 });
    await replicaAt(2000, 2).sender.raiseByShare();
    expect(await db.select().from(alertFailures)).toEqual([]);
  });
});

it("are among many exactly if a minute that has them has as many as the rule says", () => {
  const failures = fc.array(fc.record({ atMs: fc.nat(200_000), times: fc.integer({ min: 1, max: 4 }) }), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(failures, fc.integer({ min: 1, max: 8 }), (unordered, perMinute) => {
      const ordered = unordered.toSorted((a, b) => a.atMs - b.atMs);
      const isMany = (fromMs: number): boolean =>
        ordered.reduce((sum, { atMs, times }) => sum + (atMs >= fromMs && atMs < fromMs + 60_000 ? times : 0), 0) >=
        perMinute;
      const expected = [...ordered.keys()].filter((place) =>
        ordered.some(({ atMs: fromMs }) => {
          const { atMs } = ordered[place] ?? { atMs: 0 };
          return atMs >= fromMs && atMs < fromMs + 60_000 && isMany(fromMs);
        }),
      );
      expect(amongMany(ordered, perMinute)).toEqual(expected);
    }),
  );
});
