/** What the page of a model says about who serves it is what the data plane does. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();

it("shows where requests go before and after an endpoint is saved, and keeps the base URL serving", async () => {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", { health: { checks_enabled: false } });
  const { page, problems } = await fixture.open({ as: "admin" });
  await page.goto(`/models/${minted.model.id}?tab=connection`);
  await page.getByRole("button", { name: "Add endpoint" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("second");
  await dialog.getByLabel("Base URL").fill("http://127.0.0.1:9/v1");
  await dialog.getByText("Used when endpoints are selected randomly.").waitFor();
  await dialog.getByText("100% now, 0% after saving").waitFor();
  await dialog.getByText("0% now, 100% after saving").waitFor();
  await dialog.getByText(`The base URL ${upstream.url} gets no more requests`).waitFor();
  await dialog.getByRole("button", { name: "Add endpoint" }).click();

  const table = page.getByRole("table", { name: "Endpoints" });
  await table.getByRole("row", { name: /second.*100%/ }).waitFor();
  await page.getByText(`The base URL ${upstream.url} gets 0% of the requests.`).waitFor();
  await page.getByText("This tests the base URL, which gets no requests now.").waitFor();
  const broken = await gateway.chat(minted);
  await broken.body?.cancel();
  expect(broken.status).toBe(502);

  await page.getByRole("button", { name: "Add the base URL as the first endpoint" }).click();
  await table.getByRole("row", { name: /base-url.*100%/ }).waitFor();
  await table.getByRole("row", { name: /second.* 0%/ }).waitFor();
  const served = await gateway.chat(minted);
  expect({ status: served.status, ended: (await served.text()).length > 0 }).toEqual({ status: 200, ended: true });
  expect(problems()).toEqual([]);
});

it("opens a model and a tenant on their last day: requests, failures, spend, and what is left", async () => {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", { health: { checks_enabled: false } });
  await gateway.must("PATCH", `/tenants/${minted.tenant.id}`, { budget_tokens: 1_000_000, budget_period: "monthly" });
  expect((await gateway.chat(minted)).status).toBe(200);
  expect((await gateway.chat(minted, { body: { stream: "no" } })).status).toBe(400);
  await waitFor(
    async () => await gateway.requestIds(minted.tenant.id),
    (ids) => ids.length === 2,
  );
  const { page, problems } = await fixture.open({ as: "admin" });
  const tile = (label: string) =>
    page
      .getByRole("main")
      .locator("div")
      .filter({ has: page.getByRole("link", { name: label, exact: true }) })
      .last();
  await page.goto(`/tenants/${minted.tenant.id}`);
  await tile("Requests, 24 h").getByText("2", { exact: true }).waitFor();
  await tile("Requests, 24 h").getByText("1 refused, 0 disconnected", { exact: true }).waitFor();
  await tile("Failed, 24 h").getByText("0", { exact: true }).waitFor();
  await tile("Budget left")
    .getByText(/^(99\.9|100)%$/)
    .waitFor();
  await tile("Running now").getByText("0 waiting").waitFor();
  await page.goto(`/models/${minted.model.id}`);
  await tile("Spend this month").getByText(/^\$\d/).waitFor();
  await tile("Failed, 24 h").getByRole("link").click();
  await page.waitForURL(
    ({ pathname, searchParams }) =>
      pathname === "/logs" &&
      searchParams.get("model") === minted.model.model_name &&
      searchParams.get("status") === "failed",
  );
  expect(problems()).toEqual([]);
});

it("says in the list, on the page and in the portal that a model is in maintenance", async () => {
  const visit = await fixture.open({ as: "user" });
  const model = await fixture.gateway.must<Model>("POST", "/models", {
    model_name: `m-${randomUUID()}`,
    health: { checks_enabled: false, maintenance_until: "2999-01-01T00:00:00Z" },
  });
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/models?q=${model.model_name}&health=maintenance`);
  await page.getByRole("row", { name: model.model_name }).getByText("In maintenance").waitFor();
  await page.goto(`/models/${model.id}?tab=usage`);
  await page.getByText("In maintenance").waitFor();
  await visit.page.goto(`/portal/models?q=${model.model_name}`);
  await visit.page.getByRole("row", { name: model.model_name }).getByText("In maintenance").waitFor();
});

it("says of the keys of a suspended tenant that they do not work", async () => {
  const { tenant } = await fixture.gateway.mint(fixture.upstream.url);
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/keys?tenant_id=${tenant.id}`);
  const row = page.getByRole("table", { name: "Keys" }).locator("tbody tr").first();
  await row.getByText("Active", { exact: true }).waitFor();
  await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/status`, { status: "suspended" });
  await page.reload();
  await row.getByText("Tenant not active").waitFor();
});
