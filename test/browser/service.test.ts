/** How requests ended, how fast they were, and what was changed meanwhile. */
import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { accessibilityProblems } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();

/** Requests, refused, failed, left, and the share of failures in a row. */
async function countsIn(table: Locator, name: string): Promise<readonly string[]> {
  const row = table.getByRole("row").filter({ hasText: name });
  await row.waitFor();
  return (await row.getByRole("cell").allTextContents()).slice(1, 6);
}

it("tells refusals from failures, and marks what was changed", { tags: ["check"] }, async () => {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", { health: { checks_enabled: false } });
  const name = minted.model.model_name;
  expect((await gateway.chat(minted)).status).toBe(200);
  const budget = async (budget_tokens: number | null) =>
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { budget_tokens });
  await budget(0);
  expect((await gateway.chat(minted)).status).toBe(403);
  await budget(null);
  await gateway.must("PATCH", `/models/${minted.model.id}`, { api_base: "http://127.0.0.1:9/v1" });
  const failed = await gateway.chat(minted);
  expect({ status: failed.status, ended: (await failed.text()).length > 0 }).toEqual({ status: 502, ended: true });
  await waitFor(
    async () => await gateway.requestIds(minted.tenant.id),
    (ids) => ids.length === 3,
  );
  const { page, problems } = await fixture.open({ as: "admin", width: 1440 });
  await page.goto(`/service?model=${name}&zone=utc`);
  const byModel = page.getByRole("table", { name: "By model" });
  expect(await countsIn(byModel, name)).toEqual(["3", "1", "1", "0", "33.3%"]);
  await page.getByRole("slider", { name: /^Requests per 15 min: / }).waitFor();
  await page
    .getByRole("table", { name: "Changes in this period" })
    .getByRole("row", { name: /Updated model/ })
    .waitFor();
  await page.getByText("A change", { exact: true }).first().waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);

  await page.getByLabel("Group by").selectOption("endpoint");
  const byEndpoint = page.getByRole("table", { name: "By endpoint" });
  // the refused request called none
  expect(await countsIn(byEndpoint, `${name}, own address`)).toEqual(["2", "0", "1", "0", "50%"]);
  await page.getByLabel("Group by").selectOption("model");
  await byModel.getByRole("link", { name: "1", exact: true }).last().click();
  await page.waitForURL(
    ({ pathname, searchParams }) => pathname === "/logs" && searchParams.get("status") === "failed",
  );
  await page.getByRole("region", { name: "Totals" }).getByText("1 failed", { exact: true }).waitFor();
  expect(problems()).toEqual([]);
});
