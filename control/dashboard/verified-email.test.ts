/**
 * Whose email counts for an invitation (docs/rules/users.md#invitations): one that its source says is verified.
 *
 * @module-tag check
 */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { corp, startConsole, type TestConsole } from "../../test/harness/console.ts";
import { invitations } from "../db/schema/users.ts";

const INVITED = "kate@example.org";
const VERIFIED = { email_verified: true };

let plain: TestConsole;
let grouped: TestConsole;

beforeAll(async () => {
  plain = await startConsole();
  grouped = await startConsole({
    OIDC_PROVIDERS: JSON.stringify([{ ...corp(plain.provider), groups_claim: "groups" }]),
  });
});
afterAll(async () => {
  await grouped.close();
  await plain.close();
});
beforeEach(async () => {
  for (const testing of [plain, grouped]) {
    await testing.reset();
    await testing.control.connection.db.delete(invitations);
    await testing.control.request("POST", "/api/v1/invitations", { email: INVITED, role: "admin" });
  }
});

/** What becomes of a person whom the provider describes so. */
const signedIn = async (testing: TestConsole, token: object, userinfo: object = {}) => {
  Object.assign(plain.provider, { claims: { sub: "kate", ...token }, userinfo });
  const browser = testing.browser();
  const departure = await browser.get("/auth/oidc/corp");
  const back = plain.provider.consent(departure.headers.get("location") ?? "");
  const { headers } = await browser.get(`${back.pathname}${back.search}`);
  const { user } = (await (await browser.get("/api/session")).json()) as { user: { email: string; status: string } };
  const left = await testing.control.connection.db.$count(invitations);
  return { to: headers.get("location"), email: user?.email, status: user?.status, left };
};
const refused = (reason: string) => ({ to: `/sign-in?error=${reason}`, email: undefined, status: undefined, left: 1 });

it.each([
  ["another email of the token", { email: "me@own.org", ...VERIFIED }],
  ["another email, as Entra ID says it", { email: "me@own.org", xms_edov: true }],
])("gets nothing for an email of userinfo when the provider has verified %s", async (_, token) => {
  for (const testing of [plain, grouped])
    expect(await signedIn(testing, token, { email: INVITED })).toEqual({
      to: "/",
      email: "me@own.org",
      status: "pending",
      left: 1,
    });
});

it.each([
  ["in a token without an email", VERIFIED, { email: INVITED }],
  ["in a token without an email, as Entra ID says it", { xms_edov: true }, { email: INVITED }],
  ["at userinfo, which has no email", { email: INVITED }, VERIFIED],
])("is refused when the provider says that an email is verified %s", async (_, token, userinfo) => {
  for (const testing of [plain, grouped])
    expect(await signedIn(testing, token, userinfo)).toEqual(refused("email_not_verified"));
});

it.each([
  ["the token, with groups elsewhere", { email: INVITED, ...VERIFIED }, { groups: [] }],
  ["userinfo", {}, { email: INVITED, ...VERIFIED }],
  ["userinfo, in place of another one that is not verified", { email: "me@own.org" }, { email: INVITED, ...VERIFIED }],
])("takes the invitation of a verified email of %s", async (_, token, userinfo) => {
  for (const testing of [plain, grouped])
    expect(await signedIn(testing, token, userinfo)).toEqual({ to: "/", email: INVITED, status: "active", left: 0 });
});
