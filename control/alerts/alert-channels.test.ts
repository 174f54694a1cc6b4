/**
 * The channels of alerts: how admins change them, and which messages each gets, over real webhooks and a real mail server.
 *
 * @module-tag check
 */
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import type { ShownChannel } from "../../shared/schema/alert-channel.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { type HttpSink, startHttpSink } from "../../test/harness/http-sink.ts";
import { startMailServer } from "../../test/harness/mail-server.ts";
import { appSettings } from "../db/schema/settings.ts";
import { AlertSender } from "./alert-sender.ts";
import { alertChannels } from "./configured-channels.ts";
import { FailureRates } from "./failure-rates.ts";
import { alertDeliveries, alertIssues } from "./tables.ts";

let control: TestControl;
let sink: HttpSink;
let sender: AlertSender;
const logged: string[] = [];
const AT = "/api/v1/alert-channels";
const CONSOLE = "https://console.example/";

beforeAll(async () => {
  control = await startControl({ resolve: async () => [] });
  const { db } = control.connection;
  sender = new AlertSender({
    db,
    channels: async () => await alertChannels(control.ctx),
    rates: new FailureRates(db, { perMinute: 3, percent: 5 }, async () => 0),
    consoleUrl: CONSOLE,
    now: Date.now,
    logger: pino({}, { write: (line: string) => void logged.push(line) }),
  });
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  sink = await startHttpSink();
  logged.length = 0;
});
afterEach(async () => {
  for (const table of [appSettings, alertIssues, alertDeliveries]) await control.connection.db.delete(table);
  await sink.close();
});

async function call<T = ShownChannel>(method: string, path: string, body?: unknown, headers = {}) {
  const answer = await control.request(method, path, body, headers);
  return { status: answer.status, body: (answer.status === 204 ? null : await answer.json()) as T };
}

const create = async (body: object): Promise<ShownChannel> => {
  const { status, body: channel } = await call("POST", AT, body);
  expect({ status, channel }).toMatchObject({ status: 200 });
  return channel;
};
const listed = async (): Promise<ShownChannel[]> => (await call<ShownChannel[]>("GET", AT)).body;

let ids = 0;
/** Raises issues and sends what is due; returns what was posted to each path, by key. */
async function raise(...keys: string[]): Promise<Record<string, string[]>> {
  sink.asked.length = 0;
  for (const issueKey of keys) {
    ids += 1;
    await sender.take([{ id: `${ids}`, issueKey, title: "T", detail: "d", atMs: 0, cell: "local", count: 1 }]);
  }
  await sender.sendDue();
  const posted: Record<string, string[]> = {};
  for (const { url, body } of sink.asked) {
    const key = keys.find((one) => body.includes(one)) ?? body;
    posted[url] = [...(posted[url] ?? []), key].toSorted();
  }
  return posted;
}

const MAIL = { smtp_host: "127.0.0.1", from_address: "gateway@localhost", recipients: ["ops@example.org"] };

describe("the webhook and the email of the alert settings", () => {
  it("are the first channels, with every alert", async () => {
    await call("PUT", "/api/v1/settings/alerts", { slack_webhook_url: `${sink.url}/chat`, email: MAIL });
    const rule = { min_severity: "info", kinds: [], min_interval_secs: null, enabled: true };
    const unused = { last_delivery: null, sent: 0, failed: 0, rev: expect.any(Number) };
    expect(await listed()).toEqual([
      { id: "slack", name: "Chat", type: "slack", url_set: true, recipients: [], ...rule, ...unused },
      { id: "email", name: "Email", type: "email", url_set: false, recipients: MAIL.recipients, ...rule, ...unused },
    ]);
  });

  it("that an older version stored keep their messages, also when a channel is added", async () => {
    await control.connection.db.insert(appSettings).values({
      key: "alerts",
      value: { slack_webhook_url: `${sink.url}/old`, min_interval_secs: 0, email: null },
      rev: 1,
    });
    await create({ name: "Pager", type: "webhook", url: `${sink.url}/pager`, min_severity: "critical" });
    expect(await raise("disk_low:m")).toEqual({ "/old": ["disk_low:m"] });
  });

  it("take rules of their own, and their addresses stay those of the settings", async () => {
    await call("PUT", "/api/v1/settings/alerts", { slack_webhook_url: `${sink.url}/a`, email: MAIL });
    const changed = await call("PATCH", `${AT}/slack`, {
      name: "Room",
      url: `${sink.url}/b`,
      min_severity: "critical",
    });
    expect(changed).toMatchObject({ status: 200, body: { id: "slack", name: "Room", min_severity: "critical" } });
    await call("PATCH", `${AT}/email`, { recipients: ["new@example.org"], enabled: false });
    expect((await call("GET", "/api/v1/settings/alerts")).body).toMatchObject({
      slack_webhook_set: true,
      email: { recipients: ["new@example.org"] },
    });
    expect(await raise("disk_low:n", "scheduler_unavailable")).toEqual({ "/b": ["scheduler_unavailable"] });
    expect((await call("DELETE", `${AT}/slack`)).status).toBe(204);
    expect((await call("DELETE", `${AT}/email`)).status).toBe(204);
    expect((await call("GET", "/api/v1/settings/alerts")).body).toMatchObject({
      slack_webhook_set: false,
      email: null,
    });
  });
});

describe("a channel", () => {
  it("gets alerts of its kinds that are severe enough, and the recovery of what it got", async () => {
    await call("PUT", "/api/v1/settings/alerts", { min_interval_secs: 0 });
    await create({ name: "all", type: "slack", url: `${sink.url}/all` });
    await create({ name: "severe", type: "slack", url: `${sink.url}/severe`, min_severity: "critical" });
    await create({ name: "disks", type: "webhook", url: `${sink.url}/disks`, kinds: ["disk_low", "guardrails_input"] });
    await create({ name: "off", type: "slack", url: `${sink.url}/off`, enabled: false });
    const keys = ["disk_low:a", "guardrails_input_harm_t", "model_health_down:m", "model_health_recovery:m"];
    expect(await raise(...keys)).toEqual({
      "/all": keys.toSorted(),
      "/severe": ["model_health_down:m", "model_health_recovery:m"],
      "/disks": ["disk_low:a"],
    });
  });

  it("of programs gets a JSON object that leads to the alert in the console", async () => {
    await create({ name: "hook", type: "webhook", url: sink.url });
    await raise("disk_low:a/b");
    expect(JSON.parse(sink.asked[0]?.body ?? "")).toEqual({
      key: "disk_low:a/b",
      kind: "disk_low",
      title: "T",
      detail: "d",
      severity: "warning",
      repeats: 0,
      runbook: "docs/reference/alerts.md#disk_low",
      console_url: "https://console.example/alerts?key=disk_low%3Aa%2Fb",
    });
  });

  it("has its own interval for repeats", async () => {
    await call("PUT", "/api/v1/settings/alerts", { min_interval_secs: 300 });
    await create({ name: "often", type: "slack", url: `${sink.url}/often`, min_interval_secs: 0 });
    await create({ name: "rare", type: "slack", url: `${sink.url}/rare` });
    await raise("disk_low:r");
    expect(await raise("disk_low:r")).toEqual({ "/often": ["disk_low:r"] });
  });

  it("of mail writes to its own recipients, and needs the mail server", async () => {
    const list = { name: "Finance", type: "email", recipients: ["money@example.org"] };
    expect(await call("POST", AT, list)).toMatchObject({ status: 400, body: { error: { param: "type" } } });
    const mail = await startMailServer();
    try {
      const email = { ...MAIL, smtp_port: mail.port, starttls: false };
      await call("PUT", "/api/v1/settings/alerts", { email, min_interval_secs: 0 });
      const { id } = await create({ ...list, kinds: ["term_budget_exhausted"] });
      await raise("term_budget_exhausted:t", "disk_low:m");
      const to = mail.mails.map((text) => String(/^To: (.*)\r$/m.exec(text)?.[1])).toSorted();
      expect(to).toEqual(["money@example.org", "ops@example.org", "ops@example.org"]);
      expect(await call("DELETE", `${AT}/email`)).toMatchObject({ status: 400, body: { error: { param: "id" } } });
      const off = await call<{ warnings?: string[] }>("PUT", "/api/v1/settings/alerts", { email: null });
      expect(off.body.warnings).toEqual(["mail channels send nothing while email is off: Finance"]);
      await raise("term_budget_exhausted:u");
      expect((await call("GET", `${AT}/${id}`)).body).toMatchObject({
        sent: 1,
        failed: 1,
        last_delivery: { ok: false, detail: "no mail server is set in the alert settings" },
      });
    } finally {
      await mail.close();
    }
  });

  it("shows how its last message or test went, and delays no other when it fails", async () => {
    sink.answer = ({ url }) => ({ status: url === "/bad" ? 500 : 200 });
    const bad = await create({ name: "bad", type: "slack", url: `${sink.url}/bad` });
    const good = await create({ name: "good", type: "slack", url: `${sink.url}/good` });
    expect(await raise("disk_low:x")).toEqual({ "/bad": ["disk_low:x", "disk_low:x"], "/good": ["disk_low:x"] });
    expect(await listed()).toMatchObject([
      { name: "bad", sent: 0, failed: 0, last_delivery: { ok: false, detail: "http 500" } },
      { name: "good", sent: 1, failed: 0, last_delivery: { ok: true, detail: "sent" } },
    ]);
    expect(logged.filter((line) => line.includes("alert_not_sent")).map((line) => JSON.parse(line))).toMatchObject([
      { channel: bad.id, name: "bad", key: "disk_low:x", reason: "http 500" },
    ]);
    expect(await call("POST", `${AT}/${good.id}/test`)).toEqual({
      status: 200,
      body: { channel: good.id, name: "good", ok: true, detail: "sent" },
    });
    expect((await call("GET", `${AT}/${good.id}`)).body).toMatchObject({ sent: 2 });
  });

  it("keeps its URL sealed and hidden, and its changes are in the audit log without it", {
    tags: ["check"],
  }, async () => {
    const channel = await create({ name: "Ops Team: Nights", type: "slack", url: `${sink.url}/planted` });
    expect(channel.id).toMatch(/^ops-team-nights-[0-9a-f]{8}$/);
    await call("PATCH", `${AT}/${channel.id}`, { url: `${sink.url}/planted2`, kinds: ["disk_low", "disk_low"] });
    const stored = JSON.stringify(await control.connection.db.select().from(appSettings));
    expect(stored).toContain('"url":"enc:v1:');
    const { body: audit } = await call<AuditEntry[]>("GET", "/api/v1/audit?action=change_alert_channel&limit=1");
    expect(audit[0]?.detail).toEqual({
      changed: { [`channels.${channel.id}.url`]: "changed", [`channels.${channel.id}.kinds`]: [[], ["disk_low"]] },
    });
    expect([stored, JSON.stringify(audit), JSON.stringify(await listed())].join()).not.toContain("planted");
  });

  it("is refused with what is wrong", async () => {
    const hook = { name: "h", type: "webhook", url: `${sink.url}/h` };
    const { id } = await create(hook);
    const paramOf = async (method: string, path: string, body: object): Promise<unknown> =>
      (await call<{ error: { param: string; code: string } }>(method, path, body)).body.error;
    const wrong = { code: "validation_failed" };
    expect(await paramOf("POST", AT, hook)).toMatchObject({ ...wrong, param: "name" });
    for (const name of ["a\r\nb", "a\u2028b", "a\u202eb"]) {
      expect(await paramOf("POST", AT, { ...hook, name })).toMatchObject({ ...wrong, param: "name" });
      expect(await paramOf("PATCH", `${AT}/${id}`, { name })).toMatchObject({ ...wrong, param: "name" });
    }
    expect(await paramOf("POST", AT, { name: "n", type: "slack" })).toMatchObject({ ...wrong, param: "url" });
    expect(await paramOf("POST", AT, { ...hook, name: "n", url: "http://169.254.169.254/" })).toMatchObject({
      code: "address_blocked",
      param: "url",
    });
    expect(await paramOf("POST", AT, { ...hook, name: "n", kinds: ["disk"] })).toMatchObject({ param: "kinds.0" });
    expect(await paramOf("POST", AT, { ...hook, name: "n", recipients: ["a@b.example"] })).toMatchObject({
      param: "recipients",
    });
    expect(await paramOf("PATCH", `${AT}/${id}`, { recipients: ["a@b.example"] })).toMatchObject({
      param: "recipients",
    });
    expect(await paramOf("PATCH", `${AT}/${id}`, { type: "slack" })).toMatchObject({ param: "type" });
    for (let count = 1; count < LIMITS.alertChannels; count += 1) await create({ ...hook, name: `h${count}` });
    expect(await paramOf("POST", AT, { ...hook, name: "one too many" })).toMatchObject({ ...wrong, param: "name" });
  });

  it("changes only as it was read", async () => {
    const { id, rev } = await create({ name: "h", type: "webhook", url: sink.url });
    const match = { "if-match": `"${rev}"` };
    expect((await call("PATCH", `${AT}/${id}`, { enabled: false }, match)).status).toBe(200);
    expect((await call("PATCH", `${AT}/${id}`, { enabled: true }, match)).status).toBe(412);
  });
});
