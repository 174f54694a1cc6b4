/** Approving, disabling and deleting users in the console. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { User } from "../../shared/schema/user.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();

/** A user who waits for approval, as an admin sees them. */
async function pendingUser() {
  const { user } = await fixture.open({ as: "pending" });
  if (user === null) throw new Error("nobody has signed in");
  const { id, email } = user;
  const tenant = await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `of-users-${randomUUID()}` });
  const now = async () => await fixture.gateway.must<User>("GET", `/users/${id}`);
  const { page } = await fixture.open({ as: "admin" });
  await page.goto(`/users?q=${email}`);
  return { id, email, tenant, now, page, panel: page.getByRole("dialog") };
}

it("approves a pending user and undoes it", async () => {
  const { email, tenant, now, page, panel } = await pendingUser();
  await page.getByRole("button", { name: `Approve ${email}` }).click();
  await panel.getByText("A user without a tenant cannot access anything.").waitFor();
  await panel.getByLabel("Role").selectOption("admin");
  await panel.getByText("An admin can access all tenants, keys and settings.").waitFor();
  await panel.getByLabel("Role").selectOption("user");
  await panel.getByRole("combobox", { name: "Tenant" }).fill(tenant.name);
  await panel.getByRole("option", { name: tenant.name }).click();
  await panel.getByRole("button", { name: "Approve" }).click();
  await page.getByText(`${email} approved as user`).waitFor();
  expect(await now()).toMatchObject({ status: "active", role: "user", tenant_id: tenant.id });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText(`${email} is awaiting approval again`).waitFor();
  expect(await now()).toMatchObject({ status: "pending", tenant_id: null });
});

it("warns about a concurrent edit, then disables and deletes a user", async () => {
  const { id, email, tenant, now, page, panel } = await pendingUser();
  await fixture.gateway.must("PATCH", `/users/${id}`, { status: "active", role: "admin" });
  await page.goto(`/users?user_id=${id}`);
  await panel.getByLabel("State").selectOption("disabled");
  await fixture.gateway.must("PATCH", `/users/${id}`, { tenant_id: tenant.id });
  await panel.getByRole("button", { name: "Save" }).click();
  await panel.getByText("Someone else changed this while you were editing").waitFor();
  expect(await now()).toMatchObject({ status: "active" });
  await panel.getByRole("button", { name: "Keep mine" }).click();
  await panel.getByRole("button", { name: "Save" }).click();
  await waitFor(now, ({ status }) => status === "disabled");
  expect(await now()).toMatchObject({ tenant_id: tenant.id, role: "admin" });
  await panel.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText(`${email} deleted`).waitFor();
  await page.goto(`/users?user_id=${id}`);
  await panel.getByText("No such user").waitFor();
});
