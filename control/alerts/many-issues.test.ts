/**
 * Many issues of one tenant hide and delay none of another (docs/rules/alerts.md#many-issues-of-a-tenant): with the real database, the
 * real sender and a webhook that takes a message only now and then.
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { issueOf, issues } from "../../shared/alerts.ts";
import type { AlertOverview } from "../../shared/schema/alert-log.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { AttentionItem } from "../../shared/schema/attention.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { type HttpSink, startHttpSink } from "../../test/harness/http-sink.ts";
import { deletedNames } from "../db/schema/tenancy.ts";
import { type RaisedAlert, raisedNow } from "../kernel/alert-sink.ts";
import { AlertSender } from "./alert-sender.ts";
import { alertChannels } from "./configured-channels.ts";
import { FailureRates } from "./failure-rates.ts";
import { alertIssues, alertLog } from "./tables.ts";

const START_MS = Date.parse("2026-11-21T08:00:00.000Z");
const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;

let control: TestControl;
let sink: HttpSink;
let nowMs = START_MS;
let alpha: Tenant;
let beta: Tenant;
/** Its ids by their names. */
const betaKeys = new Map<string, string>();
/** The keys of the messages that were taken, in their order, and of those that were not. */
const taken: string[] = [];
const refused: string[] = [];
const details = new Map<string, string>();

beforeAll(async () => {
  control = await startControl({ now: () => new Date(nowMs) });
  sink = await startHttpSink();
  alpha = await made<Tenant>("/tenants", { name: "alpha" });
  beta = await made<Tenant>("/tenants", { name: "beta" });
  for (const name of ["b1", "b2", "b3", "b4", "b5"])
    betaKeys.set(name, (await made<CreatedKey>(`/tenants/${beta.id}/keys`, { name })).key.id);
});
afterAll(async () => {
  await sink.close();
  await control.close();
});
beforeEach(async () => {
  nowMs += HOUR_MS;
  for (const list of [taken, refused]) list.length = 0;
  await control.connection.db.delete(alertIssues);
  await control.connection.db.delete(alertLog);
  await control.request("PUT", "/api/v1/settings/alerts", { clear_slack_webhook: true });
  const { channels } = await alertChannels(control.ctx);
  for (const { id } of channels) await control.request("DELETE", `/api/v1/alert-channels/${id}`);
  await made("/alert-channels", { name: "ops", type: "webhook", url: sink.url });
  takes(() => ({ status: 200 }));
});

async function made<T>(path: string, body: object): Promise<T> {
  const answer = await control.request("POST", `/api/v1${path}`, body);
  expect(answer.status).toBeLessThan(300);
  return (await answer.json()) as T;
}

/** What the webhook answers to each message. */
function takes(
  answer: (key: string) => { readonly status: number; readonly headers?: Readonly<Record<string, string>> },
): void {
  sink.answer = ({ body }) => {
    const { key, detail } = JSON.parse(body) as { readonly key: string; readonly detail: string };
    const given = answer(key);
    (given.status === 200 ? taken : refused).push(key);
    if (given.status === 200) details.set(key, detail);
    return given;
  };
}

function newSender(): AlertSender {
  const { db } = control.connection;
  return new AlertSender({
    db,
    channels: async () => await alertChannels(control.ctx),
    rates: new FailureRates(db, { perMinute: 3, percent: 5 }, async () => 0),
    consoleUrl: null,
    now: () => nowMs,
    logger: pino({ level: "silent" }),
  });
}

const raised = (issue: ReturnType<typeof issueOf>): RaisedAlert => raisedNow(issue, nowMs, "local");
const exhausted = (keyId: string): RaisedAlert =>
  raised(issueOf("key_term_budget_exhausted", "20 of 20 tokens", `:${keyId}`));
const ofBeta = (): RaisedAlert[] => [...betaKeys.values()].map(exhausted);
const critical = (): RaisedAlert => raised(issues.schedulerUnavailable("local", "it does not answer"));

/** 400 keys of alpha, which its user has made, used up and deleted one after another. */
async function flood(): Promise<RaisedAlert[]> {
  const keys = Array.from({ length: 400 }, (_, at) => ({ id: randomUUID(), tenant_id: alpha.id, name: `f${at}` }));
  await control.connection.db.insert(deletedNames).values(keys);
  return keys.map(({ id }) => exhausted(id));
}

async function overview(): Promise<AlertOverview> {
  return (await (await control.request("GET", "/api/v1/alerts")).json()) as AlertOverview;
}

const about = (keys: readonly string[], tenant: Tenant): number =>
  keys.filter((key) => key === `key_term_budget_exhausted:tenant:${tenant.id}`).length;
/** Whose each message is, in the order of the messages. */
const ownersOf = (keys: readonly string[]): string[] =>
  keys.map((key) => {
    if (!key.startsWith("key_")) return "gateway";
    const isBeta = key.endsWith(beta.id) || [...betaKeys.values()].some((id) => key.endsWith(id));
    return isBeta ? "beta" : "alpha";
  });

it("400 issues of a tenant's keys leave every other issue in all lists, and are few themselves", async () => {
  const sender = newSender();
  await sender.take(await flood());
  await sender.take([critical(), ...ofBeta()]);
  const { firing } = await overview();
  const keys = firing.map(({ key }) => key);
  const attention = (await (
    await control.request("GET", "/api/v1/overview/attention")
  ).json()) as readonly AttentionItem[];
  expect({
    first: keys[0],
    owners: Object.fromEntries([...Map.groupBy(ownersOf(keys), String)].map(([owner, all]) => [owner, all.length])),
    alphaAsOne: about(keys, alpha),
    betaAsOne: firing.find(({ key }) => key.endsWith(beta.id))?.detail,
    alerts: attention.filter(({ kind }) => kind === "alert").map(({ entity_id }) => entity_id),
  }).toEqual({
    first: "scheduler_unavailable",
    owners: { gateway: 1, alpha: 4, beta: 4 },
    alphaAsOne: 1,
    betaAsOne: '"beta": 2 alerts of further keys, the last of "b5", "b4"',
    alerts: ["scheduler_unavailable"],
  });
});

it("messages of the gateway come first, and then those of each tenant in turn", async () => {
  const sender = newSender();
  await sender.take(await flood());
  await sender.take([...ofBeta(), raised(issueOf("disk_low", "9 percent", ":m")), critical()]);
  await sender.sendDue();
  const [first, second, ...others] = taken;
  const turns = ownersOf(others);
  expect({ first, second, turns, many: details.get(`key_term_budget_exhausted:tenant:${alpha.id}`) }).toEqual({
    first: "scheduler_unavailable",
    second: "disk_low:m",
    turns: turns[0] === "alpha" ? Array(4).fill(["alpha", "beta"]).flat() : Array(4).fill(["beta", "alpha"]).flat(),
    many: '"alpha": 397 alerts of further keys, the last of "f399", "f398", "f397"',
  });
});

it("a webhook that takes a message a second gets all of them, each when it has asked for it", async () => {
  let free = START_MS;
  takes(() => {
    if (nowMs < free) return { status: 429, headers: { "retry-after": "1" } };
    free = nowMs + SECOND_MS;
    return { status: 200 };
  });
  const sender = newSender();
  await sender.take([...(await flood()), ...ofBeta(), critical()]);
  for (let second = 0; second < 20; second += 1) {
    await sender.sendDue();
    nowMs += SECOND_MS / 2;
    await sender.sendDue();
    nowMs += SECOND_MS / 2;
  }
  const [channel] = (await (await control.request("GET", "/api/v1/alert-channels")).json()) as object[];
  expect({ first: taken[0], taken: taken.length, unlike: new Set(taken).size, channel }).toMatchObject({
    first: "scheduler_unavailable",
    taken: 9,
    unlike: 9,
    channel: { sent: 9, failed: 0 },
  });
  expect(refused.length).toBeLessThan(12);
});

it("a message that is never taken is tried for an hour, and the others are sent meanwhile", async () => {
  const stuck = "disk_low:stuck";
  takes((key) => ({ status: key === stuck ? 500 : 200 }));
  const sender = newSender();
  await sender.take([raised(issueOf("disk_low", "9 percent", ":stuck")), ...ofBeta()]);
  const lastTry = { atMs: 0, tries: 0 };
  const beganMs = nowMs;
  while (nowMs - beganMs < 2 * HOUR_MS) {
    const before = refused.length;
    await sender.sendDue();
    if (refused.length > before) Object.assign(lastTry, { atMs: nowMs - beganMs, tries: refused.length });
    nowMs += 10 * SECOND_MS;
  }
  const hours = lastTry.atMs / HOUR_MS;
  expect({ taken: taken.length, isHour: hours >= 1 && hours < 1.1 }).toEqual({ taken: 4, isHour: true });
});

it("a message refused for good is given up at once, and a changed setting ends every pause", async () => {
  takes((key) => ({ status: key === "disk_low:bad" ? 400 : 503, headers: { "retry-after": "500" } }));
  const sender = newSender();
  await sender.take([
    raised(issueOf("disk_low", "9 percent", ":bad")),
    raised(issueOf("disk_low", "9 percent", ":busy")),
  ]);
  await sender.sendDue();
  nowMs += 400 * SECOND_MS;
  takes(() => ({ status: 200 }));
  await sender.sendDue();
  const paused = [...taken];
  await control.request("PUT", "/api/v1/settings/alerts", { min_interval_secs: 301 });
  await sender.sendDue();
  expect({ paused, taken }).toEqual({ paused: [], taken: ["disk_low:busy"] });
});
