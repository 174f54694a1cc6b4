/** @module-tag check */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Alerts, AlertsTest } from "../../shared/schema/settings/alerts.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { type HttpSink, startHttpSink } from "../../test/harness/http-sink.ts";
import { startMailServer } from "../../test/harness/mail-server.ts";
import { appSettings } from "../db/schema/settings.ts";

let control: TestControl;
let sink: HttpSink;
const path = "/api/v1/settings/alerts";
/** The addresses that host names resolve to; all others do not resolve. */
const names = new Map<string, readonly string[]>();

beforeAll(async () => {
  control = await startControl({ resolve: async (host) => names.get(host) ?? [] });
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  sink = await startHttpSink();
});
afterEach(async () => {
  await control.connection.db.delete(appSettings);
  await sink.close();
});

async function put(body: unknown): Promise<Alerts> {
  return (await (await control.request("PUT", path, body)).json()) as Alerts;
}

async function stored(): Promise<string> {
  return JSON.stringify(await control.connection.db.select().from(appSettings));
}

const EMAIL = { smtp_host: "127.0.0.1", from_address: "gateway@localhost", recipients: ["ops@example.org"] };

describe("alert settings", () => {
  it("keep their secrets sealed, never show them, and keep the fields that are omitted", async () => {
    const shown = await put({
      slack_webhook_url: `${sink.url}/hook-secret`,
      email: { ...EMAIL, username: "u", smtp_password: "mail-secret" },
    });
    expect(shown).toEqual({
      slack_webhook_set: true,
      min_interval_secs: 300,
      email: { ...EMAIL, smtp_port: 587, username: "u", starttls: true, password_set: true },
      rev: expect.any(Number),
    });
    expect(await stored()).toMatch(/"slack_webhook_url":"enc:v1:/);
    expect(await stored()).toMatch(/"smtp_password":"enc:v1:/);
    expect(await stored()).not.toMatch(/hook-secret|mail-secret/);
    const kept = await put({
      slack_webhook_url: "",
      min_interval_secs: 0,
      email: { smtp_port: 25, smtp_password: null },
    });
    expect(kept).toMatchObject({
      slack_webhook_set: true,
      min_interval_secs: 0,
      email: { smtp_port: 25, password_set: true },
    });
    const audit = await (await control.request("GET", "/api/v1/audit?action=set_alert_settings&limit=2")).json();
    expect((audit as AuditEntry[]).map((entry) => entry.detail)).toEqual([
      {
        changed: { min_interval_secs: [300, 0], "email.smtp_port": [587, 25] },
        warnings: [expect.stringContaining("smtp_password was kept")],
      },
      expect.objectContaining({
        changed: expect.objectContaining({ slack_webhook_url: "changed", "email.smtp_password": "changed" }),
      }),
    ]);
  });

  it("are cleared where the request says so", async () => {
    await put({ slack_webhook_url: sink.url, email: { ...EMAIL, smtp_password: "p" } });
    expect(await put({ clear_slack_webhook: true })).toMatchObject({ slack_webhook_set: false });
    expect(await put({ clear_smtp_password: true })).toMatchObject({ email: { password_set: false } });
    await put({ email: { smtp_password: "p" } });
    expect(await put({ email: { clear_smtp_password: true } })).toMatchObject({ email: { password_set: false } });
    expect(await put({ email: null })).toMatchObject({ email: null });
    expect(await put({})).toMatchObject({ email: null });
  });

  it.each([
    [{ slack_webhook_url: "http://169.254.169.254/hook" }, "slack_webhook_url", "address_blocked"],
    [{ slack_webhook_url: "http://[::ffff:169.254.0.1]/" }, "slack_webhook_url", "address_blocked"],
    [{ slack_webhook_url: "not a url" }, "slack_webhook_url", "validation_failed"],
    [{ slack_webhook_url: 5 }, "slack_webhook_url", "validation_failed"],
    [{ min_interval_secs: -1 }, "min_interval_secs", "validation_failed"],
    [{ min_interval_secs: 86_401 }, "min_interval_secs", "validation_failed"],
    [{ email: "on" }, "email", "validation_failed"],
    [{ email: {} }, "email.smtp_host", "validation_failed"],
    [{ email: { ...EMAIL, recipients: [] } }, "email.recipients", "validation_failed"],
    [{ email: { ...EMAIL, recipients: ["a@b", "nobody"] } }, "email.recipients.1", "validation_failed"],
    [{ email: { ...EMAIL, from_address: "a\r\nBcc: x@y" } }, "email.from_address", "validation_failed"],
    [{ email: { ...EMAIL, smtp_port: 0 } }, "email.smtp_port", "validation_failed"],
    [{ email: { ...EMAIL, smtp_host: "a b" } }, "email.smtp_host", "validation_failed"],
    [{ email: { ...EMAIL, starttls: "yes" } }, "email.starttls", "validation_failed"],
  ])("refuse %j by naming %s", async (body, field, code) => {
    const response = await control.request("PUT", path, body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code, param: field } },
    });
    expect(await stored()).toBe("[]");
  });
});

describe("a test alert", () => {
  async function test(): Promise<AlertsTest> {
    return (await (await control.request("POST", `${path}/test`)).json()) as AlertsTest;
  }

  it("needs a channel", async () => {
    const response = await control.request("POST", `${path}/test`);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "no_alert_channel", message: "no alert channels are configured" } },
    });
  });

  it("is posted to the webhook and mailed, and returns the result of each channel", async () => {
    const mail = await startMailServer();
    try {
      await put({
        slack_webhook_url: `${sink.url}/hook`,
        email: { ...EMAIL, smtp_port: mail.port, starttls: false, username: "u", smtp_password: "right" },
      });
      expect(await test()).toEqual({
        results: [
          { channel: "slack", name: "Chat", ok: true, detail: "sent" },
          { channel: "email", name: "Email", ok: true, detail: "sent" },
        ],
      });
      expect(sink.asked).toMatchObject([{ method: "POST", url: "/hook" }]);
      expect(JSON.parse(sink.asked[0]?.body ?? "")).toEqual({
        text: "*Gateway alert: Test alert*\n*Issue:* `test_alert`\nThis is a test alert from the gateway.\nSeverity: info\nRunbook: docs/reference/alerts.md#test_alert",
        unfurl_links: false,
        unfurl_media: false,
      });
      expect(mail.users).toEqual(["u:right"]);
      expect(mail.mails).toHaveLength(1);
      expect(mail.mails[0]).toMatch(/^Subject: Gateway alert: Test alert\r$/m);
      expect(mail.mails[0]).toMatch(/^To: ops@example.org\r$/m);
      expect(mail.mails[0]).toContain("Issue: test_alert\r\n\r\nThis is a test alert from the gateway.");
    } finally {
      await mail.close();
    }
  });

  it("tries twice, then says what is wrong without showing secrets", async () => {
    const mail = await startMailServer();
    try {
      sink.answer = () => ({ status: 403, body: "hook-secret is wrong" });
      const email = { ...EMAIL, smtp_port: mail.port, starttls: false, username: "u", smtp_password: "mail-secret" };
      await put({ slack_webhook_url: `${sink.url}/hook-secret`, email });
      expect(await test()).toEqual({
        results: [
          { channel: "slack", name: "Chat", ok: false, detail: "http 403" },
          { channel: "email", name: "Email", ok: false, detail: "the server refused the credentials" },
        ],
      });
      expect({ webhookCalls: sink.asked.length, mailLogins: mail.users.length, mailCount: mail.mails.length }).toEqual({
        webhookCalls: 2,
        mailLogins: 2,
        mailCount: 0,
      });
      await put({ email: { starttls: true } });
      expect((await test()).results[1]).toEqual({
        channel: "email",
        name: "Email",
        ok: false,
        detail: "the server offers no TLS",
      });
      expect(mail.users).toHaveLength(2);
    } finally {
      await mail.close();
    }
  });

  it("follows no redirect, and calls no address that has been blocked since", async () => {
    sink.answer = () => ({ status: 302, headers: { location: `${sink.url}/elsewhere` } });
    await put({ slack_webhook_url: `${sink.url}/hook` });
    expect((await test()).results).toEqual([{ channel: "slack", name: "Chat", ok: false, detail: "http 302" }]);
    expect(sink.asked.map((asked) => asked.url)).toEqual(["/hook", "/hook"]);
    names.set("moved.example", ["127.0.0.1"]);
    await put({ slack_webhook_url: "http://moved.example/hook" });
    names.set("moved.example", ["127.0.0.1", "169.254.169.254"]);
    expect((await test()).results).toEqual([
      { channel: "slack", name: "Chat", ok: false, detail: "url resolves to a blocked address" },
    ]);
  });
});
