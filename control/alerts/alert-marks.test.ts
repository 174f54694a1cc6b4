/**
 * Alerts that are acknowledged or muted (docs/rules/alerts.md#acknowledged-and-muted), by the real API and a real webhook.
 *
 * @module-tag check
 */
import { eq } from "drizzle-orm";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AlertMark, AlertOverview } from "../../shared/schema/alert-log.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { type HttpSink, startHttpSink } from "../../test/harness/http-sink.ts";
import { AlertSender } from "./alert-sender.ts";
import { alertChannels } from "./configured-channels.ts";
import { FailureRates } from "./failure-rates.ts";
import { alertLog, alertMarks } from "./tables.ts";

const MINUTE_MS = 60_000;
const START_MS = Date.parse("2026-11-29T08:00:00.000Z");

let control: TestControl;
let hook: HttpSink;
let sender: AlertSender;
let nowMs = START_MS;

beforeAll(async () => {
  control = await startControl({ now: () => new Date(nowMs) });
  hook = await startHttpSink();
  const { db } = control.connection;
  sender = new AlertSender({
    db,
    channels: async () => await alertChannels(control.ctx),
    rates: new FailureRates(db, { perMinute: 3, percent: 5 }, async () => 0),
    consoleUrl: null,
    now: () => nowMs,
    logger: pino({ level: "silent" }),
  });
  await control.request("PUT", "/api/v1/settings/alerts", { slack_webhook_url: hook.url, min_interval_secs: 0 });
});
afterAll(async () => {
  await control.close();
  await hook.close();
});

let ids = 0;
/** Raises an issue now, and sends what is due; returns how many messages about it there are so far. */
async function raise(issueKey: string, count = 1): Promise<number> {
  ids += 1;
  await sender.take([{ id: `${ids}`, issueKey, title: "t", detail: "d", atMs: nowMs, cell: "local", count }]);
  return await sent(issueKey);
}

async function sent(issueKey: string): Promise<number> {
  await sender.sendDue();
  return hook.asked.filter(({ body }) => body.includes(issueKey)).length;
}

const at = (key: string): string => `/api/v1/alerts/${encodeURIComponent(key)}`;
const iso = (ms: number): string => new Date(ms).toISOString();

async function mark(key: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const answer = await control.request("PATCH", at(key), body, headers);
  return { status: answer.status, body: (await answer.json()) as AlertMark };
}

async function overview(): Promise<AlertOverview> {
  return (await (await control.request("GET", "/api/v1/alerts")).json()) as AlertOverview;
}

describe("an acknowledged alert", () => {
  it("sends no repeats until it ends, and is sent again when it comes back", async () => {
    const key = "redis_key_lookup_failed";
    expect(await raise(key)).toBe(1);
    nowMs += MINUTE_MS;
    const marked = await mark(key, { acknowledged: true });
    const who = { acknowledged: true, acknowledged_at: iso(nowMs), acknowledged_by: "admin" };
    expect(marked).toMatchObject({ status: 200, body: { key, ...who, muted_until: null } });
    expect(await raise(key, 5)).toBe(1);
    expect((await overview()).firing).toMatchObject([{ key, repeats: 5, ...who }]);
    nowMs += 14 * MINUTE_MS;
    expect(await raise(key)).toBe(1);
    nowMs += 16 * MINUTE_MS;
    expect(await raise(key)).toBe(2);
    expect((await overview()).firing).toMatchObject([{ key, repeats: 0, acknowledged: false, acknowledged_by: null }]);
  });

  it("drops the repeats that wait, and sends later ones when that is taken back", async () => {
    const key = "redis_mcp_lookup_failed";
    await control.request("PUT", "/api/v1/settings/alerts", { min_interval_secs: 300 });
    expect([await raise(key), await raise(key, 7)]).toEqual([1, 1]);
    await mark(key, { acknowledged: true });
    await control.request("PUT", "/api/v1/settings/alerts", { min_interval_secs: 0 });
    expect(await sent(key)).toBe(1);
    expect((await mark(key, { acknowledged: false })).body).toMatchObject({ acknowledged: false });
    expect(await raise(key)).toBe(2);
  });

  it("is kept while the alert fires, and forgotten 30 days later", async () => {
    const key = "redis_cache_lookup_failed";
    await raise(key);
    await mark(key, { acknowledged: true });
    for (let day = 0; day < 31; day += 1) {
      // no pause of 15 minutes, without an event for each of them
      nowMs += 86_400_000;
      await control.connection.db.update(alertLog).set({ last_at_ms: nowMs }).where(eq(alertLog.issue_key, key));
      await raise(key);
    }
    await sender.prune();
    expect(await mark(key, {})).toMatchObject({ body: { acknowledged: true } });
    nowMs += 16 * MINUTE_MS;
    await sender.prune();
    expect(await control.connection.db.$count(alertMarks, eq(alertMarks.issue_key, key))).toBe(0);
  });

  it("can be any of more alerts than are shown", async () => {
    const event = { title: "t", detail: "d", cell: "local", count: 1 };
    await sender.take(
      Array.from({ length: 201 }, (_, at) => {
        const issueKey = `jwks_fetch_failed:${at}`;
        return { ...event, id: issueKey, issueKey, atMs: nowMs - at };
      }),
    );
    const key = "jwks_fetch_failed:0";
    expect((await overview()).firing.some((alert) => alert.key === key)).toBe(false);
    expect(await mark(key, { acknowledged: true })).toMatchObject({ status: 200, body: { acknowledged: true } });
  });

  it("must fire, and a key must be one of an alert", async () => {
    const refused = await mark("backup_failed", { acknowledged: true });
    const details = [{ path: "acknowledged", message: expect.stringContaining("is not active") }];
    expect(refused).toMatchObject({ status: 400, body: { error: { code: "validation_failed", details } } });
    expect((await mark("no_such_alert:m", { acknowledged: false })).status).toBe(404);
  });
});

describe("a muted alert", () => {
  it("sends nothing until the end of the mute, and is listed all the same", async () => {
    const key = "upstream_stream_error:org/model one";
    const until = iso(nowMs + 30 * MINUTE_MS);
    expect((await mark(key, { muted_until: until })).body).toMatchObject({ muted_until: until, muted_by: "admin" });
    nowMs += 20 * MINUTE_MS;
    expect(await raise(key, 3)).toBe(0);
    const { firing, muted, recent } = await overview();
    expect({ firing, muted, newest: recent[0] }).toMatchObject({
      firing: [{ key, repeats: 2, muted_until: until }],
      muted: [{ key, muted_until: until, muted_by: "admin" }],
      newest: { key, repeats: 2 },
    });
    nowMs += 10 * MINUTE_MS;
    expect(await sent(key)).toBe(1);
    expect(hook.asked.at(-1)?.body).toContain("(2 repeats suppressed)");
    expect((await overview()).muted).toEqual([]);
  });

  it("is sent again when the mute is taken back", async () => {
    const key = "usage_rows_refused";
    await mark(key, { muted_until: iso(nowMs + MINUTE_MS) });
    expect(await raise(key)).toBe(0);
    expect((await mark(key, { muted_until: null })).body).toMatchObject({ muted_until: null, muted_by: null });
    expect(await sent(key)).toBe(1);
  });

  it("has an end in the future, strict bodies, a revision and audit entries", async () => {
    const key = "backup_failed";
    const past = await mark(key, { muted_until: iso(nowMs) });
    expect(past).toMatchObject({ status: 400, body: { error: { details: [{ path: "muted_until" }] } } });
    expect(await mark(key, { mutd_until: null })).toMatchObject({
      status: 400,
      body: { error: { code: "unknown_field" } },
    });
    const muted_until = iso(nowMs + MINUTE_MS);
    const { body: first } = await mark(key, { muted_until }, { "if-match": '"0"' });
    expect(first).toMatchObject({ muted_until });
    expect((await mark(key, { muted_until: null }, { "if-match": '"0"' })).status).toBe(412);
    expect((await mark(key, first, { "if-match": `"${first.rev}"` })).status).toBe(200);
    const audit = (await (await control.request("GET", "/api/v1/audit?action=mark_alert")).json()) as AuditEntry[];
    expect(audit.findLast(({ entity_id }) => entity_id === key)).toMatchObject({
      entity_type: "gateway",
      detail: { changed: { muted_until: [null, muted_until] } },
    });
  });
});
