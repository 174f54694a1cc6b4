/** Long lists of a portal on a phone, and the month at which its statement opens. */
import { expect, it } from "vitest";
import { useConsole } from "../harness/browser/use-console.ts";
import { usersOf } from "../harness/browser/users-of.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
const { modelOf, userWithModel, newKey, call } = usersOf(fixture);

it("cards of a long list on a phone are shown whole", async () => {
  const { page, tenant } = await fixture.open({ as: "user", width: 390 });
  if (tenant === null) throw new Error("a user has a tenant");
  const model = await modelOf(tenant);
  const { secret } = await newKey(tenant, "evaluation of the large models every night");
  await Promise.all(Array.from({ length: 45 }, async () => await call(secret, model)));
  await waitFor(
    async () => await fixture.gateway.requestIds(tenant.id),
    (ids) => ids.length === 45,
  );
  await page.goto("/logs");
  const cards = page.locator("tr[data-index]");
  await cards.nth(8).waitFor();
  const cut = await cards.evaluateAll((rows) =>
    rows.flatMap((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      return [...row.querySelectorAll("td")]
        .map((cell) => cell.getBoundingClientRect())
        .filter((cell) => cell.height > 0 && (cell.top < top || cell.bottom > bottom));
    }),
  );
  expect(cut).toEqual([]);
});

it("a statement opens at this month when nothing was used in the last one", async () => {
  const { visit, tenant, model } = await userWithModel();
  const { secret } = await newKey(tenant, "notebooks");
  const thisMonth = (): string => new Date().toISOString().slice(0, 7);
  const before = thisMonth();
  expect((await call(secret, model)).status).toBe(200);
  await waitFor(
    async () => await fixture.gateway.requestIds(tenant.id),
    (ids) => ids.length === 1,
  );
  const { page } = visit;
  await page.goto("/reports/statement");
  await page.getByRole("table", { name: "By key" }).getByText("notebooks").waitFor();
  expect([before, thisMonth()]).toContain(await page.getByLabel("Month").inputValue());
});
