/** The console by keyboard, and without a network. */
import { randomUUID } from "node:crypto";
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

it("a window keeps the focus, and gives it back to what opened it", async () => {
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto("/tenants");
  const opener = page.getByRole("button", { name: "Create tenant" });
  await opener.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Create a tenant" });
  await dialog.getByLabel("Name", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).and(page.locator(":focus")).waitFor();
  const isOnPage = async (): Promise<boolean> =>
    await page.evaluate(() => document.querySelector("#root")?.contains(document.activeElement) === true);
  const count = await dialog.locator("input, select, textarea, button").count();
  for (let pressed = 0; pressed < count + 2; pressed++) {
    await page.keyboard.press("Tab");
    expect(await isOnPage()).toBe(false);
  }
  // a click beside a form does not take it away
  await page.mouse.click(5, 5);
  await page.keyboard.press("Escape");
  await opener.and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Control+k");
  const search = page.getByRole("dialog", { name: "Search" });
  await search.getByRole("combobox").and(page.locator(":focus")).waitFor();
  await page.mouse.click(5, 5);
  await search.waitFor({ state: "hidden" });
  await opener.and(page.locator(":focus")).waitFor();
  expect(problems()).toEqual([]);
});

it("tabs are walked by arrows and opened by Enter", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url);
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto(`/tenants/${minted.tenant.id}`);
  await page.getByRole("tab", { name: "Overview", selected: true }).focus();
  await page.keyboard.press("ArrowLeft");
  const last = page.getByRole("tab").last();
  await last.and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  const second = page.getByRole("tab").nth(1);
  expect(await second.getAttribute("aria-selected")).toBe("false");
  await page.keyboard.press("Enter");
  await page.getByRole("tab", { selected: true }).and(page.locator(":focus")).waitFor();
  await page.getByRole("tabpanel", { name: (await second.textContent()) ?? "" }).waitFor();
  expect(problems()).toEqual([]);
});

it("toasts are reached by F6 and closed by Esc, which gives the focus back", async () => {
  const { gateway } = fixture;
  const name = `group-${randomUUID()}`;
  await gateway.must("POST", "/fairshare/groups", { name, weight: 120 });
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto("/fairshare");
  await page.getByLabel(`Weight of ${name}`).fill("360");
  await page.getByRole("button", { name: "Set 1 weight" }).click();
  const toast = page.getByRole("article", { name: `Weight of ${name}: 120 → 360` });
  await toast.waitFor();
  await page.getByLabel(`Weight of ${name}`, { exact: true }).focus();
  await page.keyboard.press("F6");
  await page.getByRole("region", { name: "Notifications" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Tab");
  await toast.getByRole("button", { name: "Undo" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await toast.waitFor({ state: "hidden" });
  await page.getByLabel(`Weight of ${name}`, { exact: true }).and(page.locator(":focus")).waitFor();
  expect(problems()).toEqual([]);
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
