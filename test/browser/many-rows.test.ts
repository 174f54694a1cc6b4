/**
 * The console over ten thousand tenants and a million requests: lists hold what is in sight alone, and open with few requests.
 * How long they take is in the bench of reads, not here.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UsageLogTotals } from "../../shared/schema/usage.ts";
import { rowCount } from "../harness/browser/page-checks.ts";
import { useBrowser } from "../harness/browser/use-console.ts";
import { FILLED_ADMIN, type FilledControl, startFilledControl } from "../harness/filled-control.ts";
import { waitFor } from "../harness/wait-for.ts";

const TENANTS = 10_000;
const REQUESTS = 1_000_000;
/** Without the files of the build. */
const READS_MAX = 12;
const ROWS_MAX = 60;

const newContext = useBrowser();
const folder = mkdtempSync(join(tmpdir(), "gateway-many-rows-"));
let control: FilledControl;

beforeAll(async () => {
  const fill = { rows: REQUESTS, days: 7, tenants: TENANTS, keysEach: 1, models: 8, endMs: Date.now() };
  control = await startFilledControl(folder, fill);
});
afterAll(async () => {
  await control.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(): Promise<{ readonly page: Page; readonly reads: readonly string[] }> {
  const { consoleUrl } = control;
  const context = await newContext({ baseURL: consoleUrl });
  const headers = { origin: consoleUrl };
  expect((await context.request.post(`${consoleUrl}/auth/local`, { data: FILLED_ADMIN, headers })).status()).toBe(200);
  const page = await context.newPage();
  const reads: string[] = [];
  page.on("request", (request) => {
    if (/\/api\//.test(request.url())) reads.push(request.url());
  });
  return { page, reads };
}
const rowsIn = (page: Page, table: string) => page.getByRole("table", { name: table }).locator("tbody tr[data-index]");

/** Scrolls down until a row with this number has been there; the document never holds more rows than are in sight. */
async function scrollTo(page: Page, table: string, row: number): Promise<void> {
  const box = page.locator(`section[aria-label="${table}"]`);
  await waitFor(
    async () => {
      expect(await rowCount(page)).toBeLessThanOrEqual(ROWS_MAX);
      await box.evaluate((element) => element.scrollBy(0, element.clientHeight));
      return Number(await rowsIn(page, table).last().getAttribute("data-index"));
    },
    (last) => last >= row,
  );
}

describe("over ten thousand tenants and a million requests", () => {
  it("the list of tenants opens with few reads, continues as it is scrolled, and finds one", async () => {
    const { page, reads } = await open();
    await page.goto("/tenants");
    await rowsIn(page, "Tenants").first().waitFor();
    expect(reads.length, reads.join("\n")).toBeLessThanOrEqual(READS_MAX);
    await scrollTo(page, "Tenants", 300);
    await page.keyboard.press("/");
    await page.keyboard.type("tenant 9876");
    await waitFor(
      async () => await rowsIn(page, "Tenants").count(),
      (count) => count === 1,
    );
    await page.getByRole("link", { name: "tenant 9876" }).waitFor();
  });

  it("the list of requests sums all of them, and continues as it is scrolled", async () => {
    const { page, reads } = await open();
    await page.goto("/logs?period=30d");
    const list = "Requests, newest first";
    await rowsIn(page, list).first().waitFor();
    expect(reads.length, reads.join("\n")).toBeLessThanOrEqual(READS_MAX);
    const { body } = await control.get("/usage/logs/totals?since_ms=0");
    const { requests } = body as UsageLogTotals;
    expect(requests).toBeGreaterThan(REQUESTS / 2);
    const sum = `${requests.toLocaleString("en-US")} requests`;
    await page.getByRole("region", { name: "Totals" }).getByText(sum).waitFor();
    await scrollTo(page, list, 300);
  });

  it("the list of keys holds those in sight alone", async () => {
    const { page, reads } = await open();
    await page.goto("/keys");
    await rowsIn(page, "Keys").first().waitFor();
    expect(reads.length, reads.join("\n")).toBeLessThanOrEqual(READS_MAX);
    await scrollTo(page, "Keys", 300);
  });
});
