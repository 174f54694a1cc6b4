/** How requests ended, how fast they were, and what was changed meanwhile. */
import { expect, it } from "vitest";
import { accessibilityProblems } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();

it("tells refusals from failures, and marks what was changed", { tags: ["check"] }, async () => {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", { health: { checks_enabled: false } });
  const name = minted.model.model_name;
  expect((await gateway.chat(minted)).status).toBe(200);
  expect((await gateway.chat(minted, { body: { stream: "no" } })).status).toBe(400);
  await gateway.must("PATCH", `/models/${minted.model.id}`, { api_base: "http://127.0.0.1:9/v1" });
  await (await gateway.chat(minted)).body?.cancel();
  await waitFor(
    async () => await gateway.requestIds(minted.tenant.id),
    (ids) => ids.length === 3,
  );
  const { page, problems } = await fixture.open({ as: "admin", width: 1440 });
  await page.goto(`/service?model=${name}&zone=utc`);
  const byModel = page.getByRole("table", { name: "By model" });
  await byModel.getByRole("row", { name: new RegExp(`${name}.* 3 1 1 0 33\\.3%`) }).waitFor();
  await page.getByRole("slider", { name: /^Requests: / }).waitFor();
  await page
    .getByRole("table", { name: "Changes in this period" })
    .getByRole("row", { name: /update model/ })
    .waitFor();
  await page.getByText("A change", { exact: true }).first().waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);

  await page.getByLabel("By", { exact: true }).selectOption("endpoint");
  const byEndpoint = page.getByRole("table", { name: "By endpoint" });
  // the refused request called none
  await byEndpoint.getByRole("row", { name: new RegExp(`${name}, own address.* 2 0 1 0 50%`) }).waitFor();
  await page.getByLabel("By", { exact: true }).selectOption("model");
  await byModel.getByRole("link", { name: "1" }).last().click();
  await page.waitForURL(
    ({ pathname, searchParams }) => pathname === "/logs" && searchParams.get("status") === "failed",
  );
  await page.getByRole("region", { name: "Totals" }).getByText("1 failed", { exact: true }).waitFor();
  expect(problems()).toEqual([]);
});
