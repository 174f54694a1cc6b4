/**
 * Sending alerts, with the real settings, the real database and a real webhook.
 *
 * @module-tag check
 */
import { sql } from "drizzle-orm";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { type HttpSink, startHttpSink } from "../../test/harness/http-sink.ts";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { JobRuns } from "../kernel/jobs/job-runs.ts";
import { createLog } from "../kernel/log.ts";
import { AlertIssues } from "./alert-issues.ts";
import { AlertSender } from "./alert-sender.ts";
import { ChannelTries } from "./channel-tries.ts";
import { alertChannels } from "./configured-channels.ts";
import { FailureRates } from "./failure-rates.ts";

const CONSOLE = "https://console.example.org";
/** The end of every message about an issue that the catalogue does not have. */
const ENDING = /\nSeverity: warning\nRunbook: docs\/reference\/alerts\.md\nConsole: \S+$/;

let control: TestControl;
let sink: HttpSink;

beforeAll(async () => {
  control = await startControl();
  sink = await startHttpSink();
  sink.answer = ({ url }) => ({ status: url === "/fails" ? 500 : 200 });
});
afterAll(async () => {
  await sink.close();
  await control.close();
});

function senderOf(now: () => number = Date.now): { sender: AlertSender; logged: string[] } {
  const logged: string[] = [];
  const logger = pino({}, { write: (line: string) => void logged.push(line) });
  const channels = async () => await alertChannels(control.ctx);
  const { db } = control.connection;
  const rates = new FailureRates(db, { perMinute: 3, percent: 5 }, async () => 0);
  return { sender: new AlertSender({ db, channels, rates, consoleUrl: CONSOLE, now, logger }), logged };
}

/** Takes alerts, and sends the messages that are due, as the job that runs next does. */
async function takeAndSend(sender: AlertSender, alerts: readonly RaisedAlert[]): Promise<void> {
  await sender.take(alerts);
  await sender.sendDue();
}

let ids = 0;
const alert = (issueKey: string, detail = "what happened", count = 1): RaisedAlert => {
  ids += 1;
  return { id: `alert-${ids}`, issueKey, title: "A title", detail, atMs: 0, cell: "local", count };
};

async function settings(body: object): Promise<void> {
  const answer = await control.request("PUT", "/api/v1/settings/alerts", body);
  expect(answer.status).toBe(200);
}

const texts = (issueKey: string): string[] =>
  sink.asked
    .filter(({ url }) => url !== "/fails")
    .map(({ body }) => (JSON.parse(body) as { text: string }).text)
    .filter((text) => text.includes(issueKey))
    .map((text) => text.replace(ENDING, ""));

/** How many raised alerts a message counts. */
const timesOf = (text: string): number => 1 + Number(/ \((\d+) repeats suppressed\)$/.exec(text)?.[1] ?? 0);
/** Of each message the line of its detail. */
const lastLines = (issueKey: string): (string | undefined)[] => texts(issueKey).map((text) => text.split("\n").at(-1));

describe("an alert", () => {
  it("is only logged while no channel is configured, and a message as soon as one is", async () => {
    const { sender, logged } = senderOf();
    await takeAndSend(sender, [alert("first_issue")]);
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    await takeAndSend(sender, [alert("first_issue")]);
    const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ event, key, count }) => [event, key, count])).toEqual([
      ["alert", "first_issue", 1],
      ["alert", "first_issue", 1],
    ]);
    expect(texts("first_issue")).toEqual(["*Gateway alert: A title*\n*Issue:* `first_issue`\nwhat happened"]);
  });

  it("says how urgent it is, and leads to its runbook and itself in the console", async () => {
    const { sender } = senderOf();
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    await takeAndSend(sender, [alert("guardrails_input_harm_t1"), alert("model_health_down:a/b")]);
    const endings = ["guardrails_input_harm_t1", "model_health_down:a/b"].map((key) =>
      texts(key)[0]?.split("\n").slice(3),
    );
    const link = (key: string): string => `Console: ${CONSOLE}/alerts?key=${encodeURIComponent(key)}`;
    expect(endings).toEqual([
      [
        "Severity: warning",
        "Runbook: docs/reference/alerts.md#guardrails_input_harm",
        link("guardrails_input_harm_t1"),
      ],
      ["Severity: critical", "Runbook: docs/reference/alerts.md#model_health_down", link("model_health_down:a/b")],
    ]);
  });

  it("36 failures in 36 s at a 15 s cooldown become four messages that count all 36", async () => {
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 15 });
    let nowMs = 1_000_000;
    const replicas = [senderOf(() => nowMs), senderOf(() => nowMs)];
    const sentAt: number[] = [];
    for (let second = 0; second <= 60; second += 1) {
      nowMs = 1_000_000 + second * 1000;
      const before = texts("thirty_six").length;
      if (second < 36) await replicas[second % 2]?.sender.take([alert("thirty_six", `failure ${second}`)]);
      for (const { sender } of replicas) await sender.sendDue();
      if (texts("thirty_six").length > before) sentAt.push(second);
    }
    expect(sentAt).toEqual([0, 15, 30, 45]);
    expect(lastLines("thirty_six")).toEqual([
      "failure 0",
      "failure 15 (14 repeats suppressed)",
      "failure 30 (14 repeats suppressed)",
      "failure 35 (4 repeats suppressed)",
    ]);
    expect(texts("thirty_six").reduce((sum, text) => sum + timesOf(text), 0)).toBe(36);
  });

  it("that repeats is counted across all processes, and the next message gives the count", async () => {
    const [one, other] = [senderOf(), senderOf()];
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    await takeAndSend(one.sender, [alert("noisy")]);
    for (const { sender } of [one, other, other]) await takeAndSend(sender, [alert("noisy", "meanwhile", 5)]);
    await takeAndSend(one.sender, [alert("quiet")]);
    expect({ noisyCount: texts("noisy").length, quietCount: texts("quiet").length }).toEqual({
      noisyCount: 1,
      quietCount: 1,
    });
    await settings({ min_interval_secs: 0 });
    await takeAndSend(other.sender, [alert("noisy", "again")]);
    await takeAndSend(other.sender, [alert("noisy", "and again")]);
    expect(lastLines("noisy").slice(1)).toEqual(["again (15 repeats suppressed)", "and again"]);
  });

  it("that waits is reported as soon as a shorter cooldown is set", async () => {
    const { sender } = senderOf();
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    for (const detail of ["first", "second"]) await takeAndSend(sender, [alert("waits", detail)]);
    expect(await sender.sendDue()).toEqual({ sent: 0 });
    await settings({ min_interval_secs: 0 });
    expect(await sender.sendDue()).toEqual({ sent: 1 });
    expect(lastLines("waits")).toEqual(["first", "second"]);
  });

  it("that is sent is counted in the log line of the job, which hides no count", async () => {
    const { sender } = senderOf();
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 0 });
    await sender.take([alert("logged")]);
    const lines: string[] = [];
    const runs = new JobRuns({ replica: "a", log: createLog({ write: (line) => void lines.push(line) }) });
    const end = { outcome: "ok" as const, durationMs: 1, result: await sender.sendDue() };
    runs.report({ name: "alert_messages", everyMs: 1000 }, end);
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([{ job: "alert_messages", sent: 1 }]);
  });

  it("is counted exactly, however many processes take and send at the same time", async () => {
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 0 });
    const senders = [1, 2, 3, 4].map(() => senderOf().sender);
    await Promise.all(
      senders.flatMap((sender) =>
        Array.from({ length: 10 }, async (_, count) => {
          await takeAndSend(sender, [alert("crowd", "d", count + 1), alert("crowd")]);
          await sender.sendDue();
        }),
      ),
    );
    await senders[0]?.sendDue();
    expect(texts("crowd").reduce((sum, text) => sum + timesOf(text), 0)).toBe(4 * (55 + 10));
  });

  it("is taken in the same transaction as the hand-over, or not at all", async () => {
    const { sender, logged } = senderOf();
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 0 });
    const refused = sender.take([alert("together")], async () => {
      throw new Error("another replica has it");
    });
    await expect(refused).rejects.toThrow("another replica has it");
    await sender.sendDue();
    expect({ texts: texts("together"), logged }).toEqual({ texts: [], logged: [] });
  });

  it("whose sender died before it was reported is sent when its claim has run out", async () => {
    let nowMs = Date.now();
    const { sender } = senderOf(() => nowMs);
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    const { db } = control.connection;
    const book = new AlertIssues(db);
    await db.transaction(async (tx) => await book.record(tx, alert("cut_off"), ["slack"]));
    expect(await book.claim("slack", nowMs, 300_000, new ChannelTries())).toMatchObject({ count: 1 });
    await takeAndSend(sender, [alert("cut_off", "another")]);
    expect(texts("cut_off")).toEqual([]);
    nowMs += 121_000;
    await sender.sendDue();
    expect(lastLines("cut_off")).toEqual(["another (1 repeats suppressed)"]);
  });

  it("is reported although the clock was set back by more than its cooldown", async () => {
    let nowMs = Date.now() + 86_400_000;
    const { sender } = senderOf(() => nowMs);
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    await takeAndSend(sender, [alert("clock")]);
    nowMs -= 86_400_000;
    await takeAndSend(sender, [alert("clock", "after")]);
    expect(lastLines("clock")).toEqual(["what happened", "after"]);
  });

  it("about a name with markup, a mention or a link shows it in the chat and notifies no one", async () => {
    const { sender } = senderOf();
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    await takeAndSend(sender, [alert("markup:`<!channel>", "R&D *now* <https://evil.example|click>: failed")]);
    expect(texts("markup:")).toEqual([
      "*Gateway alert: A title*\n*Issue:* `markup:\u02cb&lt;!channel&gt;`\nR&amp;D \u2217now\u2217 &lt;https\u2236//evil\u2024example|click&gt;: failed",
    ]);
  });

  it("keeps the count of repeats within the maximum length of a detail", async () => {
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    const { sender } = senderOf();
    await takeAndSend(sender, [alert("long")]);
    await takeAndSend(sender, [alert("long")]);
    await settings({ min_interval_secs: 0 });
    await takeAndSend(sender, [alert("long", "x".repeat(500))]);
    const detail = lastLines("long").at(-1) ?? "";
    expect({ length: detail.length, keepsRepeats: detail.endsWith("x (1 repeats suppressed)") }).toEqual({
      length: 500,
      keepsRepeats: true,
    });
  });

  it("whose channel fails waits for it, and delays no other alert once the channel works again", async () => {
    const { sender } = senderOf();
    await settings({ slack_webhook_url: `${sink.url}/fails`, min_interval_secs: 300 });
    await takeAndSend(sender, [alert("not_taken")]);
    await settings({ slack_webhook_url: sink.url });
    await takeAndSend(sender, [alert("later")]);
    const messages = { waited: texts("not_taken").length, next: texts("later").length };
    expect(messages).toEqual({ waited: 1, next: 1 });
  });

  it("that is being reported while its channel is removed keeps its count for the next time", async () => {
    const { sender } = senderOf();
    const { db } = control.connection;
    const book = new AlertIssues(db);
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 0 });
    await db.transaction(async (tx) => await book.record(tx, alert("on_its_way", "d", 3), ["slack"]));
    const due = await book.claim("slack", Date.now(), 0, new ChannelTries());
    if (due === null) throw new Error("it is due");
    await settings({ clear_slack_webhook: true });
    await sender.sendDue();
    await book.markReported(due, Date.now());
    await settings({ slack_webhook_url: sink.url });
    await takeAndSend(sender, [alert("on_its_way", "once more")]);
    expect(lastLines("on_its_way")).toEqual(["once more"]);
  });

  it("whose channel has a secret that cannot be opened is reported on the others, once", async () => {
    const { sender, logged } = senderOf();
    await settings({
      slack_webhook_url: sink.url,
      min_interval_secs: 300,
      email: { smtp_host: "127.0.0.1", smtp_password: "p", from_address: "a@b.example", recipients: ["c@d.example"] },
    });
    const { db } = control.connection;
    await db.execute(
      sql`UPDATE app_settings SET value = jsonb_set(value, '{email,smtp_password}', '"enc:v1:damaged"') WHERE key = 'alerts'`,
    );
    await takeAndSend(sender, [alert("half_told")]);
    await sender.sendDue();
    expect(texts("half_told")).toHaveLength(1);
    expect(logged.filter((line) => line.includes("alert_not_sent"))).toHaveLength(1);
    await settings({ email: null });
  });

  it("that waits is dismissed when no channel is left", async () => {
    const { sender } = senderOf();
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    for (let times = 0; times < 3; times += 1) await takeAndSend(sender, [alert("dismissed")]);
    await settings({ clear_slack_webhook: true });
    await sender.sendDue();
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 0 });
    await sender.sendDue();
    expect(texts("dismissed")).toHaveLength(1);
  });

  it("is reported once per cooldown while the key-value store is down, and pruned a month later", async () => {
    let nowMs = Date.now();
    const { sender } = senderOf(() => nowMs);
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    await control.stopStore();
    await sender.prune();
    for (const wait of [0, 1_000, 300_000]) {
      nowMs += wait;
      await takeAndSend(sender, [alert("store_away")]);
    }
    expect(lastLines("store_away")).toEqual(["what happened", "what happened (1 repeats suppressed)"]);
    expect((await sender.prune()).removed).toBe(0);
    nowMs += 30 * 86_400_000;
    expect((await sender.prune()).removed).toBeGreaterThan(0);
  });
});
