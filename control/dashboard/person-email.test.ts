/**
 * Emails of people (docs/rules/users.md#identity): one rule for invitations and sign-ins, so that no two people have emails that
 * look alike, and nobody gets what an email has brought somebody else.
 *
 * @module-tag check
 */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { User } from "../../shared/schema/user.ts";
import { startConsole, type TestConsole } from "../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../test/harness/console-browser.ts";
import { invitations } from "../db/schema/users.ts";

let testing: TestConsole;
let tenant: Tenant;

beforeAll(async () => {
  testing = await startConsole();
  tenant = (await (await testing.control.request("POST", "/api/v1/tenants", { name: "own" })).json()) as Tenant;
});
afterAll(async () => {
  await testing.close();
});
beforeEach(async () => {
  await testing.reset();
  await testing.control.connection.db.delete(invitations);
});

const invite = async (email: string) =>
  await testing.control.request("POST", "/api/v1/invitations", { email, role: "user", tenant_ids: [tenant.id] });
const signIn = async (sub: string, email: string) => {
  testing.provider.claims = { sub, email, name: sub, email_verified: true };
  const browser = testing.browser();
  const answer = await testing.signIn(browser);
  return { browser, to: answer.headers.get("location") };
};
const users = async () => (await (await testing.control.request("GET", "/api/v1/users")).json()) as User[];

it.each([
  "\u2003ann@example.org",
  "ann@example.org\u00a0",
  "ann@example.org\u3000",
  "ann@example.org\u2028",
  "ann@example.org\t",
  "ann@example.org\u2800",
  "ann@example.org\u115f",
  "an\u034fn@example.org",
  "ann@exam\u00adple.org",
  "a\u200dnn@example.org",
  "ann\u{e0061}@example.org",
  "\u212aann@example.org",
  "ann@example.\u0130org",
  "a\u1fefnn@example.org",
])("is refused in a sign-in and in an invitation: %j", async (email) => {
  const [{ to }, invited] = [await signIn("ann", email), await invite(email)];
  const { error } = (await invited.json()) as { readonly error?: { readonly param: string } };
  expect({ to, users: await users(), status: invited.status, param: error?.param }).toEqual({
    to: "/sign-in?error=email_invalid",
    users: [],
    status: 400,
    param: "email",
  });
});

it("is the same in capitals, between spaces and in composed characters", async () => {
  expect((await invite(" JO\u0308RG@Example.org ")).status).toBe(200);
  const { to } = await signIn("joerg", "j\u00f6rg@example.org");
  expect({ to, users: await users() }).toMatchObject({
    to: "/",
    users: [{ email: "j\u00f6rg@example.org", status: "active", tenant_id: tenant.id }],
  });
  expect((await signIn("another", "jo\u0308rg@EXAMPLE.org")).to).toBe("/sign-in?error=email_taken");
});

it("brings nobody the secret of a person who had it: an idempotency key is the person's", async () => {
  const secretOf = async (browser: ConsoleBrowser) => {
    const headers = { "idempotency-key": "once" };
    const answer = await browser.send("POST", `/api/live/tenants/${tenant.id}/keys`, { name: "own" }, headers);
    return ((await answer.json()) as CreatedKey).secret;
  };
  await invite("ann@example.org");
  const first = await secretOf((await signIn("ann", "ann@example.org")).browser);
  const again = await secretOf((await signIn("ann", "ann.b@example.org")).browser);
  await invite("ann@example.org");
  const others = await secretOf((await signIn("another", "ann@example.org")).browser);
  expect({ again: again === first, others: others === first }).toEqual({ again: true, others: false });
});
