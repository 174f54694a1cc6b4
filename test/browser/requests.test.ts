/** The list of requests answers why calls failed or were slow: columns, counts over time and by value, views, comparison. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { UsageLogFacets } from "../../shared/schema/log-facets.ts";
import { accessibilityProblems, sidewaysPixels, tabTo } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import type { Minted } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();

/** A tenant with served, refused and failed requests. */
async function traffic(counts: { readonly served: number; readonly refused: number; readonly failed: number }) {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", { health: { checks_enabled: false } });
  const send = async (count: number, body: Readonly<Record<string, unknown>> = {}): Promise<void> => {
    for (let sent = 0; sent < count; sent += 1) await (await gateway.chat(minted, { body })).text();
  };
  await send(counts.served);
  await send(counts.refused, { model: "absent" });
  await gateway.must("PATCH", `/models/${minted.model.id}`, { api_base: "http://127.0.0.1:9/v1" });
  await send(counts.failed);
  await arrived(minted, counts.served + counts.refused + counts.failed);
  return minted;
}
async function arrived({ tenant }: Minted, count: number): Promise<void> {
  await waitFor(
    async () => await fixture.gateway.requestIds(tenant.id),
    (ids) => ids.length === count,
  );
}
const list = (page: Page) => page.getByRole("table", { name: "Requests, newest first" });
const rowsIn = (page: Page) => list(page).locator("tbody tr[data-index]");
const totals = (page: Page) => page.getByRole("region", { name: "Totals" });
const facet = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
const chips = (page: Page) => page.getByRole("list", { name: "Active filters" }).getByRole("listitem");
/** How many pixels of the list are out of sight to the right. */
const overflowOf = async (page: Page): Promise<number> =>
  await page
    .locator("section[aria-label='Requests, newest first']")
    .evaluate((element) => element.scrollWidth - element.clientWidth);
const paramOf = (page: Page, name: string): string | null => new URL(page.url()).searchParams.get(name);

it("why a call failed is found in three clicks, beside a call that was served", { tags: ["check"] }, async () => {
  const { tenant } = await traffic({ served: 2, refused: 1, failed: 1 });
  const { page, problems } = await fixture.open({ as: "admin", width: 1440, height: 900 });
  await page.goto("/logs");
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("link", { name: "Failed requests" }).click();
  await page.waitForURL(({ searchParams }) => searchParams.get("status") === "failed");
  await page.goto("/logs");
  await rowsIn(page).nth(3).waitFor();
  await list(page).getByRole("columnheader", { name: "Tenant" }).waitFor();
  await list(page).getByRole("columnheader", { name: "Key" }).waitFor({ state: "detached" });
  expect({ overflowOfAll: await overflowOf(page) }).toEqual({ overflowOfAll: 0 });
  await page.goto(`/logs?tenant_id=${tenant.id}`);
  await rowsIn(page).nth(3).waitFor();
  await page.getByText("Succeeded 2").waitFor();
  await page.getByText("Refused 1").waitFor();
  await page.getByText("Failed 1").waitFor();
  const overflow = await overflowOf(page);
  const heads = await list(page).getByRole("columnheader").allInnerTexts();
  expect({ overflow, heads: heads.slice(1).map((head) => head.split(",")[0]) }).toEqual({
    overflow: 0,
    heads: ["Time", "Key", "Model", "Status", "Reason", "Wait", "First token", "Total", "Cost"],
  });
  expect(await accessibilityProblems(page)).toEqual([]);

  // the counts of a facet follow the other filters, and not its own
  await facet(page, "Status").getByRole("button", { name: "Failed 1" }).click();
  await chips(page).filter({ hasText: "Status" }).getByText("Failed").waitFor();
  await totals(page).getByText("1 request", { exact: true }).waitFor();
  await facet(page, "Status").getByRole("button", { name: "Succeeded 2" }).waitFor();
  await facet(page, "Model")
    .getByRole("button", { name: /absent/ })
    .waitFor({ state: "detached" });
  await facet(page, "Error code").getByRole("button").first().waitFor();
  await page.getByRole("button", { name: "Remove filter: Status" }).click();
  await totals(page).getByText("4 requests").waitFor();

  // two requests side by side
  await rowsIn(page).first().getByRole("checkbox").check();
  await page.getByText("1 request chosen. Choose another one to compare.").waitFor();
  await rowsIn(page).nth(3).getByRole("checkbox").check();
  const compared = page.getByRole("table", { name: "Compare requests" });
  const status = compared.getByRole("row", { name: /^Status 502 200/ });
  await status.waitFor();
  expect(await status.locator("mark").allInnerTexts()).toEqual(["200"]);
  await page.getByLabel("Only differences").check();
  await compared.getByRole("row", { name: /^Model/ }).waitFor({ state: "detached" });
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.reload();
  await status.waitFor();
  await page.keyboard.press("Escape");
  await compared.waitFor({ state: "detached" });
  expect(problems()).toEqual([]);
});

describe("the histogram", () => {
  it("filters by the window that is dragged over it, and by keys, until its chip is removed", async () => {
    const { tenant } = await traffic({ served: 2, refused: 0, failed: 0 });
    const { page, problems } = await fixture.open({ as: "admin" });
    await page.goto(`/logs?tenant_id=${tenant.id}`);
    await totals(page).getByText("2 requests").waitFor();
    const plot = page.getByRole("slider", { name: "Requests over time" });
    const { x = 0, y = 0, width = 0, height = 0 } = (await plot.boundingBox()) ?? {};
    await page.mouse.move(x + width * 0.2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.5, y + height / 2, { steps: 4 });
    await page.getByText(/ selected$/).waitFor();
    await page.mouse.up();
    await totals(page).getByText("0 requests").waitFor();
    await chips(page).filter({ hasText: "Time window" }).waitFor();
    const dragged = Number(paramOf(page, "to_ms")) - Number(paramOf(page, "from_ms"));
    expect({ isPart: dragged > 5 * 3_600_000 && dragged < 9 * 3_600_000 }).toEqual({ isPart: true });
    await page.getByText("The period is over").waitFor();
    await page.getByRole("button", { name: "Remove filter: Time window" }).click();
    await totals(page).getByText("2 requests").waitFor();

    await tabTo(page, "Requests over time");
    await page.keyboard.press("End");
    await page.keyboard.press("Shift+ArrowLeft");
    await page.keyboard.press("Shift+ArrowLeft");
    await page.getByText(/ selected$/).waitFor();
    await page.keyboard.press("Enter");
    await waitFor(
      async () => Number(paramOf(page, "to_ms")) - Number(paramOf(page, "from_ms")) + 1,
      (lastsMs) => lastsMs === 3 * 15 * 60_000,
    );
    await totals(page).getByText("2 requests").waitFor();
    expect(problems()).toEqual([]);
  });

  it("and the counts are those of one read, which is said when it fails", async () => {
    const { tenant } = await traffic({ served: 1, refused: 0, failed: 0 });
    const { page, requests } = await fixture.open({ as: "admin", colorScheme: "dark", width: 390 });
    await page.route("**/usage/logs/facets*", async (route) => await route.fulfill({ status: 503, body: "{}" }));
    await page.goto(`/logs?tenant_id=${tenant.id}`);
    await rowsIn(page).first().waitFor();
    await page.getByText("Could not load the counts.").waitFor();
    await page.unroute("**/usage/logs/facets*");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("button", { name: "Show counts" }).click();
    await facet(page, "Model").getByRole("button").first().waitFor();
    expect({ sidewaysPx: await sidewaysPixels(page), problems: await accessibilityProblems(page) }).toEqual({
      sidewaysPx: 0,
      problems: [],
    });
    expect(requests.filter((one) => /\/usage\/(series|breakdown|daily)/.test(one))).toEqual([]);
  });
});

it("filters are added, changed and removed as chips; a view is saved, linked and deleted", async () => {
  const { tenant, model } = await traffic({ served: 2, refused: 1, failed: 0 });
  const { page, context, problems } = await fixture.open({ as: "admin" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`/logs?tenant_id=${tenant.id}`);
  await totals(page).getByText("3 requests").waitFor();
  await page.getByText("Now: 0 running, 0 waiting.").waitFor();
  const add = async (name: string): Promise<void> => {
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByRole("button", { name, exact: true }).click();
  };
  await add("Status");
  await page.getByRole("combobox", { name: "Status" }).selectOption("refused");
  await totals(page).getByText("1 request", { exact: true }).waitFor();
  await add("Total");
  await page.getByLabel("Min total time (ms)").fill("600000");
  await page.keyboard.press("Enter");
  await chips(page).filter({ hasText: "at least 10 min" }).waitFor();
  await page.getByText("No requests in this period match the filters.").waitFor();
  await page.getByRole("button", { name: "Remove filter: Total" }).click();
  await chips(page).getByRole("button", { name: "Status Refused" }).click();
  await page.getByRole("combobox", { name: "Status" }).selectOption("success");
  await totals(page).getByText("2 requests").waitFor();

  await page.getByRole("button", { name: "Views" }).click();
  await page.getByText("Nothing saved yet.").waitFor();
  await page.getByLabel("Name of the view").fill("Served");
  await page.keyboard.press("Enter");
  await page.getByText("View Served saved").waitFor();
  await page.getByRole("button", { name: "Copy link to view Served" }).click();
  await page.getByText("Link copied").waitFor();
  const link = await page.evaluate(async () => await navigator.clipboard.readText());
  expect(Object.fromEntries(new URL(link).searchParams)).toEqual({ tenant_id: tenant.id, status: "success" });
  await page.goto("/logs");
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("link", { name: "Served" }).click();
  await totals(page).getByText("2 requests").waitFor();
  await facet(page, "Model").getByRole("button", { name: model.model_name }).waitFor();
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("button", { name: "Delete view Served" }).click();
  await page.getByText("Nothing saved yet.").waitFor();
  expect(problems()).toEqual([]);
});

it("new requests are counted since the list was read, and come with a click", async () => {
  const { gateway } = fixture;
  const minted = await traffic({ served: 0, refused: 1, failed: 0 });
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto(`/logs?tenant_id=${minted.tenant.id}`);
  await rowsIn(page).first().waitFor();
  for (const _ of [1, 2]) await (await gateway.chat(minted, { body: { model: "absent" } })).text();
  await arrived(minted, 3);
  const button = page.getByRole("button", { name: "2 new requests" });
  await button.waitFor();
  expect(await rowsIn(page).count()).toBe(1);
  await button.click();
  await rowsIn(page).nth(2).waitFor();
  await button.waitFor({ state: "detached" });
  expect(problems()).toEqual([]);
});

it("a tenant's person has no count of another tenant, in the page and in its answers", async () => {
  const other = await traffic({ served: 1, refused: 0, failed: 0 });
  const { page, tenant, problems } = await fixture.open({ as: "user" });
  const answer = page.waitForResponse(/usage\/logs\/facets/);
  await page.goto(`/logs?tenant_id=${other.tenant.id}`);
  await page.getByText("No requests").first().waitFor();
  const { facets } = (await (await answer).json()) as UsageLogFacets;
  expect({ tenant: tenant !== null, facets: facets.map(({ facet: name, values }) => [name, values.length]) }).toEqual({
    tenant: true,
    facets: ["status", "model", "key_id", "error_code", "request_type"].map((name) => [name, 0]),
  });
  expect(await page.getByRole("region", { name: "Tenant", exact: true }).count()).toBe(0);
  expect(problems()).toEqual([]);
});
