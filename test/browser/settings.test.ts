/** Settings in a real browser: changes with undo, what is refused, and a restore that is looked at first. */
import { Buffer } from "node:buffer";
import { expect, it } from "vitest";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Backup } from "../../shared/schema/backup.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { accessibilityProblems, sidewaysPixels } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const console_ = useConsole();

it("shows what is refused at its field, saves, and takes back", async () => {
  const { gateway } = console_;
  const { page, problems } = await console_.open({ as: "admin" });
  await page.goto("/settings?tab=assistant");
  const field = page.getByLabel("Benchmark: most requests at once");
  await field.fill("999");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").filter({ hasText: "256" }).waitFor();
  await field.fill("33");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText(/Saved by admin/).waitFor();
  await page.getByText("Assistant of the gateway is as before").waitFor();
  const entries = await gateway.must<AuditEntry[]>("GET", "/audit?entity_type=settings&entity_id=assistant&limit=2");
  expect(entries.map(({ detail }) => detail)).toEqual([
    { changed: { bench_max_concurrency: [33, 40] } },
    { changed: { bench_max_concurrency: [40, 33] } },
  ]);
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
  await choose("no JSON");
  await page.getByText("This file is no JSON").waitFor();
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
  await page.getByText("Restored: 0 added, 1 written.").first().waitFor();
  expect(await weightNow()).toBe(77);
  expect(problems()).toEqual([]);
});
