/**
 * Alerts as people read them (docs/rules/alerts.md#reading-alerts), with the real database.
 *
 * @module-tag check
 */
import { eq } from "drizzle-orm";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AlertOverview } from "../../shared/schema/alert-log.ts";
import type { Model } from "../../shared/schema/model.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { modelHealth } from "../db/schema/models.ts";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { rowAfter } from "./alert-log.ts";
import { AlertSender } from "./alert-sender.ts";
import { alertChannels } from "./configured-channels.ts";
import { FailureRates } from "./failure-rates.ts";

const MINUTE_MS = 60_000;
const START_MS = Date.parse("2026-11-21T08:00:00.000Z");
let control: TestControl;
let sender: AlertSender;
let nowMs = START_MS;

beforeAll(async () => {
  control = await startControl({ now: () => new Date(nowMs) });
  const channels = async () => await alertChannels(control.ctx);
  const { db } = control.connection;
  sender = new AlertSender({
    db,
    channels,
    rates: new FailureRates(db, { perMinute: 3, percent: 5 }, async () => 0),
    consoleUrl: null,
    now: () => nowMs,
    logger: pino({ level: "silent" }),
  });
});
afterAll(async () => {
  await control.close();
});

const raised = (issueKey: string, atMs: number, count = 1): RaisedAlert => ({
  id: `${issueKey} ${atMs}`,
  issueKey,
  title: "A title",
  detail: `at ${atMs - START_MS}`,
  atMs,
  cell: "local",
  count,
});

async function read(): Promise<AlertOverview> {
  return (await (await control.request("GET", "/api/v1/alerts")).json()) as AlertOverview;
}

const UNMARKED = {
  acknowledged: false,
  acknowledged_at: null,
  acknowledged_by: null,
  muted_until: null,
  muted_by: null,
  rev: 0,
};

const iso = (minutes: number): string => new Date(START_MS + minutes * MINUTE_MS).toISOString();

describe("alerts", () => {
  it("are shown without a channel: messages with their repeats, and what still fires", async () => {
    for (const minute of [0, 1, 4, 6, 7]) {
      nowMs = START_MS + minute * MINUTE_MS;
      await sender.take([raised("store_away", nowMs, 2), ...(minute === 0 ? [raised("test_alert", nowMs)] : [])]);
    }
    const { firing, recent } = await read();
    const about = { key: "store_away", title: "A title", detail: "at 420000", severity: "warning" };
    expect(firing).toEqual([{ ...about, since: iso(0), last_at: iso(7), repeats: 9, ...UNMARKED }]);
    expect(recent).toMatchObject([
      { key: "store_away", detail: "at 420000", at: iso(6), repeats: 3 },
      { key: "test_alert", at: iso(0), repeats: 0 },
      { key: "store_away", detail: "at 240000", at: iso(0), repeats: 5 },
    ]);
    nowMs += 15 * MINUTE_MS;
    expect((await read()).firing).toEqual([]);
    nowMs += MINUTE_MS;
    await sender.take([raised("store_away", nowMs)]);
    expect((await read()).firing).toMatchObject([{ since: iso(23), repeats: 0 }]);
  });

  it("of long waits end two minutes after the last wait", async () => {
    await sender.take([raised("queue_wait_long:local:m", nowMs)]);
    const waits = async () => (await read()).firing.filter(({ key }) => key.startsWith("queue_wait_long")).length;
    nowMs += 129_000;
    expect(await waits()).toBe(1);
    nowMs += 1_000;
    expect(await waits()).toBe(0);
  });

  it("of a cell whose clock is ahead happened now", async () => {
    await sender.take([raised("early", nowMs + 60 * MINUTE_MS)]);
    expect((await read()).recent[0]).toMatchObject({ key: "early", at: new Date(nowMs).toISOString() });
  });

  it("of a model that is down fire until it is healthy or turned off", async () => {
    const created = await control.request("POST", "/api/v1/models", {
      model_name: "m",
      api_base: "http://127.0.0.1:9/v1",
    });
    const { id } = (await created.json()) as Model;
    const { db } = control.connection;
    const state = { status: "unhealthy", alert_state: "firing", consecutive_failures: 3, last_message: "http 500" };
    await db
      .update(modelHealth)
      .set({ ...state, failing_since: new Date(START_MS) })
      .where(eq(modelHealth.model_id, id));
    const down = async () => (await read()).firing.filter(({ key }) => key === "model_health_down:m");
    expect(await down()).toEqual([
      {
        key: "model_health_down:m",
        title: "Model down: m",
        detail: "m: 3 consecutive failures, last: http 500",
        severity: "critical",
        since: iso(0),
        last_at: expect.any(String),
        repeats: 2,
        ...UNMARKED,
      },
    ]);
    await db.update(modelHealth).set({ alert_state: "ok" }).where(eq(modelHealth.model_id, id));
    expect(await down()).toEqual([]);
  });

  it("are at most 200, and forgotten after 30 days", async () => {
    await sender.take(Array.from({ length: 210 }, (_, at) => raised(`many:${at}`, nowMs)));
    const { firing, recent } = await read();
    expect({ firingCount: firing.length, recentCount: recent.length, firstKey: recent[0]?.key }).toEqual({
      firingCount: 200,
      recentCount: 200,
      firstKey: "many:209",
    });
    nowMs += 30 * 86_400_000 + MINUTE_MS;
    expect((await sender.prune()).forgotten).toBeGreaterThan(210);
    expect(await read()).toEqual({ firing: [], recent: [], muted: [] });
  });
});

describe("rows of the log", () => {
  it("count every time once, and start no sooner than a cooldown after the previous one", () => {
    const event = fc.record({ afterMs: fc.nat(40 * MINUTE_MS), count: fc.integer({ min: 1, max: 9 }) });
    fc.assert(
      fc.property(fc.array(event), fc.constantFrom(0, 5 * MINUTE_MS), (events, cooldownMs) => {
        const rows: ReturnType<typeof rowAfter>["row"][] = [];
        let atMs = START_MS;
        for (const { afterMs, count } of events) {
          atMs += afterMs;
          const { continues, row } = rowAfter(rows.at(-1), raised("key", atMs, count), cooldownMs);
          if (continues) rows.pop();
          rows.push(row);
        }
        const total = events.reduce((sum, { count }) => sum + count, 0);
        expect(rows.reduce((sum, { times }) => sum + times, 0)).toBe(total);
        for (const [at, row] of rows.entries()) {
          const before = rows[at - 1];
          expect(row.firing_times).toBeGreaterThanOrEqual(row.times);
          expect(row.firing_since_ms).toBeLessThanOrEqual(row.began_at_ms);
          if (before !== undefined) expect(row.began_at_ms - before.began_at_ms).toBeGreaterThanOrEqual(cooldownMs);
        }
      }),
    );
  });
});
