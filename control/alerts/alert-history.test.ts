/** The history of alerts, page by page (docs/rules/alerts.md#reading-alerts), with the real database. */
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AlertDetail, AlertHistoryEntry } from "../../shared/schema/alert-log.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { AlertSender } from "./alert-sender.ts";
import { alertChannels } from "./configured-channels.ts";
import { FailureRates } from "./failure-rates.ts";

const MINUTE_MS = 60_000;
const START_MS = Date.parse("2026-11-29T08:00:00.000Z");
let control: TestControl;
let sender: AlertSender;
let nowMs = START_MS;

/** Minutes and what is raised then. */
const RAISED: readonly (readonly [minute: number, key: string])[] = [
  [0, "disk_low:a"],
  [10, "disk_low:a"],
  [20, "disk_low:a"],
  [30, "guardrails_input_harm_t"],
  [31, "guardrails_input_t"],
  [60, "disk_low:a"],
  [61, "scheduler_unavailable"],
  [62, "test_alert"],
  [63, "an_unknown_kind"],
];

beforeAll(async () => {
  control = await startControl({ now: () => new Date(nowMs) });
  const { db } = control.connection;
  sender = new AlertSender({
    db,
    channels: async () => await alertChannels(control.ctx),
    rates: new FailureRates(db, { perMinute: 3, percent: 5 }, async () => 0),
    consoleUrl: null,
    now: () => nowMs,
    logger: pino({ level: "silent" }),
  });
  for (const [minute, issueKey] of RAISED) {
    nowMs = START_MS + minute * MINUTE_MS;
    const alert = { id: `${minute}`, issueKey, title: "Title", detail: `detail ${minute}`, atMs: nowMs, cell: "local" };
    await sender.take([{ ...alert, count: 1 }]);
  }
});
afterAll(async () => {
  await control.close();
});

const iso = (minute: number): string => new Date(START_MS + minute * MINUTE_MS).toISOString();

async function history(query = ""): Promise<{ rows: AlertHistoryEntry[]; next: string | null }> {
  const answer = await control.request("GET", `/api/v1/alerts/history${query}`);
  const next = /<([^>]*)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1] ?? null;
  return { rows: (await answer.json()) as AlertHistoryEntry[], next };
}
const keys = async (query: string): Promise<string[]> => (await history(query)).rows.map(({ key }) => key);

describe("the history of alerts", () => {
  it("has an entry for each time that an alert was active, newest first, with all its repeats", async () => {
    const { rows } = await history("?kind=disk_low");
    const about = { key: "disk_low:a", kind: "disk_low", severity: "warning" };
    expect(rows).toMatchObject([
      { ...about, state: "active", since: iso(60), last_at: iso(60), repeats: 0, detail: "detail 60" },
      { ...about, state: "ended", since: iso(0), last_at: iso(20), repeats: 2, detail: "detail 20" },
    ]);
    expect(await keys("")).toEqual([
      "an_unknown_kind",
      "test_alert",
      "scheduler_unavailable",
      "disk_low:a",
      "guardrails_input_t",
      "guardrails_input_harm_t",
      "disk_low:a",
    ]);
  });

  it("is filtered by severity, state, kind, key, text and time", async () => {
    expect(await keys("?severity=critical")).toEqual(["scheduler_unavailable"]);
    expect(await keys("?severity=info")).toEqual(["test_alert"]);
    expect(await keys("?severity=warning&state=active")).toEqual(["an_unknown_kind", "disk_low:a"]);
    expect(await keys("?state=ended&kind=disk_low")).toEqual(["disk_low:a"]);
    expect(await keys("?kind=guardrails_input")).toEqual(["guardrails_input_t"]);
    expect(await keys("?kind=guardrails_input_harm")).toEqual(["guardrails_input_harm_t"]);
    expect(await keys("?key=guardrails_input_t")).toEqual(["guardrails_input_t"]);
    expect(await keys(`?q=${encodeURIComponent("DETAIL 3")}`)).toEqual([
      "guardrails_input_t",
      "guardrails_input_harm_t",
    ]);
    const [since, until] = [15, 31].map((minute) => START_MS + minute * MINUTE_MS);
    expect(await keys(`?since_ms=${since}&until_ms=${until}`)).toEqual(["guardrails_input_harm_t", "disk_low:a"]);
  });

  it("is paged to its end without gaps or repeats", async () => {
    const seen: number[] = [];
    let path: string | null = "?limit=2";
    while (path !== null) {
      const { rows, next } = await history(path);
      seen.push(...rows.map(({ id }) => id));
      path = next === null ? null : next.slice(next.indexOf("?"));
    }
    expect(seen).toEqual((await history()).rows.map(({ id }) => id));
    const wrong = await control.request("GET", "/api/v1/alerts/history?severity=bad&cursor=bm9uZQ");
    expect(wrong.status).toBe(400);
  });
});

describe("an alert that is read", () => {
  it("says what it means, what to do and where the runbook is, in plain text", async () => {
    const answer = await control.request("GET", "/api/v1/alerts/scheduler_unavailable");
    const detail = (await answer.json()) as AlertDetail;
    expect(detail).toMatchObject({
      kind: "scheduler_unavailable",
      title: "Scheduler unavailable",
      severity: "critical",
      firing_since: iso(61),
      detail: "detail 61",
      runbook: "docs/reference/alerts.md#scheduler_unavailable",
    });
    expect({ means: detail.means, action: detail.action }).toEqual({
      means: expect.stringContaining("The Cell did not answer."),
      action: expect.stringMatching(/cluster\.md.*overloaded in the detail/s),
    });
    expect(`${detail.means}${detail.action}`).not.toMatch(/`|\]\(|_overloaded_/);
  });
});
