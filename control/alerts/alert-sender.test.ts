/** Alerts on their way out, with the real settings, the real cooldown store and a real webhook. */
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { type HttpSink, startHttpSink } from "../../test/harness/http-sink.ts";
import { alertChannels } from "../services/settings/alert-channels.ts";
import { AlertSender } from "./alert-sender.ts";
import type { RaisedAlert } from "./alert-sink.ts";
import { Cooldown } from "./cooldown.ts";

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
  const sender = new AlertSender({
    log: { take: async ({ issueKey }) => void logged.push(issueKey) },
    channels: async () => await alertChannels(control.ctx),
    cooldown: new Cooldown(control.store, now),
    logger: pino({ level: "silent" }),
  });
  return { sender, logged };
}

let ids = 0;
const alert = (issueKey: string, detail = "what happened"): RaisedAlert => {
  ids += 1;
  return { id: `alert-${ids}`, issueKey, title: "A title", detail, atMs: 0, cell: "local" };
};

async function settings(body: object): Promise<void> {
  const answer = await control.request("PUT", "/api/v1/settings/alerts", body);
  expect(answer.status).toBe(200);
}

const texts = (issueKey: string): string[] =>
  sink.asked
    .filter(({ url }) => url !== "/fails")
    .map(({ body }) => (JSON.parse(body) as { text: string }).text)
    .filter((text) => text.includes(issueKey));

describe("an alert", () => {
  it("is a line of the log while no channel is configured, and a message as soon as one is", async () => {
    const { sender, logged } = senderOf();
    await sender.take(alert("first_issue"));
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    await sender.take(alert("first_issue"));
    expect(logged).toEqual(["first_issue", "first_issue"]);
    expect(texts("first_issue")).toEqual(["*Gateway alert: A title*\n*Issue:* `first_issue`\nwhat happened"]);
  });

  it("that repeats is counted over all processes, and the next message says how often", async () => {
    const [one, other] = [senderOf(), senderOf()];
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    await one.sender.take(alert("noisy"));
    for (const { sender } of [one, other, other]) await sender.take(alert("noisy"));
    await one.sender.take(alert("quiet"));
    expect([texts("noisy").length, texts("quiet").length]).toEqual([1, 1]);
    await settings({ min_interval_secs: 0 });
    await other.sender.take(alert("noisy", "again"));
    await other.sender.take(alert("noisy", "and again"));
    expect(
      texts("noisy")
        .slice(1)
        .map((text) => text.split("\n").at(-1)),
    ).toEqual(["again (3 repeats suppressed)", "and again"]);
  });

  it("whose sender died before it was told is sent when it is handed over again, and then is a repeat", async () => {
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    const cut = alert("cut_off");
    await new Cooldown(control.store, Date.now).enter(cut.issueKey, cut.id, 300);
    for (const event of [alert("cut_off", "another"), cut, cut]) await senderOf().sender.take(event);
    expect(texts("cut_off").map((text) => text.split("\n").at(-1))).toEqual(["what happened (1 repeats suppressed)"]);
  });

  it("keeps its end within the bound of a detail", async () => {
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    const { sender } = senderOf();
    await sender.take(alert("long"));
    await sender.take(alert("long"));
    await settings({ min_interval_secs: 0 });
    await sender.take(alert("long", "x".repeat(500)));
    const detail = texts("long").at(-1)?.split("\n").at(-1) ?? "";
    expect([detail.length, detail.endsWith("x (1 repeats suppressed)")]).toEqual([500, true]);
  });

  it("whose channel fails is given up after a second try, and holds nothing else back", async () => {
    const { sender } = senderOf();
    await settings({ slack_webhook_url: `${sink.url}/fails`, min_interval_secs: 300 });
    await sender.take(alert("not_taken"));
    await settings({ slack_webhook_url: sink.url });
    await sender.take(alert("taken"));
    expect(texts("taken")).toHaveLength(1);
  });

  it("is told from memory once per interval while the key-value store is away", async () => {
    let nowMs = 1_000_000;
    const { sender } = senderOf(() => nowMs);
    await settings({ slack_webhook_url: sink.url, min_interval_secs: 300 });
    await control.stopStore();
    for (const wait of [0, 1_000, 300_000]) {
      nowMs += wait;
      await sender.take(alert("store_away"));
    }
    expect(texts("store_away")).toHaveLength(2);
  });
});
