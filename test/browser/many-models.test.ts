/** The console over ten thousand models: no page holds them all. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { rowCount } from "../harness/browser/page-checks.ts";
import { useBrowser } from "../harness/browser/use-console.ts";
import { FILLED_ADMIN, type FilledControl, startFilledControl } from "../harness/filled-control.ts";

const MODELS = 10_000;
const ROWS_MAX = 60;
/** Without the files of the build: the list of models is read whole, a thousand at a time. */
const READS_MAX = 40;

const newContext = useBrowser();
const folder = mkdtempSync(join(tmpdir(), "gateway-many-models-"));
let control: FilledControl;

beforeAll(async () => {
  const fill = { rows: 20_000, days: 2, tenants: 4, keysEach: 1, models: MODELS, endMs: Date.now() };
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

it("the list holds those in sight alone, is put in order, and finds one", async () => {
  const { page } = await open();
  await page.goto("/models");
  await page.getByRole("table", { name: "Models" }).locator("tbody tr[data-index]").first().waitFor();
  await page.getByRole("table", { name: "Models" }).getByRole("button", { name: "Name" }).click();
  await page.getByRole("link", { name: "model-9999", exact: true }).waitFor();
  expect(await rowCount(page)).toBeLessThanOrEqual(ROWS_MAX);
  await page.keyboard.press("/");
  await page.keyboard.type("model-1234");
  await page.getByRole("link", { name: "model-1234", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "model-1234" }).waitFor();
});

it.each(["/reports?by=model&period=7d", "/overview", "/fairshare", "/deployments", "/deployments/new", "/playground"])(
  "%s holds few rows and choices",
  async (path) => {
    const { page, reads } = await open();
    await page.goto(path === "/overview" ? "/" : path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForLoadState("networkidle");
    expect(await rowCount(page)).toBeLessThanOrEqual(ROWS_MAX);
    expect(await page.locator("main option, datalist option").count()).toBeLessThanOrEqual(1000);
    expect(reads.length, reads.join("\n")).toBeLessThanOrEqual(READS_MAX);
  },
);
