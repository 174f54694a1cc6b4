/** How a list is looked at stands in the address: order and columns are the same after a reload. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const console_ = useConsole();

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
  const heads = async (): Promise<readonly string[]> => await table.getByRole("columnheader").allInnerTexts();
  const order = (wanted: string): Promise<string> => waitFor(letters, (seen) => seen === wanted);

  await order("bca");
  await table.getByRole("button", { name: "Tokens/min" }).click();
  await order("cab");
  await table.getByRole("button", { name: "Name" }).click();
  await table.getByRole("button", { name: "Name" }).click();
  await order("abc");

  await page.getByRole("button", { name: "Columns" }).click();
  const choice = page.locator("[popover]:popover-open");
  await choice.getByLabel("Fairshare group").uncheck();
  await choice.getByLabel("Created").check();
  await page.keyboard.press("Escape");
  const wanted = ["Name", "Status", "Tokens/min", "Budget", "Tokens, 24 h", "Cost, 24 h", "Created", "Change"];
  expect(await heads()).toEqual(wanted);
  await page.reload();
  await order("abc");
  expect(await heads()).toEqual(wanted);
  expect(new URL(page.url()).searchParams.get("sort")).toBe("name");

  await page.getByRole("link", { name: `b ${mark}` }).click();
  await page.getByRole("tab", { name: "Profile" }).waitFor();
  await page.goBack();
  await order("abc");
  expect(await heads()).toEqual(wanted);

  await page.getByRole("button", { name: "Columns" }).click();
  await choice.getByRole("button", { name: "Usual columns and order" }).click();
  await order("bca");
  expect(await heads()).toContain("Fairshare group");
  expect(new URL(page.url()).searchParams.get("q")).toBe(mark);
  expect(problems()).toEqual([]);
});

it.each([
  ["/models", "In / out, 1M tokens"],
  ["/users", "Signs in by"],
  ["/keys", "Prefix"],
  ["/mcp", "Address"],
  ["/deployments", "State"],
  ["/audit", "From"],
  ["/", "State"],
])("%s hides a column, also after a reload", async (path, column) => {
  const { page } = await console_.open({ as: "admin" });
  await page.goto(path);
  await page.getByRole("button", { name: "Columns" }).first().click();
  await page.locator("[popover]:popover-open").getByLabel(column, { exact: true }).uncheck();
  await waitFor(
    () => Promise.resolve(new URL(page.url()).searchParams.get("columns")),
    (columns) => columns !== null,
  );
  await page.reload();
  await page.getByRole("button", { name: "Columns" }).first().click();
  expect(await page.locator("[popover]:popover-open").getByLabel(column, { exact: true }).isChecked()).toBe(false);
});
