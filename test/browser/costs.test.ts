/** What was spent and on what, what the month will cost, and when budgets run out. */
import { describe, expect, it } from "vitest";
import type { MonthSpend } from "../../shared/schema/cost-reads.ts";
import { accessibilityProblems } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
const DAY_MS = 86_400_000;

/** A tenant that has used a fifth of its budget in ten days, by requests of two end users and a tag. */
async function tenantWithBudget() {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", { health: { checks_enabled: false } });
  await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, {
    budget_tokens: 330,
    budget_period: "lifetime",
    budget_started_at: new Date(Date.now() - 10 * DAY_MS).toISOString(),
  });
  for (const user of ["anna", "ben"]) {
    const headers = { "x-gateway-tags": "team=search" };
    expect((await gateway.chat(minted, { body: { user }, headers })).status).toBe(200);
  }
  await waitFor(
    async () => await gateway.must<MonthSpend>("GET", `/costs/months?tenant_id=${minted.tenant.id}`),
    ({ groups }) => (groups[0]?.month_to_date_usd ?? 0) > 0.4,
  );
  return minted;
}

describe("costs", { tags: ["check"] }, () => {
  it("has this month by model, end user, tag and endpoint, with forecast and change of each row", async () => {
    const { tenant, model } = await tenantWithBudget();
    const { page, problems } = await fixture.open({ as: "admin", width: 1440 });
    await page.goto(`/reports?tenant_id=${tenant.id}&by=model&zone=utc`);
    const tile = (label: string) => page.getByRole("main").locator("div").filter({ hasText: label }).last();
    await tile("Month to date").getByText("$0.462", { exact: true }).waitFor();
    await tile("Last month").getByText("$0.00", { exact: true }).waitFor();
    const table = (name: string) => page.getByRole("table", { name });
    await table("By model")
      .getByRole("row", { name: new RegExp(`${model.model_name}.*\\$0\\.462.*new`) })
      .waitFor();
    await page.getByRole("slider", { name: /^Spend: / }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);

    await page.getByLabel("Group by").selectOption("end_user");
    await table("By end user")
      .getByRole("row", { name: /anna.*\$0\.231/ })
      .waitFor();
    await page.getByLabel("Group by").selectOption("tag");
    await page.getByText("Choose a tag").waitFor();
    await page.getByLabel("Tag name").fill("team");
    await page.keyboard.press("Enter");
    await table("By tag")
      .getByRole("row", { name: /search.*\$0\.462/ })
      .waitFor();
    await page.getByLabel("Group by").selectOption("endpoint");
    await table("By endpoint")
      .getByRole("row", { name: new RegExp(`${model.model_name}, own address`) })
      .waitFor();
    expect(problems()).toEqual([]);
  });

  it("says when a budget runs out: on costs, in the list of tenants, on a tenant's page", async () => {
    const { tenant } = await tenantWithBudget();
    const { page, problems } = await fixture.open({ as: "admin" });
    await page.goto("/reports");
    const row = page.getByRole("table", { name: "Budgets" }).getByRole("row", { name: new RegExp(tenant.name) });
    // a fifth since the first request, which counts as a day: the rest lasts four
    expect(await row.textContent()).toMatch(/20%80%66 tokens a day\d+ \w+ \d+ \(in (3|4) days\)/);
    await row.getByRole("link").click();
    await page.getByText(/At 66 tokens a day, the budget runs out on \d+ \w+ \d+ \(in (3|4) days\)\./).waitFor();
    await page.goto(`/tenants?q=${tenant.name}`);
    await page.getByText(/^· runs out \d+ \w+ \d+ \(in (3|4) days\)$/).waitFor();
    expect(problems()).toEqual([]);
  });
});
