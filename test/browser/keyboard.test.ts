/** The console by keyboard, and without a network. */
import { expect, it } from "vitest";
import { tabTo } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();

it("rows are reached by Tab, walked by arrows and opened by Enter", async () => {
  const { gateway } = fixture;
  const minted = await gateway.mint(fixture.upstream.url);
  for (const _ of [1, 2]) await (await gateway.chat(minted)).text();
  const [newest, older] = await waitFor(
    async () => await gateway.requestIds(minted.tenant.id),
    (ids) => ids.length === 2,
  );
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto(`/logs?tenant_id=${minted.tenant.id}`);
  await page.getByRole("row", { name: minted.model.model_name }).nth(1).waitFor();
  await tabTo(page, "Requests, newest first");
  await page.keyboard.press("Tab");
  await page.locator("tr[data-index='0']:focus").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("open") === older);
  await page.keyboard.press("ArrowUp");
  await page.waitForURL((url) => url.searchParams.get("open") === newest);
  expect(problems()).toEqual([]);
});

it("single-key shortcuts can be turned off, and stay off", async () => {
  const { page } = await fixture.open({ as: "admin" });
  await page.goto("/tenants");
  const filter = page.getByRole("searchbox").or(page.locator("[data-page-filter]")).first();
  await filter.waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByLabel("Single-key shortcuts").uncheck();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  const isFocused = async (): Promise<boolean> => await filter.evaluate((input) => input === document.activeElement);
  await page.keyboard.press("/");
  expect(await isFocused()).toBe(false);
  await page.reload();
  await filter.waitFor();
  await page.keyboard.press("/");
  expect(await isFocused()).toBe(false);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
});

it("a page that was never loaded says offline that it could not be, and the console stays", async () => {
  const { page, context } = await fixture.open({ as: "admin" });
  await page.goto("/tenants");
  await page.getByRole("heading", { level: 1, name: "Tenants" }).waitFor();
  await context.setOffline(true);
  await page.getByRole("navigation").getByRole("link", { name: "MCP servers" }).click();
  await page.getByText("Could not load this page. Check your connection").waitFor();
  await page.getByRole("navigation").getByRole("link", { name: "Tenants" }).click();
  await page.getByRole("heading", { level: 1, name: "Tenants" }).waitFor();
});
