/** The accountant's test: what a report shows is what its file and the API say, by any clock; and what goes to paper. */
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import type { DailyUsage } from "../../shared/schema/usage-reads.ts";
import { dayIn } from "../../shared/time/zone-days.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
const NANO = 1e9;

/** A tenant of Kolkata with requests of a model that has a price. */
async function tenantInUse() {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", {
    input_cost_per_token: 0.000_000_123,
    output_cost_per_token: 0.000_004_567,
  });
  await gateway.must("PUT", `/tenants/${minted.tenant.id}`, { timezone: "Asia/Kolkata" });
  for (let sent = 0; sent < 3; sent += 1) await (await gateway.chat(minted)).text();
  await waitFor(
    async () => await gateway.requestIds(minted.tenant.id),
    (ids) => ids.length === 3,
  );
  return minted;
}

/** The cells of the last line of a table, which has the sums. */
const footOf = async (page: Page, name: string) =>
  await page.getByRole("table", { name }).locator("tfoot td").allTextContents();
/** Amounts with all of their decimals, which a cell shows on hover when its text has fewer. */
const exactIn = async (cells: Locator): Promise<readonly string[]> =>
  await cells.evaluateAll((found) =>
    found.map((cell) => cell.querySelector("[title]")?.getAttribute("title") ?? cell.textContent ?? ""),
  );
const nanoOf = (usd: string) => Math.round(Number(usd.replace(/[$,]/g, "")) * NANO);
const sumOf = (costs: readonly number[]) => costs.reduce((sum, usd) => sum + Math.round(usd * NANO), 0);

it("has the sums of its rows, its file and the API in the tenant's zone, the browser's and UTC", async () => {
  const { tenant } = await tenantInUse();
  const visit = await fixture.open({ as: "admin", timezoneId: "America/Los_Angeles" });
  const { page, context, url } = visit;
  for (const [choice, zone] of [
    ["tenant", "Asia/Kolkata"],
    ["browser", "America/Los_Angeles"],
    ["utc", "UTC"],
  ] as const) {
    const today = dayIn(zone, Date.now());
    await page.goto(`/reports?tenant_id=${tenant.id}&by=model&period=7d&zone=${choice}`);
    await page.getByText(new RegExp(`\\d{4} \\(${zone}`)).waitFor();
    const table = page.getByRole("table", { name: "By model" });
    await table.locator("tfoot").waitFor();
    const foot = await footOf(page, "By model");
    const href = (await page.getByRole("link", { name: "CSV", exact: true }).getAttribute("href")) ?? "";
    const asked = new URL(href, url).searchParams;
    expect({ timezone: asked.get("timezone"), tenant_id: asked.get("tenant_id") }).toEqual({
      timezone: zone,
      tenant_id: tenant.id,
    });
    // the day may have ended while the page was loading
    expect([today, dayIn(zone, Date.now())]).toContain(asked.get("end_day"));
    const [head = "", ...lines] = (await (await context.request.get(`${url}${href}`)).text()).trimEnd().split("\r\n");
    const at = head.split(",").indexOf("cost_usd");
    const inFile = sumOf(lines.map((line) => Number(line.split(",")[at])));
    asked.delete("format");
    const rows = await fixture.gateway.must<readonly DailyUsage[]>("GET", `/usage/daily?${asked.toString()}`);
    const inApi = sumOf(rows.map(({ cost_usd }) => cost_usd));
    const shown = await exactIn(table.locator("tbody tr td:nth-child(2)"));
    const [sum = ""] = await exactIn(table.locator("tfoot td:nth-child(2)"));
    expect({
      requests: foot[4],
      footNanoUsd: nanoOf(sum),
      shownNanoUsd: shown.reduce((sum, cost) => sum + nanoOf(cost), 0),
      inFile,
    }).toEqual({ requests: "3", footNanoUsd: inApi, shownNanoUsd: inApi, inFile: inApi });
    expect(inApi).toBeGreaterThan(0);
  }
  // what was not measured is not 0
  await page.goto(`/reports?tenant_id=${tenant.id}&by=model&period=7d&columns=name,energyWh`);
  await page.getByRole("table", { name: "By model" }).locator("tfoot").waitFor();
  expect((await footOf(page, "By model"))[1]).toBe("–");
  expect(visit.problems()).toEqual([]);
});

it("says that use without a price has none, which $0.00 would deny", async () => {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", { input_cost_per_token: 0, output_cost_per_token: 0 });
  await (await gateway.chat(minted)).text();
  await waitFor(
    async () => await gateway.must<readonly object[]>("GET", `/usage/breakdown?model=${minted.model.model_name}`),
    (rows) => rows.length === 1,
  );
  const { page } = await fixture.open({ as: "admin" });
  for (const [path, table] of [
    [`/models/${minted.model.id}?tab=usage`, "By key"],
    [`/tenants/${minted.tenant.id}?tab=usage`, "By model"],
    [`/reports?tenant_id=${minted.tenant.id}&by=key`, "By key"],
  ] as const) {
    await page.goto(path);
    const cell = page.getByRole("table", { name: table }).locator("tbody").getByText("no price", { exact: true });
    await cell.waitFor();
    expect(await cell.getAttribute("title")).toMatch(/^No price is set/);
  }
});

it("takes own days and a month that are typed by keys", async () => {
  const { tenant } = await fixture.gateway.mint(fixture.upstream.url, "plain");
  const { page, problems } = await fixture.open({ as: "admin" });
  const search = () => new URL(page.url()).searchParams;
  await page.goto(`/reports?tenant_id=${tenant.id}&zone=utc`);
  await page.getByLabel("Period").selectOption("custom");
  await page.getByLabel("First day").focus();
  await page.keyboard.type("11022026");
  await page.getByLabel("Last day").focus();
  await page.keyboard.type("11082026");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("period") === "2026-11-02..2026-11-08");
  await page.reload();
  expect(await page.getByLabel("First day").inputValue()).toBe("2026-11-02");
  expect(await page.getByLabel("Last day").inputValue()).toBe("2026-11-08");

  await page.getByRole("link", { name: "Monthly statement" }).click();
  await page.getByLabel("Month").focus();
  await page.keyboard.type("September2026");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("month") === "2026-09");
  expect(search().get("tenant_id")).toBe(tenant.id);
  expect(problems()).toEqual([]);
});

it("opens an admin's statement at a tenant with usage, before one is chosen", async () => {
  await tenantInUse();
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto("/reports/statement");
  await page.getByRole("table", { name: "By model" }).getByRole("row").nth(1).waitFor();
  await page.getByRole("button", { name: "Print" }).waitFor();
  expect(problems()).toEqual([]);
});

it("puts a tenant's month on paper without the page around it, by the tenant's own clock", async () => {
  const { tenant, model } = await tenantInUse();
  const visit = await fixture.open({ as: "admin", colorScheme: "dark" });
  const { page } = visit;
  const months = (await fixture.gateway.allRows(tenant.id)).map(({ ts_ms }) =>
    dayIn("Asia/Kolkata", ts_ms).slice(0, 7),
  );
  const [month] = months;
  await page.goto(`/reports/statement?tenant_id=${tenant.id}&month=${month}`);
  await page.getByRole("heading", { level: 1, name: tenant.name }).waitFor();
  await page.getByText("Asia/Kolkata (UTC+05:30)").waitFor();
  await page.getByRole("table", { name: "By model" }).getByRole("cell", { name: model.model_name }).waitFor();
  const [byModel, byKey] = [await footOf(page, "By model"), await footOf(page, "By key")];
  // a month may have ended between two requests
  const count = months.filter((one) => one === month).length;
  expect({ figures: byModel.slice(1, 7), requests: byModel[1] }).toEqual({
    figures: byKey.slice(1, 7),
    requests: String(count),
  });
  await page.emulateMedia({ media: "print" });
  for (const part of [
    page.getByRole("navigation"),
    page.getByRole("search"),
    page.getByRole("button", { name: "Print" }),
  ])
    expect(await part.isVisible()).toBe(false);
  expect(await page.getByRole("table", { name: "By key" }).isVisible()).toBe(true);
  const paper = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
  expect(paper).toContain("/Count 1\n");
  expect(visit.problems()).toEqual([]);
});
