/** How the console looks and what it opens on: density, the price list, and the summary of a tenant. */
import { expect, it } from "vitest";
import { accessibilityProblems, sidewaysPixels } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();

it("stands closer once it is chosen, and stays so in this browser", async () => {
  const { model } = await fixture.gateway.mint(fixture.upstream.url);
  const { page, problems } = await fixture.open({ as: "admin", colorScheme: "dark" });
  await page.goto(`/models?q=${model.model_name}`);
  const row = page.getByRole("row", { name: model.model_name });
  const height = async (): Promise<number> => (await row.boundingBox())?.height ?? 0;
  await row.waitFor();
  expect(await height()).toBe(37);
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByLabel("Density").selectOption("Compact");
  await waitFor(height, (now) => now === 29);
  await page.reload();
  await row.waitFor();
  expect(await height()).toBe(29);
  expect(await sidewaysPixels(page)).toBe(0);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(problems()).toEqual([]);
});

it("lists what every model costs for a million tokens, and leads to where it is changed", async () => {
  const { model } = await fixture.gateway.mint(fixture.upstream.url, "plain", {
    input_cost_per_token: 1.5e-7,
    cached_input_cost_per_token: 7.5e-8,
    output_cost_per_token: 6e-7,
    batch_price_factor: 0.5,
  });
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto("/models");
  await page.getByRole("link", { name: "Price list" }).click();
  await page.getByRole("heading", { level: 1, name: "Price list" }).waitFor();
  await page.getByLabel("Name or upstream model").fill(model.model_name);
  const row = page.getByRole("row", { name: model.model_name });
  await row.waitFor();
  expect((await row.getByRole("cell").allInnerTexts()).slice(2)).toEqual(["$0.15", "$0.075", "$0.60", "50%"]);
  expect(await accessibilityProblems(page)).toEqual([]);
  await row.getByRole("link", { name: model.model_name }).click();
  const field = page.getByLabel("Input cost (USD per 1M tokens)", { exact: true });
  await field.waitFor();
  expect(await field.inputValue()).toBe("0.15");
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(problems()).toEqual([]);
});

it.each([1440, 390])("leads from the list of parts of a long form to the part, at %s pixels", async (width) => {
  const { model } = await fixture.gateway.mint(fixture.upstream.url);
  const { page, problems } = await fixture.open({ as: "admin", width });
  await page.goto(`/models/${model.id}?tab=edit`);
  const part = page.getByRole("heading", { level: 3, name: "Health" });
  await part.waitFor();
  const inSight = async (): Promise<boolean> =>
    await part.evaluate((element) => {
      const { top, left } = element.getBoundingClientRect();
      return document.elementFromPoint(left + 1, top + 1) === element;
    });
  expect(await inSight()).toBe(false);
  await page.getByRole("navigation", { name: "Parts of the form" }).getByRole("button", { name: "Health" }).click();
  await waitFor(inSight, (isSeen) => isSeen);
  await page.keyboard.press("Tab");
  expect(await page.getByLabel("Checks enabled").evaluate((field) => field === document.activeElement)).toBe(true);
  expect(await sidewaysPixels(page)).toBe(0);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(problems()).toEqual([]);
});

it("opens a tenant on its last failures, each with its request", async () => {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "status=500", { health: { checks_enabled: false }, max_retries: 0 });
  expect((await gateway.chat(minted)).status).toBe(502);
  await waitFor(
    async () => await gateway.requestIds(minted.tenant.id),
    (ids) => ids.length === 1,
  );
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto(`/tenants/${minted.tenant.id}`);
  await page.getByRole("heading", { level: 2, name: "Last failures" }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole("listitem").filter({ hasText: minted.model.model_name }).getByRole("link").click();
  await page.getByRole("complementary", { name: "Request" }).getByText(minted.model.model_name).first().waitFor();
  expect(problems()).toEqual([]);
});
