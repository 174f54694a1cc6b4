/**
 * Names, numbers and clocks that nobody should have: pages show them as what they are, hold their shape, and say what cannot be
 * saved.
 */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { sidewaysPixels } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
const must = async <T = unknown>(method: string, path: string, body?: unknown): Promise<T> =>
  await fixture.gateway.must<T>(method, path, body);
const DAY_MS = 86_400_000;

/** A formula, markup, two directions of writing, an emoji of several parts, and no place to break: as long as a name may be. */
const nameOf = (kind: string): string => {
  const begin = `=HYPERLINK("x") <script>alert(1)</script><img src=x onerror=alert(1)> שלום عربي 👩‍👩‍👧‍👦 ${kind}-${randomUUID()}`;
  return begin + "W".repeat(200 - begin.length);
};
/** Lines, both directions, and as long as a description may be. */
const DESCRIPTION = `first\nsecond\u2028third <b>bold</b> \u202eright to left\u202c ${"M".repeat(1900)}`;

const hostile = { tenant: nameOf("t"), key: nameOf("k"), model: nameOf("m"), endpoint: nameOf("e") };
const ids = { tenant: "", key: "", model: "", endpoint: "", server: "", recipe: "" };

beforeAll(async () => {
  const tenant = await must<Tenant>("POST", "/tenants", {
    name: hostile.tenant,
    description: DESCRIPTION,
    organization: hostile.tenant,
    contact: hostile.tenant,
  });
  const { key } = await must<{ key: { id: string } }>("POST", `/tenants/${tenant.id}/keys`, {
    name: hostile.key,
    description: DESCRIPTION,
  });
  const model = await must<Model>("POST", "/models", {
    model_name: hostile.model,
    description: DESCRIPTION,
    api_base: `http://127.0.0.1:9/${"v".repeat(1000)}`,
    upstream_model: hostile.model,
    input_cost_per_token: 100,
    output_cost_per_token: 5e-324,
    context_window: Number.MAX_SAFE_INTEGER,
    health: { checks_enabled: false },
  });
  const endpoint = await must<{ id: string }>("POST", `/models/${model.id}/endpoints`, {
    name: hostile.endpoint,
    api_base: "http://127.0.0.1:9/v1",
    enabled: false,
  });
  await must("PATCH", `/tenants/${tenant.id}/budget`, {
    budget_tokens: Number.MAX_SAFE_INTEGER,
    budget_cost_usd: 9_007_199,
    budget_period: "lifetime",
  });
  const server = await must<{ id: string }>("POST", "/mcp-servers", {
    name: `s-${randomUUID()}${"s".repeat(20)}`,
    upstream_url: `http://127.0.0.1:9/${"u".repeat(1000)}`,
  });
  const recipe = await must<{ id: string }>("POST", "/recipes", {
    name: nameOf("r"),
    description: DESCRIPTION.replace("\u2028", " "),
    author: "",
    body: { launch_command: "x".repeat(5000) },
  });
  Object.assign(ids, {
    tenant: tenant.id,
    key: key.id,
    model: model.id,
    endpoint: endpoint.id,
    server: server.id,
    recipe: recipe.id,
  });
});

const PLACES: readonly (readonly [name: string, path: () => string, shown: () => string])[] = [
  ["tenants", () => `/tenants?q=${/t-[0-9a-f-]{36}/.exec(hostile.tenant)?.[0]}`, () => hostile.tenant],
  ["a tenant", () => `/tenants/${ids.tenant}`, () => hostile.tenant],
  ["a tenant's budget", () => `/tenants/${ids.tenant}?tab=budget`, () => hostile.tenant],
  ["a tenant's keys", () => `/tenants/${ids.tenant}?tab=keys`, () => hostile.key],
  ["what was changed of a tenant", () => `/tenants/${ids.tenant}?tab=history`, () => hostile.tenant],
  ["keys", () => `/keys?tenant_id=${ids.tenant}`, () => hostile.key],
  ["a key", () => `/keys?key_id=${ids.key}`, () => hostile.key],
  ["models", () => `/models?q=${encodeURIComponent(hostile.model.slice(100))}`, () => hostile.model],
  ["a model", () => `/models/${ids.model}`, () => hostile.model],
  ["an endpoint", () => `/models/${ids.model}?endpoint=${ids.endpoint}`, () => hostile.endpoint],
  ["a server", () => `/mcp?server_id=${ids.server}`, () => "s-"],
  ["a recipe", () => `/deployments?tab=recipes&recipe=${ids.recipe}`, () => "=HYPERLINK"],
  ["a new spec", () => `/deployments/new?model_id=${ids.model}`, () => "HYPERLINK"],
  ["a report", () => `/reports?tenant_id=${ids.tenant}`, () => hostile.tenant.slice(0, 20)],
  ["a statement", () => `/reports/statement?tenant_id=${ids.tenant}`, () => hostile.tenant],
  ["audit", () => `/audit?entity_id=${ids.tenant}`, () => hostile.tenant.slice(0, 20)],
  ["requests of a tenant", () => `/logs?tenant_id=${ids.tenant}`, () => "HYPERLINK"],
];

describe.each([1280, 390])("names, at %d pixels,", (width) => {
  it.each(PLACES)("are text in %s, which keeps its width", async (_, path, shown) => {
    const visit = await fixture.open({ as: "admin", width });
    const { page } = visit;
    const alerts: string[] = [];
    page.on("dialog", (dialog) => {
      alerts.push(dialog.message());
      void dialog.dismiss();
    });
    await page.goto(path());
    await waitFor(
      async () =>
        await page.evaluate(
          (text) =>
            document.body.textContent.includes(text) ||
            Array.from(document.querySelectorAll("input, textarea")).some((one) =>
              (one as HTMLInputElement).value.includes(text),
            ),
          shown(),
        ),
      (isShown) => isShown,
    );
    expect({ alerts, sideways: await sidewaysPixels(page), problems: visit.problems() }).toEqual({
      alerts: [],
      sideways: 0,
      problems: [],
    });
    expect(await page.locator("main script, main img[src=x]").count()).toBe(0);
  });
});

it("a file of a list has no formula of a name", async () => {
  const { page, context, url } = await fixture.open({ as: "admin" });
  await page.goto(`/keys?tenant_id=${ids.tenant}`);
  const href = await page.getByRole("link", { name: "CSV", exact: true }).getAttribute("href");
  const file = await (await context.request.get(`${url}${href}`)).text();
  expect(file).toContain(`"'=HYPERLINK(""x"")`);
  expect(file).not.toMatch(/(^|,|\n)"?=HYPERLINK/);
});

it.each([
  ["9007199254740992", "must be a whole number"],
  ["1e308", "must be a whole number"],
  ["-1", "must be a whole number"],
  ["1.5", "must be a whole number"],
  ["NaN", "must be a whole number"],
  ["１２", "must be a whole number"],
])("a budget of %s tokens is refused at its field, and stays there", async (typed, words) => {
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/tenants/${ids.tenant}?tab=edit`);
  const field = page.getByLabel("Budget in tokens");
  await field.fill(typed);
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText(words).first().waitFor();
  expect(await field.inputValue()).toBe(typed);
  const { budget_tokens } = await must<Tenant>("GET", `/tenants/${ids.tenant}`);
  expect(budget_tokens).toBe(Number.MAX_SAFE_INTEGER);
});

it("a cost beyond what a number can hold is refused at its field", async () => {
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/tenants/${ids.tenant}?tab=edit`);
  await page.getByLabel("Budget in USD").fill("1e400");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("must be a number of at least 0").first().waitFor();
});

describe.each([
  ["a day ahead", DAY_MS],
  ["a day behind", -DAY_MS],
])("a machine whose clock is %s", (_, awayMs) => {
  it("shows the requests of the last 24 hours, and their ages", async () => {
    const { gateway, upstream } = fixture;
    const minted = await gateway.mint(upstream.url);
    await (await gateway.chat(minted)).text();
    await waitFor(
      async () => await gateway.requestIds(minted.tenant.id),
      (found) => found.length === 1,
    );
    const { page } = await fixture.open({ as: "admin" });
    await page.clock.install({ time: Date.now() + awayMs });
    await page.goto(`/logs?tenant_id=${minted.tenant.id}&period=24h`);
    await page.getByRole("table", { name: "Requests, newest first" }).locator("tbody tr").first().waitFor();
    await page.getByRole("region", { name: "Totals" }).getByText("1 request", { exact: true }).waitFor();
    await page.goto(`/keys?tenant_id=${minted.tenant.id}`);
    await page
      .getByRole("row", { name: /(now|\d+ (sec|min) ago)/ })
      .first()
      .waitFor();
    const today = (): string => new Date().toISOString().slice(0, 10);
    const before = today();
    await page.goto(`/reports?tenant_id=${minted.tenant.id}&period=7d&by=day&zone=utc`);
    const href = await page.getByRole("link", { name: "CSV", exact: true }).first().getAttribute("href");
    // the day may have ended while the page was loading
    expect([before, today()]).toContain(new URL(href ?? "", page.url()).searchParams.get("end_day"));
  });
});
