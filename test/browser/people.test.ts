/**
 * People get into the console and out of it (docs/rules/users.md): a viewer is invited, a member of two tenants switches, sessions
 * are ended, a group of a provider has a role.
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import type { ShownChannel } from "../../shared/schema/alert-channel.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { User } from "../../shared/schema/user.ts";
import { accessibilityProblems, sidewaysPixels } from "../harness/browser/page-checks.ts";
import { useConsole, type Visit } from "../harness/browser/use-console.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useConsole();
const PHONE_WIDTH = 360;

const newTenant = async () => await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `of-${randomUUID()}` });
const invitationsOf = async (email: string) =>
  (await fixture.gateway.must<{ email: string }[]>("GET", "/invitations?limit=1000")).filter(
    (invitation) => invitation.email === email,
  );
const isFine = async ({ page, problems }: Visit) => ({
  accessibility: await accessibilityProblems(page),
  problems: problems(),
});
/** Names of buttons that change something. */
const WRITES = /^(Add|Create|Edit|Save|Delete|Turn|Mute|Unmute|Acknowledge|Test|Set|Disable|Enable|Suspend|1 hour)/;
const FINE = { accessibility: [], problems: [] };

it("an admin invites a viewer, who signs in, reads, and has nothing that writes", async () => {
  const tenant = await newTenant();
  const email = `${randomUUID()}@example.org`;
  const admin = await fixture.open({ as: "admin" });
  await admin.page.goto("/users");
  await admin.page.getByRole("button", { name: "Invite" }).click();
  const dialog = admin.page.getByRole("dialog");
  await dialog.getByLabel("Email").fill(email);
  await dialog.getByLabel("Role").selectOption("viewer");
  await dialog.getByRole("combobox", { name: "Tenant" }).fill(tenant.name);
  await dialog.getByRole("option", { name: tenant.name }).click();
  await dialog.getByText(tenant.name).waitFor();
  expect(await isFine(admin)).toEqual(FINE);
  await dialog.getByRole("button", { name: "Invite and copy link" }).click();
  await admin.page.getByText(`${email} is invited`).waitFor();
  await admin.page.getByRole("button", { name: `Copy link for ${email}` }).waitFor();
  expect(await isFine(admin)).toEqual(FINE);

  const viewer = await fixture.open();
  await fixture.signInAtProvider(viewer.context, { sub: email, email, name: "Vera", email_verified: true });
  expect(await invitationsOf(email)).toEqual([]);
  await viewer.page.goto("/keys");
  await viewer.page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
  await viewer.page.getByRole("navigation", { name: "Pages" }).getByText("Requests").waitFor();
  expect({
    create: await viewer.page.getByRole("button", { name: "Create key" }).count(),
    playground: await viewer.page.getByRole("link", { name: "Playground" }).count(),
    ...(await isFine(viewer)),
  }).toEqual({ create: 0, playground: 0, ...FINE });
  await viewer.page.goto("/playground");
  await viewer.page.getByText("Your account can only read.").waitFor();
});

it("an invitation of somebody who waits for approval leads to the approval", async () => {
  const { user } = await fixture.open({ as: "pending" });
  const { page } = await fixture.open({ as: "admin" });
  await page.goto("/users");
  await page.getByRole("button", { name: "Invite" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Email").fill(user?.email ?? "");
  await dialog.getByLabel("Role").selectOption("admin");
  await dialog.getByRole("button", { name: "Invite and copy link" }).click();
  await page.getByText(`${user?.email} has signed in already`).waitFor();
  await page
    .getByRole("dialog", { name: user?.email ?? "" })
    .getByRole("button", { name: "Approve" })
    .waitFor();
});

it("an auditor sees every page of admins, and has no button that writes", async () => {
  const visit = await fixture.open({ as: "user" });
  await fixture.gateway.must("PATCH", `/users/${visit.user?.id}`, { role: "auditor" });
  const { page } = visit;
  await page.goto("/users");
  await page.getByRole("table", { name: "People who have signed in" }).waitFor();
  expect(await page.getByRole("button", { name: "Invite" }).count()).toBe(0);
  await page.goto("/settings?tab=backup");
  await page.getByText("Only admins can export and restore a backup").waitFor();
  await page.goto("/tenants");
  await page.getByRole("table", { name: "Tenants" }).waitFor();
  expect({
    create: await page.getByRole("button", { name: "Create tenant" }).count(),
    ...(await isFine(visit)),
  }).toEqual({
    create: 0,
    ...FINE,
  });
});

it("an auditor opens models, tenants, prices and alerts, and has no button that writes there", async () => {
  const { gateway } = fixture;
  const { model, tenant } = await gateway.mint("http://127.0.0.1:9/v1");
  onTestFinished(async () => {
    await gateway.must("DELETE", `/models/${model.id}`);
  });
  for (let failures = 0; failures < 3; failures += 1) await gateway.must("POST", `/models/${model.id}/health/check`);
  const webhook = {
    name: `hook-${randomUUID()}`,
    type: "webhook",
    url: "http://127.0.0.1:9/hook",
    kinds: ["backup_failed"],
  };
  const channel = await gateway.must<ShownChannel>("POST", "/alert-channels", webhook);
  onTestFinished(async () => {
    await gateway.must("DELETE", `/alert-channels/${channel.id}`);
  });
  const visit = await fixture.open({ as: "user" });
  await gateway.must("PATCH", `/users/${visit.user?.id}`, { role: "auditor" });
  const { page } = visit;
  /** An address, and a text that stands there once everything is loaded. */
  const places = [
    [`/models/${model.id}`, "Details"],
    [`/models/${model.id}?tab=connection`, "No API key is set. Requests are sent without one."],
    [`/tenants/${tenant.id}`, "Limits"],
    ["/prices", model.model_name],
    ["/alerts?tab=channels", channel.name],
    [`/alerts?tab=channels&channel=${channel.id}`, "Deliveries"],
    [`/alerts?key=${encodeURIComponent(`model_health_down:${model.model_name}`)}`, "What it means"],
  ] as const;
  for (const [path, loaded] of places) {
    await page.goto(path);
    await page.getByText(loaded, { exact: true }).first().waitFor();
    const writing = (await page.getByRole("button").allTextContents()).filter((name) => WRITES.test(name));
    const secrets = await page.locator("input[type=password]").count();
    expect({ path, writing, secrets }).toEqual({ path, writing: [], secrets: 0 });
  }
  expect(await isFine(visit)).toEqual(FINE);
});

it.each([1280, PHONE_WIDTH])("a member of two tenants switches between them at %i px", async (width) => {
  const visit = await fixture.open({ as: "user", width, colorScheme: "dark" });
  const { page, user, tenant } = visit;
  const other = await newTenant();
  await fixture.gateway.must("PATCH", `/users/${user?.id}`, {
    more_tenants: [{ tenant_id: other.id, role: "viewer" }],
  });
  await page.goto("/keys");
  const choice = page.getByRole("combobox", { name: "Tenant" });
  await choice.waitFor();
  expect(await choice.inputValue()).toBe(tenant?.id);
  await page.getByRole("button", { name: "Create key" }).waitFor();
  expect({ sideways: await sidewaysPixels(page), ...(await isFine(visit)) }).toEqual({ sideways: 0, ...FINE });
  await choice.selectOption(other.name);
  await page.waitForURL(/\/portal/);
  await waitFor(
    async () => await choice.inputValue(),
    (value) => value === other.id,
  );
  await page.goto("/keys");
  await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
  expect(await page.getByRole("button", { name: "Create key" }).count()).toBe(0);
});

it("a person sees the own sessions, and ends the others", async () => {
  const visit = await fixture.open({ as: "user" });
  const { page, user } = visit;
  const elsewhere = await fixture.open();
  const claims = { sub: user?.email.split("@")[0], email: user?.email, name: "Ann", email_verified: true };
  await fixture.signInAtProvider(elsewhere.context, claims);
  await page.goto("/portal");
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("button", { name: "Sessions" }).click();
  const dialog = page.getByRole("dialog", { name: "Your sessions" });
  await dialog.getByText("This session").waitFor();
  expect(await isFine(visit)).toEqual(FINE);
  await dialog.getByRole("button", { name: "End all other sessions" }).click();
  await page.getByText("Sessions ended").waitFor();
  await waitFor(
    async () => (await fixture.gateway.must<object[]>("GET", `/users/${user?.id}/sessions`)).length,
    (count) => count === 1,
  );
});

it("an admin gives a person a second tenant, and takes an invitation back", async () => {
  const [second, { user }] = [await newTenant(), await fixture.open({ as: "user" })];
  const email = `${randomUUID()}@example.org`;
  await fixture.gateway.must("POST", "/invitations", { email, role: "auditor" });
  const visit = await fixture.open({ as: "admin", width: PHONE_WIDTH });
  const { page } = visit;
  await page.goto(`/users?user_id=${user?.id}`);
  const panel = page.getByRole("dialog");
  const further = panel.getByRole("group", { name: "More tenants" });
  await further.getByRole("combobox", { name: "Tenant" }).fill(second.name);
  await further.getByRole("option", { name: second.name }).click();
  await further.getByLabel(`Role in ${second.name}`).selectOption("user");
  await panel.getByRole("button", { name: "Save" }).click();
  await waitFor(
    async () => (await fixture.gateway.must<User>("GET", `/users/${user?.id}`)).more_tenants,
    ([one]) => one?.tenant_id === second.id && one.role === "user",
  );
  expect(await isFine(visit)).toEqual(FINE);
  await page.goto("/users?tab=invitations");
  await page.getByRole("row", { name: email }).getByRole("button", { name: "Revoke" }).click();
  await page
    .getByRole("alertdialog", { name: `Revoke the invitation for ${email}?` })
    .getByRole("button", { name: "Revoke" })
    .click();
  await page.getByText(`Invitation for ${email} revoked`).waitFor();
  expect({ left: await invitationsOf(email), sideways: await sidewaysPixels(page) }).toEqual({ left: [], sideways: 0 });
});

it("an admin gives a group of the provider a role, and its people have it at the next sign-in", async () => {
  const group = `g-${randomUUID()}`;
  const tenant = await newTenant();
  const visit = await fixture.open({ as: "admin" });
  const { page } = visit;
  await page.goto("/users?tab=groups");
  await page.getByRole("button", { name: "Give a role" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Group").fill(group);
  await dialog.getByLabel("Role").selectOption("viewer");
  await dialog.getByRole("combobox", { name: "Tenant" }).fill(tenant.name);
  await dialog.getByRole("option", { name: tenant.name }).click();
  await dialog.getByRole("button", { name: "Give a role" }).click();
  await page.getByText(`Group ${group} has the role`).waitFor();
  expect(await isFine(visit)).toEqual(FINE);
  const person = await fixture.open();
  const [sub, email] = [randomUUID(), `${randomUUID()}@example.org`];
  const claims = { sub, email, name: "Gil", email_verified: true, groups: ["other", group] };
  await fixture.signInAtProvider(person.context, claims);
  const { user } = (await (await person.context.request.get(`${fixture.url}/api/session`)).json()) as { user: User };
  expect(user).toMatchObject({ status: "active", role: "viewer", tenant_id: tenant.id });
  await page.getByRole("button", { name: `Remove the role of group ${group}` }).click();
  await page.getByText(`Group ${group} lost the role`).waitFor();
});

it("a fairshare group is made, renamed and deleted", async () => {
  const name = `g-${randomUUID()}`;
  const visit = await fixture.open({ as: "admin" });
  const { page } = visit;
  await page.goto("/fairshare");
  await page.getByRole("button", { name: "Edit groups" }).click();
  const dialog = page.getByRole("dialog", { name: "Fairshare groups" });
  await dialog.getByLabel("New group").fill(name);
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByRole("button", { name: `Rename group ${name}` }).click();
  await dialog.getByLabel(`New name of group ${name}`).fill(`${name}-b`);
  await dialog.getByRole("button", { name: "Rename", exact: true }).click();
  await page.getByText(`Group ${name} is now ${name}-b`).waitFor();
  expect(await isFine(visit)).toEqual(FINE);
  await dialog.getByRole("button", { name: `Delete group ${name}-b` }).click();
  await page.getByText(`Group ${name}-b deleted`).waitFor();
  const groups = await fixture.gateway.must<{ name: string }[]>("GET", "/fairshare/groups?limit=1000");
  expect(groups.filter((group) => group.name.startsWith(name))).toEqual([]);
});
