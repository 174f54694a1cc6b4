/** What was done on a page is in the audit log field by field, with who did it and from where, on the page and in its file. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useConsole } from "../harness/browser/use-console.ts";

const fixture = useConsole();

it("shows old and new of a change, narrows to an object, and hands out the same as a file", async () => {
  const tenant = await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `audited-${randomUUID()}` });
  const visit = await fixture.open({ as: "admin" });
  const { page, context, url } = visit;
  const answer = await context.request.put(`${url}/api/live/tenants/${tenant.id}`, {
    data: { contact: "<b>new</b>" },
    headers: { origin: url },
  });
  expect(answer.status()).toBe(200);
  await page.goto(`/audit?entity_id=${tenant.id}`);
  const table = page.getByRole("table", { name: "Changes, newest first" });
  const row = table.getByRole("row", { name: /Updated tenant/ });
  await row.getByRole("cell", { name: fixture.admin.email }).waitFor();
  await row.getByRole("cell", { name: "updated tenant" }).click();
  const detail = page.getByRole("complementary", { name: "Change" });
  const change = detail.getByRole("row", { name: "Contact" });
  await change.getByRole("cell", { name: "(empty)" }).waitFor();
  await change.getByRole("cell", { name: "<b>new</b>" }).waitFor();
  const entries = await fixture.gateway.must<readonly AuditEntry[]>("GET", `/audit?entity_id=${tenant.id}`);
  expect(entries.map(({ action, actor }) => [action, actor])).toEqual([
    ["update_tenant", fixture.admin.email],
    ["create_tenant", "admin"],
  ]);
  const { address = "" } = entries[0] ?? {};
  expect(address).toMatch(/^(127\.0\.0\.1|::1)$/);
  await detail.getByText(address).waitFor();
  const href = await page.getByRole("link", { name: "CSV", exact: true }).getAttribute("href");
  const file = await (await context.request.get(`${url}${href}`)).text();
  expect(file.split("\r\n").map((line) => line.split(",")[0])).toEqual([
    "id",
    ...entries.map(({ id }) => String(id)),
    "",
  ]);
  const what = page.getByLabel("What", { exact: true });
  const before = page.url();
  await what.fill("dropped");
  await page.keyboard.press("Escape");
  expect({ value: await what.inputValue(), url: page.url() }).toEqual({ value: "", url: before });
  await what.fill("Create tenant");
  await page.keyboard.press("Enter");
  await row.waitFor({ state: "detached" });
  await table.getByRole("row", { name: /Created tenant/ }).waitFor();
  await table.getByRole("link", { name: tenant.name }).click();
  await page.getByRole("heading", { level: 1, name: tenant.name }).waitFor();
  expect(visit.problems()).toEqual([]);
});
