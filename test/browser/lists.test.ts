/** How a list is looked at stands in the address: order and columns are the same after a reload. */
import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const console_ = useConsole();

/**
 * Shows or hides columns in the choice that is open, each once the one before has been: the page takes a press over when it is
 * at the next address.
 */
async function toggle(page: Page, ...columns: readonly string[]): Promise<void> {
  for (const column of columns) {
    const box = page.locator("[popover]:popover-open").getByLabel(column, { exact: true });
    const before = await box.isChecked();
    await box.click();
    await waitFor(
      async () => await box.isChecked(),
      (isChecked) => isChecked !== before,
    );
  }
}

it("a list keeps its order and its columns over a reload, and goes back to the usual ones", async () => {
  const { gateway } = console_;
  const mark = randomUUID().slice(0, 8);
  for (const [letter, limit] of [
    ["b", 10],
    ["c", 30],
    ["a", 20],
  ] as const)
    await gateway.must<Tenant>("POST", "/tenants", { name: `${letter} ${mark}`, tokens_per_minute: limit });
  const { page, problems } = await console_.open({ as: "admin" });
  await page.goto(`/tenants?q=${mark}`);
  const table = page.getByRole("table", { name: "Tenants" });
  const letters = async (): Promise<string> =>
    (await table.locator("tbody tr[data-index]").allInnerTexts()).map(([letter]) => letter).join("");
  const heads = async (wanted: (heads: readonly string[]) => boolean): Promise<unknown> =>
    await waitFor(async () => await table.getByRole("columnheader").allInnerTexts(), wanted);
  const order = (wanted: string): Promise<string> => waitFor(letters, (seen) => seen === wanted);

  await order("bca");
  await table.getByRole("button", { name: "Tokens/min" }).click();
  await order("cab");
  await table.getByRole("button", { name: "Name" }).click();
  await order("cba");
  await table.getByRole("button", { name: "Name" }).click();
  await order("abc");

  await page.getByRole("button", { name: "Columns" }).click();
  await toggle(page, "Fairshare group", "Created");
  await page.keyboard.press("Escape");
  const chosen = [
    "Name",
    "State",
    "Tokens/min",
    "Budget",
    "Budget left",
    "Tokens, 24 h",
    "Cost, 24 h",
    "Created",
    "Actions",
  ].join();
  await heads((seen) => seen.join() === chosen);
  await page.reload();
  await order("abc");
  await heads((seen) => seen.join() === chosen);
  expect(new URL(page.url()).searchParams.get("sort")).toBe("name");

  await page.getByRole("link", { name: `b ${mark}` }).click();
  await page.getByRole("tab", { name: "Overview" }).waitFor();
  await page.goBack();
  await order("abc");
  await heads((seen) => seen.join() === chosen);

  await page.getByRole("button", { name: "Columns" }).click();
  await page.locator("[popover]:popover-open").getByRole("button", { name: "Default columns and order" }).click();
  await order("bca");
  await heads((seen) => seen.includes("Fairshare group"));
  expect(new URL(page.url()).searchParams.get("q")).toBe(mark);
  expect(problems()).toEqual([]);
});

it.each([
  ["/models", "In / out per 1M tokens"],
  ["/users", "Signs in with"],
  ["/keys", "Prefix"],
  ["/mcp", "URL"],
  ["/deployments", "State"],
  ["/audit", "From"],
  ["/", "State"],
])("%s hides a column, also after a reload", async (path, column) => {
  const { page } = await console_.open({ as: "admin" });
  await page.goto(path);
  await page.getByRole("button", { name: "Columns" }).first().click();
  await toggle(page, column);
  expect(new URL(page.url()).searchParams.get("columns")).not.toBeNull();
  await page.reload();
  await page.getByRole("button", { name: "Columns" }).first().click();
  expect(await page.locator("[popover]:popover-open").getByLabel(column, { exact: true }).isChecked()).toBe(false);
});

it("columns that are chosen one right after the other are all chosen", async () => {
  const { page } = await console_.open({ as: "admin" });
  await page.goto("/tenants");
  await page.getByRole("button", { name: "Columns" }).click();
  const choice = page.locator("[popover]:popover-open");
  await choice.getByLabel("Created", { exact: true }).waitFor();
  const chosen = await choice.evaluate((box) => {
    const boxes = [...box.querySelectorAll("input")];
    const before = boxes.map((one) => one.checked);
    boxes[1]?.click();
    boxes[2]?.click();
    return { before, after: boxes.map((one) => one.checked) };
  });
  expect(chosen.after).toEqual(chosen.before.map((isChecked, at) => (at === 1 || at === 2 ? !isChecked : isChecked)));
  await page.waitForURL(
    (url) => url.searchParams.get("columns")?.split(",").length === chosen.after.filter(Boolean).length,
  );
});

/** The file that a press stores: its name, and its lines. */
async function stored(page: Page, press: Locator): Promise<{ name: string; lines: readonly string[] }> {
  const [download] = await Promise.all([page.waitForEvent("download"), press.click()]);
  return { name: download.suggestedFilename(), lines: (await text(await download.createReadStream())).split("\r\n") };
}

it("endpoints keep their sorting over a reload and in the CSV, and move in their own order", async () => {
  const { gateway } = console_;
  const model = await gateway.must<Model>("POST", "/models", {
    model_name: `m-${randomUUID()}`,
    api_base: "http://127.0.0.1:9/v1",
    health: { checks_enabled: false },
  });
  for (const [name, weight] of [
    ["=light", 1],
    ["heavy", 9],
    ["middle", 5],
  ] as const)
    await gateway.must("POST", `/models/${model.id}/endpoints`, {
      name,
      weight,
      api_base: `http://127.0.0.1:9/${weight}`,
      enabled: false,
    });
  const { page, problems } = await console_.open({ as: "admin" });
  await page.goto(`/models/${model.id}?tab=connection`);
  const table = page.getByRole("table", { name: "Endpoints" });
  const weights = async (): Promise<readonly string[]> =>
    await table.locator("tbody tr[data-index] td:nth-child(6)").allInnerTexts();
  await table.getByRole("button", { name: "Weight" }).click();
  await waitFor(weights, (seen) => seen.join() === "9,5,1");
  await page.getByRole("button", { name: "Columns: Endpoints" }).click();
  await toggle(page, "Last check");
  await page.keyboard.press("Escape");
  await page.reload();
  await waitFor(weights, (seen) => seen.join() === "9,5,1");
  expect(await table.getByRole("button", { name: /can only be moved in the default sort order/ }).count()).toBe(3);
  const { lines } = await stored(page, page.getByRole("button", { name: "CSV: Endpoints" }));
  expect(lines.map((line) => line.split(",").slice(0, 2).join())).toEqual([
    "Endpoint,Base URL",
    "heavy,http://127.0.0.1:9/9",
    "middle,http://127.0.0.1:9/5",
    "'=light,http://127.0.0.1:9/1",
    "",
  ]);
  expect(lines[0]).not.toContain("Last check");
  await page.getByRole("button", { name: "Columns: Endpoints" }).click();
  await page.locator("[popover]:popover-open").getByRole("button", { name: "Default columns and order" }).click();
  await table
    .getByRole("button", { name: /up and down arrow/ })
    .first()
    .waitFor();
  expect(problems()).toEqual([]);
});

it.each([
  ["/", "CSV", "cells.csv", "Cell,State"],
  ["/fairshare", "CSV: Models", "models.csv", "Model,"],
  ["/fairshare", "CSV: Waiting", "waiting.csv", "Tenant,"],
  ["/assistant?tab=benchmark", "CSV", "benchmarks.csv", "Model,"],
])("at %s the button %s stores rows as they are shown", async (path, press, file, heads) => {
  const { page, problems } = await console_.open({ as: "admin" });
  await page.goto(path);
  const { name, lines } = await stored(page, page.getByRole("button", { name: press, exact: true }));
  expect(name).toBe(file);
  expect(lines[0]).toContain(heads);
  expect(problems()).toEqual([]);
});

it("what was changed of an object has its columns in the address and its CSV", async () => {
  const { id, name } = await console_.gateway.must<Tenant>("POST", "/tenants", { name: `t ${randomUUID()}` });
  const { page, problems } = await console_.open({ as: "admin" });
  await page.goto(`/tenants/${id}?tab=history`);
  const table = page.getByRole("table", { name: "Activity" });
  await table.getByRole("columnheader", { name: "Who" }).waitFor();
  await page.getByRole("button", { name: "Columns: Activity" }).click();
  await toggle(page, "Who");
  await page.keyboard.press("Escape");
  await page.reload();
  await table.getByRole("columnheader", { name: "Time" }).waitFor();
  expect(await table.getByRole("columnheader", { name: "Who" }).count()).toBe(0);
  const { lines } = await stored(page, page.getByRole("link", { name: "CSV", exact: true }));
  expect(lines[0]).toContain("entity_id");
  expect(lines.slice(1).every((line) => line === "" || line.includes(id))).toBe(true);
  expect(lines.join()).toContain(name);
  expect(problems()).toEqual([]);
});
