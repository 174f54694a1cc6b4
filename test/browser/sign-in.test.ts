/** Who gets into the console in a real browser, and by which ways nobody does (docs/rules/console.md). */
import { randomUUID } from "node:crypto";
import type { APIResponse, BrowserContext } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { User } from "../../shared/schema/user.ts";
import { PROVIDER } from "../harness/browser/browser-setup.ts";
import { tabTo } from "../harness/browser/page-checks.ts";
import { useConsole } from "../harness/browser/use-console.ts";
import { PERSON_HEADER } from "../harness/sign-in-provider.ts";

const fixture = useConsole();
const { url, admin } = fixture;

interface SessionAnswer {
  readonly user: User | null;
}
const sessionOf = async (context: BrowserContext): Promise<User | null> =>
  ((await (await context.request.get(`${url}/api/session`)).json()) as SessionAnswer).user;

const newPerson = () => {
  const sub = `person-${randomUUID()}`;
  return { sub, email: `${sub}@example.org`, name: "Ann", email_verified: true };
};
const as = (claims: Readonly<Record<string, unknown>>) => ({ [PERSON_HEADER]: JSON.stringify(claims) });

/** The address to which the provider sends this browser back; it has not been there yet. */
async function callbackOf(context: BrowserContext, claims: Readonly<Record<string, unknown>>): Promise<URL> {
  const go = async (address: string, headers = {}): Promise<APIResponse> =>
    await context.request.get(address, { headers, maxRedirects: 0 });
  const departure = await go(`${url}/auth/oidc/${PROVIDER.id}?return_to=/`);
  const back = await go(departure.headers()["location"] ?? "", as(claims));
  return new URL(back.headers()["location"] ?? "");
}

describe("signing in", () => {
  it("as the admin takes a keyboard and nothing else", async () => {
    const { page, context, problems } = await fixture.open();
    await page.goto("/sign-in");
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await tabTo(page, "Email");
    await page.keyboard.type(admin.email);
    await tabTo(page, "Password");
    await page.keyboard.type(admin.password);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${url}/`);
    expect(await sessionOf(context)).toMatchObject({ role: "admin", email: admin.email });
    expect(await page.evaluate(() => document.cookie)).toBe("");
    expect(problems()).toEqual([]);
  });

  it("leads to the page that was asked for", async () => {
    const { page } = await fixture.open();
    await page.goto("/tenants?q=x");
    await page.getByLabel("Email").fill(admin.email);
    await page.getByLabel("Password").fill(admin.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL(`${url}/tenants?q=x`);
  });

  it("at a provider waits for approval, and continues when it comes", async () => {
    const { page, context, problems } = await fixture.open();
    const person = newPerson();
    await context.setExtraHTTPHeaders(as(person));
    await page.goto("/sign-in");
    await page.getByRole("link", { name: `Sign in with ${PROVIDER.name}` }).click();
    const told = page.getByRole("heading", { name: "Your account is awaiting approval" });
    await told.waitFor();
    // in one line: nothing stands beside it
    expect((await told.boundingBox())?.height).toBeLessThan(40);
    const user = await sessionOf(context);
    expect(user).toMatchObject({ email: person.email, role: "user", status: "pending" });
    const tenant = await fixture.gateway.must<{ id: string }>("POST", "/tenants", { name: person.sub });
    await fixture.gateway.must("PATCH", `/users/${user?.id}`, { status: "active", tenant_id: tenant.id });
    await page.reload();
    await page.getByRole("navigation").first().waitFor();
    expect(problems()).toEqual([]);
  });

  it.each<[string, (callback: URL) => Record<string, unknown>, (callback: URL) => void]>([
    ["another state", () => ({}), (callback) => callback.searchParams.set("state", "x")],
    ["no state", () => ({}), (callback) => callback.searchParams.delete("state")],
    ["another code", () => ({}), (callback) => callback.searchParams.set("code", randomUUID())],
    ["another nonce", () => ({ nonce: "x" }), () => undefined],
    ["another audience", () => ({ aud: "someone else" }), () => undefined],
    ["another issuer", () => ({ iss: "https://other.example" }), () => undefined],
    ["an email that is not verified", () => ({ email_verified: false }), () => undefined],
  ])("at a provider fails with %s, and says so", async (_, claims, change) => {
    const { page, context } = await fixture.open();
    const callback = await callbackOf(context, { ...newPerson(), ...claims(new URL(url)) });
    change(callback);
    await page.goto(callback.href);
    const isUnverified = claims(new URL(url))["email_verified"] === false;
    const reason = isUnverified ? "email_not_verified" : "sign_in_failed";
    expect(new URL(page.url()).searchParams.get("error")).toBe(reason);
    await page.getByRole("alert").waitFor();
    expect(await sessionOf(context)).toBeNull();
  });

  it("at a provider works once for one answer, and in the browser that began it alone", async () => {
    const first = await fixture.open();
    const callback = await callbackOf(first.context, newPerson());
    const thief = await fixture.open();
    await thief.page.goto(callback.href);
    expect(thief.page.url()).toContain("error=sign_in_expired");
    await first.page.goto(callback.href);
    expect(await sessionOf(first.context)).not.toBeNull();
    await first.page.goto(callback.href);
    expect(first.page.url()).toContain("error=sign_in_expired");
  });

  it("at a provider with somebody else's email is refused, and changes neither account", async () => {
    const owner = await fixture.open({ as: "user" });
    const { page, context } = await fixture.open();
    await context.setExtraHTTPHeaders(as({ ...newPerson(), email: owner.user?.email.toUpperCase() }));
    await page.goto(`/auth/oidc/${PROVIDER.id}`);
    expect(page.url()).toContain("error=email_taken");
    await page.getByRole("alert").waitFor();
    expect(await sessionOf(context)).toBeNull();
    expect(await sessionOf(owner.context)).toMatchObject({ id: owner.user?.id, status: "active" });
  });
});

describe("a session", () => {
  it("reaches nothing more once its user is disabled, and the page says why", async () => {
    const { page, context, user } = await fixture.open({ as: "user" });
    await page.goto("/");
    await page.getByRole("navigation").first().waitFor();
    await fixture.gateway.must("PATCH", `/users/${user?.id}`, { status: "disabled" });
    expect((await context.request.get(`${url}/api/live/keys`)).status()).toBe(403);
    // The open page may move to another address at any moment, which would interrupt a reload.
    const another = await context.newPage();
    await another.goto("/");
    await another.getByRole("heading", { name: "Your account is disabled" }).waitFor();
  });

  it("is over in every tab once it was ended in one", async () => {
    const { page, context } = await fixture.open({ as: "admin" });
    await page.goto("/");
    await page.getByRole("navigation").first().waitFor();
    const other = await context.newPage();
    await other.goto("/");
    await other.getByRole("button", { name: "Account" }).click();
    await other.getByRole("button", { name: "Sign out" }).click();
    await other.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  });

  it.each(["admin", "user"] as const)(
    "of a person who was %s, and moved on, starts over with nothing of before",
    async (role) => {
      const { gateway } = fixture;
      const { page, tenant, user } = await fixture.open({ as: "user" });
      await gateway.must("POST", `/tenants/${tenant?.id}/keys`, { name: "read-before" });
      await gateway.must("PATCH", `/users/${user?.id}`, { role });
      const next = await gateway.must<Tenant>("POST", "/tenants", { name: `next-${randomUUID()}` });
      await page.clock.install();
      await page.goto(`/keys?q=read-before`);
      await page.getByRole("cell", { name: "read-before" }).first().waitFor();
      await page.evaluate(() => Object.assign(globalThis, { isFirst: true }));
      await gateway.must("PATCH", `/users/${user?.id}`, { role: "user", tenant_id: next.id });
      await page.clock.fastForward(61_000);
      await page.waitForFunction(() => !("isFirst" in globalThis));
      await page.getByRole("heading", { level: 1, name: next.name }).waitFor();
      expect(await page.content()).not.toContain("read-before");
    },
  );

  it("of a person who changed tenant starts over at the next read; going back shows nothing old", async () => {
    const { gateway } = fixture;
    const { page, tenant, user } = await fixture.open({ as: "user" });
    await gateway.must("POST", `/tenants/${tenant?.id}/keys`, { name: "read-before" });
    await page.goto("/keys?q=read-before");
    await page.getByRole("cell", { name: "read-before" }).first().waitFor();
    await page.evaluate(() => Object.assign(globalThis, { isFirst: true }));
    const next = await gateway.must<Tenant>("POST", "/tenants", { name: `next-${randomUUID()}` });
    await gateway.must("PATCH", `/users/${user?.id}`, { tenant_id: next.id });
    await page.getByRole("link", { name: "Models", exact: true }).first().click();
    await page.waitForFunction(() => !("isFirst" in globalThis));
    await page.getByRole("heading", { level: 1, name: next.name }).waitFor();
    expect(await page.content()).not.toContain("read-before");
    await page.goBack();
    await page.goBack();
    await page.waitForLoadState("networkidle");
    // Its address says what was looked for; the key is of a tenant that is not the person's.
    expect(await page.evaluate(() => "isFirst" in globalThis)).toBe(false);
    expect(await page.getByRole("cell", { name: "read-before" }).count()).toBe(0);
  });

  it("of another person starts over, with nothing of the one before", async () => {
    const { page, context } = await fixture.open({ as: "admin" });
    await page.clock.install();
    await page.goto("/tenants?q=typed-by-the-admin");
    await page.getByRole("heading", { level: 1, name: "Tenants" }).waitFor();
    await fixture.signInAtProvider(context, newPerson());
    await page.clock.fastForward(61_000);
    await page.getByText("Your account is awaiting approval").waitFor();
    expect(new URL(page.url()).search).toBe("");
  });
});
