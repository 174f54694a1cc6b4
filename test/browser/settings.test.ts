/** Settings in a real browser: changes with undo, what is refused, and a restore that is looked at first. */
import { Buffer } from "node:buffer";
import { expect, it, onTestFinished } from "vitest";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Backup } from "../../shared/schema/backup.ts";
import type { Assistant } from "../../shared/schema/settings/assistant.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { accessibilityProblems, sidewaysPixels } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const console_ = useConsole();

it("shows what is refused at its field, saves, and takes back", async () => {
  const { gateway } = console_;
  const { page, problems } = await console_.open({ as: "admin" });
  await page.goto("/settings?tab=assistant");
  const field = page.getByLabel("Benchmark: max concurrency");
  await field.fill("999");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").filter({ hasText: "256" }).waitFor();
  await field.fill("33");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Assistant restored for this gateway").waitFor();
  await page.getByText(/Saved by admin/).waitFor();
  const entries = await gateway.must<AuditEntry[]>("GET", "/audit?entity_type=settings&entity_id=assistant&limit=2");
  expect(entries.map(({ detail }) => detail)).toEqual([
    { changed: { bench_max_concurrency: [33, 40] } },
    { changed: { bench_max_concurrency: [40, 33] } },
  ]);
  expect(problems()).toEqual([]);
});

it("does not take back over what somebody else has saved since", async () => {
  const { gateway } = console_;
  const save = async (bench_max_concurrency: number) =>
    await gateway.must("PUT", "/settings/assistant", { bench_max_concurrency });
  onTestFinished(async () => void (await save(40)));
  const { page } = await console_.open({ as: "admin" });
  await page.goto("/settings?tab=assistant");
  await page.getByLabel("Benchmark: max concurrency").fill("34");
  await page.getByRole("button", { name: "Save" }).click();
  const undo = page.getByRole("button", { name: "Undo" });
  await undo.waitFor();
  await save(35);
  await undo.click();
  await page
    .getByRole("region", { name: "Notifications" })
    .getByText(/has changed since it was read/)
    .waitFor();
  expect(await gateway.must<Assistant>("GET", "/settings/assistant")).toMatchObject({ bench_max_concurrency: 35 });
});

it("shows its first tab at an address that names no tab of it", async () => {
  const { page } = await console_.open({ as: "admin" });
  await page.goto("/settings?tab=addons");
  await page.getByRole("tab", { name: "Alerts", selected: true }).waitFor();
});

it("switches tools of the assistant off and on, one by one and by what they are about", async () => {
  const { gateway } = console_;
  const kept = async () => (await gateway.must<Assistant>("GET", "/settings/assistant")).tools_enabled;
  const { page, problems } = await console_.open({ as: "admin" });
  await page.goto("/settings?tab=assistant");
  const tools = page.getByRole("group", { name: "Assistant tools" });
  await tools.locator("summary", { hasText: "Recipes" }).click();
  const all = tools.getByLabel("All of Recipes");
  await all.uncheck();
  await tools.getByLabel("List recipes").check();
  expect(await all.evaluate((input) => (input as HTMLInputElement).indeterminate)).toBe(true);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Assistant saved for this gateway").waitFor();
  const off = await kept();
  expect(Object.keys(off).length).toBeGreaterThan(1);
  expect(Object.keys(off).every((name) => name.includes("recipes"))).toBe(true);
  expect(Object.values(off)).not.toContain(true);
  expect(off).not.toHaveProperty("get_recipes");
  await page.reload();
  await tools
    .locator("summary", { hasText: "Recipes" })
    .getByText(/^1 of \d+ on$/)
    .waitFor();
  await tools.locator("summary", { hasText: "Recipes" }).click();
  await all.check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Assistant saved for this gateway").waitFor();
  expect(await kept()).toEqual({});
  expect(problems()).toEqual([]);
});

it("shows what a backup would change, and restores it only after a word was typed", async () => {
  const { gateway } = console_;
  const tenant = await gateway.must<Tenant>("POST", "/tenants", { name: "restored tenant" });
  const weightNow = async (): Promise<number> => (await gateway.must<Tenant>("GET", `/tenants/${tenant.id}`)).weight;
  const whole = await gateway.must<Backup>("GET", "/backup/export");
  const tenants = whole.data.tenants.filter(({ id }) => id === tenant.id).map((row) => ({ ...row, weight: 77 }));
  const file = JSON.stringify({ ...whole, data: { tenants } });

  const { page, problems } = await console_.open({ as: "admin", width: 390 });
  await page.goto("/settings?tab=backup");
  const choose = async (text: string): Promise<void> =>
    await page.getByLabel("Backup file").setInputFiles({
      name: "backup.json",
      mimeType: "application/json",
      buffer: Buffer.from(text),
    });
  await choose("not JSON");
  await page.getByText("This file is not JSON").waitFor();
  await choose(file);
  await page.getByText("Weight: 100 → 77").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(await sidewaysPixels(page)).toBe(0);
  expect(await weightNow()).toBe(100);

  await page.getByRole("button", { name: "Restore" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.getByRole("button", { name: "Restore" }).isDisabled()).toBe(true);
  await dialog.getByLabel("Confirmation").fill("restore");
  await dialog.getByRole("button", { name: "Restore" }).click();
  await page.getByText("Restored: 0 added, 1 updated.").first().waitFor();
  expect(await weightNow()).toBe(77);
  expect(problems()).toEqual([]);
});

it.each([
  ["alerts", "Send a test alert", /sent\.|failed\.|no channel|not configured|no_channel|channel/i],
  ["energy", "Test the query", /\d+ W in total|energy_|prometheus|must/i],
  ["boons", "Test the compression service", /No compression service is configured|responds with|does not respond/],
  ["jobsched", "Test the connection", /The scheduler (responded|does not respond)|jobsched_/],
  ["retention", /^Delete rows older than \d+ days now$/, /Nothing is older than|older than \d+ days/],
])("the part %s says what came of its test", async (tab, button, words) => {
  // nobody listens there
  const scheduler = { enabled: false, url: "http://127.0.0.1:9", api_version: "v0.0.41", user: "u", token: "t" };
  if (tab === "jobsched") {
    await console_.gateway.must("PUT", "/settings/jobsched", scheduler);
    onTestFinished(async () => {
      // pages of other tests would ask that address, and say that it does not answer
      await console_.gateway.must("PUT", "/settings/jobsched", {
        enabled: false,
        url: "",
        user: "",
        clear_token: true,
      });
    });
  }
  const { page } = await console_.open({ as: "admin" });
  await page.goto(`/settings?tab=${tab}`);
  const answered = page.waitForResponse((response) => /\/(test|compressor|ping|compact)/.test(response.url()));
  await page.getByRole("button", { name: button }).first().click();
  await answered;
  await page.locator("[data-tone]").filter({ hasText: words }).first().waitFor();
});

it("a model that a setting names is tested from the form, also before it is saved", async () => {
  const { gateway, upstream } = console_;
  const { model } = await gateway.mint(upstream.url);
  const { page } = await console_.open({ as: "admin" });
  await page.goto("/settings?tab=routing");
  await page.getByLabel("Classifier model").fill(model.model_name);
  await page.getByRole("button", { name: `Test ${model.model_name}` }).click();
  await page.getByText(`${model.model_name} passed its health check in`).waitFor();
  await page.getByLabel("Classifier model").fill("nobody-has-this");
  await page.getByRole("button", { name: "Test nobody-has-this" }).click();
  await page.getByText("The model nobody-has-this does not exist").waitFor();
});
