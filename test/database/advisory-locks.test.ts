/** What replicas of a control service do one after another, and what they need not wait for. */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { lockAlerts } from "../../control/alerts/alert-issues.ts";
import { AlertLog } from "../../control/alerts/alert-log.ts";
import { readyFloorOf, storeKeys } from "../../shared/records.ts";
import { startControl, type TestControl } from "../harness/control.ts";
import { waitFor } from "../harness/wait-for.ts";

const KEY = "redis_key_lookup_failed";

let one: TestControl;
let other: TestControl;

beforeAll(async () => {
  one = await startControl();
  other = await startControl({ beside: one });
});
afterAll(async () => {
  await other.close();
  await one.close();
});

/** How many transactions wait for a lock that the application takes. */
async function waiting(): Promise<number> {
  const { rows } = (await other.connection.db.execute(sql`
    SELECT count(*)::int AS waiting FROM pg_locks
    WHERE locktype = 'advisory' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)) as unknown as {
    rows: { waiting: number }[];
  };
  return rows[0]?.waiting ?? 0;
}

it("alerts hold back no write while they are taken, and an acknowledgement until they are", async () => {
  const { asked } = await one.connection.db.transaction(async (tx) => {
    await lockAlerts(tx);
    expect((await other.request("POST", "/api/v1/models", { model_name: "m" })).status).toBe(200);
    const acknowledging = other.request("PATCH", `/api/v1/alerts/${KEY}`, { acknowledged: true });
    expect(await waitFor(waiting, (count) => count === 1)).toBe(1);
    const nowMs = Date.now();
    const event = { id: "1", issueKey: KEY, title: "t", detail: "d", atMs: nowMs, count: 1 };
    await new AlertLog(one.connection.db).record(tx, [event], 0, nowMs);
    return { asked: acknowledging };
  });
  expect((await asked).status).toBe(200);
});

it("a replica never sets the mark of the store back to the one of an older revision", async () => {
  await one.resync.all();
  await one.must("POST", "/models", { model_name: "before" });
  const replace = one.store.replace.bind(one.store);
  let newer: Promise<unknown> = Promise.resolve();
  one.store.replace = async (name, text) => {
    one.store.replace = replace;
    await other.must("POST", "/models", { model_name: "after" });
    let isOver = false;
    newer = other.resync.differing().finally(() => {
      isOver = true;
    });
    await waitFor(async () => isOver || (await waiting()) > 0, Boolean);
    return await replace(name, text);
  };
  await one.resync.differing();
  await newer;
  const [mark = null] = await one.store.get([storeKeys.ready]);
  expect(other.resync.floor).toBeGreaterThan(one.resync.floor);
  expect(readyFloorOf(mark)).toBe(other.resync.floor);
});
