/** The page of alerts: mute and acknowledge from the overview, the history by its filters, and the channels. */
import { randomUUID } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ShownChannel } from "../../shared/schema/alert-channel.ts";
import type { AlertDetail } from "../../shared/schema/alert-log.ts";
import { accessibilityProblems, sidewaysPixels } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { startHttpSink } from "../harness/http-sink.ts";

const console_ = useConsole();
const HOUR_MS = 3_600_000;

/** A model that is down, and the key of its alert. */
async function downModel(): Promise<{ readonly name: string; readonly key: string }> {
  const { gateway } = console_;
  const { model } = await gateway.mint("http://127.0.0.1:9/v1");
  onTestFinished(async () => {
    await gateway.must("DELETE", `/models/${model.id}`);
  });
  for (let failures = 0; failures < 3; failures += 1) await gateway.must("POST", `/models/${model.id}/health/check`);
  return { name: model.model_name, key: `model_health_down:${model.model_name}` };
}

const alertNow = async (key: string): Promise<AlertDetail> =>
  await console_.gateway.must("GET", `/alerts/${encodeURIComponent(key)}`);

describe("an active alert", () => {
  it("is muted in two clicks from the overview, unmuted by undo, and acknowledged", async () => {
    const { name, key } = await downModel();
    const { page, problems } = await console_.open({ as: "admin" });
    await page.goto("/?all=true");
    await page.getByRole("link", { name: `Mute: Model ${name} is down` }).click();
    await page.getByRole("button", { name: "Mute for 4 hours" }).click();
    await page.getByText(/^Alert muted until/).waitFor();
    const { muted_until, muted_by } = await alertNow(key);
    expect(muted_by).toMatch(/^admin/);
    const left = Date.parse(muted_until ?? "") - Date.now();
    expect({ isAtMost: left <= 4 * HOUR_MS + 60_000, isAtLeast: left > 3.9 * HOUR_MS }).toEqual({
      isAtMost: true,
      isAtLeast: true,
    });
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("Alert unmuted").waitFor();
    expect((await alertNow(key)).muted_until).toBeNull();

    const panel = page.getByRole("complementary", { name: "Alert" });
    await panel.getByText("What it means").waitFor();
    await panel.getByText("Its health checks fail. Check its requests and its upstream.").waitFor();
    await panel.getByRole("button", { name: "Acknowledge", exact: true }).click();
    await panel.getByText(/^Acknowledged by admin/).waitFor();
    await panel
      .getByRole("table", { name: "Who acknowledged or muted it" })
      .getByText("marked alert")
      .first()
      .waitFor();
    expect((await alertNow(key)).acknowledged).toBe(true);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(problems()).toEqual([]);
  });

  it("is muted until a typed time, and a link to it shows it on a phone", async () => {
    const { key } = await downModel();
    const { page, problems } = await console_.open({ as: "admin", width: 390, colorScheme: "dark" });
    await page.goto(`/alerts?key=${encodeURIComponent(key)}`);
    const field = page.getByLabel("Until a time");
    await field.fill("2020-01-01T00:00");
    await page.getByRole("button", { name: "Mute until then" }).click();
    await page.getByText("Choose a time in the future.").waitFor();
    await field.fill("2099-01-01T00:00");
    await page.getByRole("button", { name: "Mute until then" }).click();
    await page.getByText(/^Alert muted until/).waitFor();
    expect((await alertNow(key)).muted_until).toMatch(/^(2098-12-31|2099-01-01)T/);
    expect({ sideways: await sidewaysPixels(page), accessibility: await accessibilityProblems(page) }).toEqual({
      sideways: 0,
      accessibility: [],
    });
    await page.getByRole("button", { name: "Unmute" }).click();
    await page.getByText("Alert unmuted").waitFor();
    expect(problems()).toEqual([]);
  });

  it("says all of what to do, in the list until its panel is open", async () => {
    await downModel();
    const { page } = await console_.open({ as: "admin" });
    await page.goto("/alerts");
    const cell = page.getByRole("row", { name: /Model down/ }).locator('td[data-column="next"]');
    await cell.waitFor();
    const cutPixels = await cell.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    await cell.click();
    await page.getByRole("complementary", { name: "Alert" }).getByText("What to do").waitFor();
    expect({ cutPixels, inList: await cell.count() }).toEqual({ cutPixels: 0, inList: 0 });
  });

  it("that does not exist is said to be none", async () => {
    const { page } = await console_.open({ as: "admin" });
    await page.goto("/alerts?key=nothing");
    await page.getByRole("heading", { name: "No such alert" }).waitFor();
  });
});

describe("the history", () => {
  it("is narrowed by filters that stand in its address, and says why it is empty", async () => {
    const { name } = await downModel();
    const { page, problems } = await console_.open({ as: "admin" });
    await page.goto("/alerts");
    await page.getByRole("tab", { name: "History" }).click();
    const list = page.getByRole("table", { name: "Alerts, newest first" });
    await page.getByLabel("Search", { exact: true }).fill(name);
    await page.getByLabel("Search", { exact: true }).press("Enter");
    await page.waitForURL((url) => url.searchParams.get("q") === name);
    await list.getByRole("row").filter({ hasText: name }).waitFor();
    await page.getByLabel("Severity").selectOption("critical");
    await list.getByRole("row").filter({ hasText: name }).waitFor();
    await page.getByLabel("State").selectOption("ended");
    await page.getByRole("heading", { name: "No alert matches" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "No alert matches" }).waitFor();
    await page.getByRole("button", { name: "Clear filters" }).first().click();
    await list.getByRole("row").nth(1).waitFor();
    expect(new URL(page.url()).searchParams.get("q")).toBeNull();
    expect(problems()).toEqual([]);
  });

  it("that cannot be read says so, and is not shown as empty", async () => {
    const { page } = await console_.open({ as: "admin" });
    const error = { message: "no database", type: "api_error", code: "database_unavailable" };
    await page.route(
      "**/api/live/alerts/history*",
      async (route) => await route.fulfill({ status: 503, json: { error } }),
    );
    await page.goto("/alerts?tab=history");
    await page.getByText("database_unavailable").waitFor();
    expect(await page.getByText("No alerts yet").count()).toBe(0);
  });
});

describe("a channel", () => {
  it("is added with a rule, tested, changed, turned off and deleted", async () => {
    const { gateway } = console_;
    const sink = await startHttpSink(() => ({ status: 500 }));
    onTestFinished(async () => await sink.close());
    const name = `hook-${randomUUID().slice(0, 8)}`;
    const channelNow = async (): Promise<ShownChannel | undefined> =>
      (await gateway.must<ShownChannel[]>("GET", "/alert-channels")).find((channel) => channel.name === name);
    const { page, problems } = await console_.open({ as: "admin" });
    await page.goto("/alerts?tab=channels");
    await page.getByRole("button", { name: "Add channel" }).first().click();
    const creating = page.getByRole("dialog");
    await creating.getByLabel("Type").selectOption("webhook");
    await creating.getByLabel("Name").fill(name);
    await creating.getByRole("button", { name: "Add channel" }).click();
    await creating.getByText("Enter the URL of the webhook.").waitFor();
    await creating.getByLabel("Webhook URL").fill(`${sink.url}/hook`);
    await creating.getByLabel("Minimum severity").selectOption("critical");
    await creating.getByText("All alerts").click();
    await creating.getByLabel("Backup failed").check();
    await creating.getByRole("button", { name: "Add channel" }).click();
    await page.getByText(`Channel ${name} added`).waitFor();
    expect(await channelNow()).toMatchObject({ type: "webhook", min_severity: "critical", kinds: ["backup_failed"] });

    const panel = page.getByRole("dialog", { name });
    await panel.getByRole("button", { name: "Send a test alert" }).click();
    await panel.getByText(`${name}: failed. http 500`).waitFor();
    await panel.getByText("0 sent, 1 failed").waitFor();
    expect(JSON.parse(sink.asked[0]?.body ?? "")).toMatchObject({ key: "test_alert", severity: "info" });
    expect(await accessibilityProblems(page)).toEqual([]);
    await panel.getByLabel("Minimum severity").selectOption("warning");
    await panel.getByRole("button", { name: "Save" }).click();
    await page.getByText("Warning and critical, 1 alert").waitFor();
    await panel.getByRole("button", { name: "Turn off" }).click();
    await page.getByText(`${name} is off`).waitFor();
    expect(await channelNow()).toMatchObject({ min_severity: "warning", enabled: false, url_set: true });
    await panel.getByRole("button", { name: "Delete channel" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete channel" }).click();
    await page.getByText(`Channel ${name} deleted`).waitFor();
    expect(await channelNow()).toBeUndefined();
    expect(problems()).toEqual([]);
  });
});
