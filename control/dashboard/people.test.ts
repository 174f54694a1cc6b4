/**
 * How people get access to the console, and lose it (docs/rules/users.md): invitations, several tenants, groups of a provider,
 * sessions.
 *
 * @module-tag check
 */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ApiKey } from "../../shared/schema/api-key.ts";
import type { Invitation } from "../../shared/schema/invitation.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { User } from "../../shared/schema/user.ts";
import type { UserSession } from "../../shared/schema/user-session.ts";
import { corp, startConsole, type TestConsole } from "../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../test/harness/console-browser.ts";
import { ANN } from "../../test/harness/sign-in-provider.ts";
import { groupGrants, invitations } from "../db/schema/users.ts";

interface Session {
  readonly user: {
    readonly id: string;
    readonly role: string;
    readonly status: string;
    readonly tenant_id: string | null;
    readonly tenants: readonly { readonly name: string; readonly role: string }[];
    readonly session_id: string;
  } | null;
}

const BOB = { sub: "bob", email: "Bob@Example.org", name: "Bob", email_verified: true };
const GROUPS_CLAIM = "realm_access.roles";

let testing: TestConsole;
let one: Tenant;
let two: Tenant;

beforeAll(async () => {
  testing = await startConsole();
  one = await must<Tenant>("POST", "/tenants", { name: "one" });
  two = await must<Tenant>("POST", "/tenants", { name: "two" });
  for (const { id, name } of [one, two]) await must("POST", `/tenants/${id}/keys`, { name: `key of ${name}` });
});
afterAll(async () => {
  await testing.close();
});
beforeEach(async () => {
  await testing.reset();
  await testing.control.connection.db.delete(invitations);
  await testing.control.connection.db.delete(groupGrants);
});

const call = async (method: string, path: string, body?: object) =>
  await testing.control.request(method, `/api/v1${path}`, body);
async function must<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await call(method, path, body);
  if (!answer.ok) throw new Error(await answer.text());
  return (answer.status === 204 ? null : await answer.json()) as T;
}
const refusal = async (answer: Response) => {
  const { error } = (await answer.json()) as { error: { code: string; param: string | null; details?: object[] } };
  return {
    status: answer.status,
    code: error.code,
    param: error.param,
    ...(error.details && { details: error.details }),
  };
};
const userIn = async (browser: ConsoleBrowser): Promise<Session["user"]> =>
  ((await (await browser.get("/api/session")).json()) as Session).user;
/** A browser in which the person of these claims has signed in. */
const signedIn = async (claims: Readonly<Record<string, unknown>>) => {
  testing.provider.claims = claims;
  const browser = testing.browser();
  await testing.signIn(browser);
  return browser;
};
const invite = async (body: object = {}) =>
  await call("POST", "/invitations", { email: "bob@example.org", role: "viewer", tenant_ids: [one.id], ...body });
const audited = async (action: string) => await must<object[]>("GET", `/audit?action=${action}`);
const keyNames = async (browser: ConsoleBrowser) =>
  ((await (await browser.get("/api/live/keys")).json()) as ApiKey[]).map(({ name }) => name);

describe("an invitation", () => {
  it("makes who signs in with its verified email active at once, and is gone then", async () => {
    expect((await invite({ email: "BOB@example.org", tenant_ids: [one.id, two.id] })).status).toBe(200);
    const browser = await signedIn(BOB);
    expect(await userIn(browser)).toMatchObject({
      status: "active",
      role: "viewer",
      tenant_id: one.id,
      tenants: [
        { name: "one", role: "viewer" },
        { name: "two", role: "viewer" },
      ],
    });
    expect(await must("GET", "/invitations")).toEqual([]);
    expect(await audited("accept_invitation")).toMatchObject([
      {
        actor: "bob@example.org",
        entity_type: "user",
        detail: { tenant_id: one.id, more_tenants: [{ tenant_id: two.id, role: "viewer" }] },
      },
    ]);
  });

  it("is taken by who already waits, at the next sign-in", async () => {
    const browser = await signedIn(BOB);
    expect(await userIn(browser)).toMatchObject({ status: "pending" });
    await must("DELETE", `/users/${(await userIn(browser))?.id}`);
    await invite({ role: "auditor", tenant_ids: [] });
    await signedIn(BOB);
    expect(await must("GET", "/users?q=bob")).toMatchObject([{ status: "active", role: "auditor" }]);
  });

  it.each<[string, () => Promise<unknown>]>([
    [
      "has expired",
      async () => {
        testing.aheadMs = 8 * 86_400_000;
      },
    ],
    [
      "was revoked",
      async () => {
        const [{ id }] = await must<[Invitation]>("GET", "/invitations");
        await must("DELETE", `/invitations/${id}`);
      },
    ],
  ])("gives nothing once it %s", async (_, happen) => {
    await invite();
    await happen();
    expect(await userIn(await signedIn(BOB))).toMatchObject({ status: "pending", role: "user", tenant_id: null });
  });

  it("gives nothing to another email, or to who was disabled", async () => {
    await invite();
    expect(await userIn(await signedIn(ANN))).toMatchObject({ status: "pending" });
    const [ann] = await must<[User]>("GET", "/users?q=ann");
    await must("PATCH", `/users/${ann.id}`, { status: "disabled" });
    expect(await refusal(await invite({ email: ANN.email }))).toMatchObject({ status: 409, param: "email" });
  });

  it("is not taken by an email that only the operator trusts, not the provider", async () => {
    const trusting = await startConsole({
      OIDC_PROVIDERS: JSON.stringify([{ ...corp(testing.provider), allow_unverified_email: true }]),
    });
    try {
      const body = { email: BOB.email, role: "admin" };
      expect((await trusting.control.request("POST", "/api/v1/invitations", body)).status).toBe(200);
      for (const email_verified of [undefined, false]) {
        testing.provider.claims = { ...BOB, email_verified };
        const browser = trusting.browser();
        const departure = await browser.get("/auth/oidc/corp");
        const back = testing.provider.consent(departure.headers.get("location") ?? "");
        expect((await browser.get(`${back.pathname}${back.search}`)).headers.get("location")).toBe("/");
        expect(await userIn(browser)).toMatchObject({ status: "pending", role: "user" });
      }
    } finally {
      await trusting.close();
    }
  });

  it.each([
    ["a text that is no email", { email: "bob" }, "email", "must be an email address"],
    ["no tenant for a viewer", { tenant_ids: [] }, "tenant_ids", "choose a tenant for a viewer"],
    [
      "a tenant for an auditor",
      { role: "auditor" },
      "tenant_ids",
      "must be empty: the role auditor is for every tenant",
    ],
    [
      "what is not a tenant",
      { tenant_ids: ["7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e"] },
      "tenant_ids",
      "has an id that is not a tenant",
    ],
    ["a long life", { expires_in_days: 91 }, "expires_in_days", "must be a whole number from 1 to 90"],
  ])("is refused with %s", async (_, body, path, message) => {
    expect(await refusal(await invite(body))).toMatchObject({ status: 400, details: [{ path, message }] });
    expect(await must("GET", "/invitations")).toEqual([]);
  });

  it("is one for an email, and another one once it is over", async () => {
    await invite();
    expect(await refusal(await invite())).toMatchObject({ status: 409, code: "already_exists", param: "email" });
    const { db } = testing.control.connection;
    await db
      .update(invitations)
      .set({ expires_at: new Date(0) })
      .where(eq(invitations.email, "bob@example.org"));
    expect((await invite({ role: "user" })).status).toBe(200);
    expect(await must("GET", "/invitations")).toMatchObject([{ role: "user", tenant_ids: [one.id] }]);
  });

  it("is known to admins and auditors alone: nobody learns from the console who is invited", {
    tags: ["check"],
  }, async () => {
    const sessionOf = async () => JSON.stringify(await (await testing.browser().get("/api/session")).json());
    const before = await sessionOf();
    await invite();
    expect((await sessionOf()).replace(/"now_ms":\d+/, "")).toBe(before.replace(/"now_ms":\d+/, ""));
    const browser = await signedIn(ANN);
    const [{ id }] = await must<[User]>("GET", "/users?q=ann");
    await must("PATCH", `/users/${id}`, { status: "active", tenant_id: one.id });
    expect(await refusal(await browser.get("/api/live/invitations"))).toMatchObject({ status: 403, code: "forbidden" });
  });
});

describe("several tenants", () => {
  const member = async () => {
    const browser = await signedIn(ANN);
    const [{ id }] = await must<[User]>("GET", "/users?q=ann");
    const more_tenants = [{ tenant_id: two.id, role: "viewer" }];
    const changed = await must<User>("PATCH", `/users/${id}`, { status: "active", tenant_id: one.id, more_tenants });
    expect(changed).toMatchObject({ tenant_id: one.id, more_tenants, group_tenants: [] });
    return { browser, id };
  };
  const choose = async (browser: ConsoleBrowser, tenant_id: string) =>
    await browser.send("POST", "/api/session/tenant", { tenant_id });

  it("are shown one at a time, each with its role, and a session keeps the chosen one", {
    tags: ["check"],
  }, async () => {
    const { browser } = await member();
    const create = async () => (await browser.send("POST", `/api/live/tenants/${two.id}/keys`, {})).status;
    expect(await keyNames(browser)).toEqual(["key of one"]);
    expect(await create()).toBe(404);
    expect((await choose(browser, two.id)).status).toBe(204);
    expect(await userIn(browser)).toMatchObject({ role: "viewer", tenant_id: two.id });
    expect({ keys: await keyNames(browser), create: await create() }).toEqual({ keys: ["key of two"], create: 403 });
    expect(await keyNames(await signedIn(ANN))).toEqual(["key of one"]);
    expect(await keyNames(browser)).toEqual(["key of two"]);
  });

  it("cannot be chosen by who does not have them, and are left when they are lost", async () => {
    const { browser, id } = await member();
    const third = await must<Tenant>("POST", "/tenants", { name: "third" });
    expect((await choose(browser, third.id)).status).toBe(404);
    await must("PATCH", `/users/${id}`, { more_tenants: [{ tenant_id: third.id, role: "user" }] });
    await choose(browser, third.id);
    expect(await userIn(browser)).toMatchObject({ role: "user", tenant_id: third.id });
    await must("DELETE", `/tenants/${third.id}`);
    expect(await userIn(browser)).toMatchObject({ tenant_id: one.id, tenants: [{ name: "one" }] });
    await must("PATCH", `/users/${id}`, { tenant_id: null });
    expect((await refusal(await browser.get("/api/live/keys"))).code).toBe("no_tenant");
  });

  it.each([
    [[{ tenant_id: "t", role: "user" }], "must be a UUID"],
    [[{ tenant_id: "7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e", role: "user" }], "is not a tenant"],
    [[{ tenant_id: "7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e", role: "admin" }], "must be one of user, viewer"],
  ])("are refused as %j", async (more_tenants, message) => {
    const { id } = await member();
    const answer = await refusal(await call("PATCH", `/users/${id}`, { more_tenants }));
    expect(answer).toMatchObject({ status: 400, details: [{ message }] });
    expect(await must("GET", `/users/${id}`)).toMatchObject({ more_tenants: [{ tenant_id: two.id }] });
  });
});

describe("groups of a provider", () => {
  let grouped: TestConsole;

  beforeAll(async () => {
    grouped = await startConsole({
      OIDC_PROVIDERS: JSON.stringify([{ ...corp(testing.provider), groups_claim: GROUPS_CLAIM }]),
    });
  });
  afterAll(async () => {
    await grouped.close();
  });

  it("give roles at every sign-in beside what an admin set, and take them when they are gone", {
    tags: ["check"],
  }, async () => {
    const send = async <T>(method: string, path: string, body?: object) =>
      (await (await grouped.control.request(method, `/api/v1${path}`, body)).json()) as T;
    const tenant = await send<Tenant>("POST", "/tenants", { name: "grouped" });
    for (const [group_name, role, tenant_id] of [
      ["readers", "viewer", tenant.id],
      ["makers", "user", tenant.id],
      ["audit", "auditor", null],
      ["ops", "admin", null],
    ])
      await send("POST", "/group-grants", { provider: "corp", group_name, role, tenant_id });
    await send("POST", "/group-grants", { provider: "other", group_name: "staff", role: "admin" });
    const as = async (groups: unknown) => {
      const roles = groups === undefined ? {} : { realm_access: { roles: groups } };
      testing.provider.claims = { ...ANN, ...roles };
      const browser = grouped.browser();
      const departure = await browser.get("/auth/oidc/corp");
      const back = testing.provider.consent(departure.headers.get("location") ?? "");
      await browser.get(`${back.pathname}${back.search}`);
      const user = await userIn(browser);
      return { status: user?.status, role: user?.role, tenant: user?.tenants[0]?.name ?? null };
    };
    const nothing = { role: "user", tenant: null };
    expect(await as(["staff", 7, "Readers"])).toEqual({ status: "pending", ...nothing });
    expect(await as(["readers"])).toEqual({ status: "active", role: "viewer", tenant: "grouped" });
    expect(await as(["readers", "makers"])).toEqual({ status: "active", role: "user", tenant: "grouped" });
    expect(await as("audit")).toEqual({ status: "active", role: "auditor", tenant: null });
    expect(await as(["audit", "ops"])).toEqual({ status: "active", role: "admin", tenant: null });
    expect(await as([])).toEqual({ status: "active", ...nothing });
    const [ann] = await send<[User]>("GET", "/users");
    await send("PATCH", `/users/${ann.id}`, { role: "viewer", tenant_id: tenant.id });
    expect(await as(undefined)).toEqual({ status: "active", role: "viewer", tenant: "grouped" });
    expect(await as(["ops"])).toMatchObject({ role: "admin" });
    expect(await as(undefined)).toEqual({ status: "active", role: "viewer", tenant: "grouped" });
    await send("PATCH", `/users/${ann.id}`, { status: "disabled" });
    expect(await as(["ops"])).toMatchObject({ status: "disabled" });
    const log = await send<object[]>("GET", "/audit?action=apply_group_grants");
    expect(log[0]).toMatchObject({ actor: "ann@example.org", detail: { group_role: "admin" } });
  });
});

describe("the sessions of a person", () => {
  const member = async () => {
    const browser = await signedIn(ANN);
    const [{ id }] = await must<[User]>("GET", "/users?q=ann");
    await must("PATCH", `/users/${id}`, { status: "active", role: "viewer", tenant_id: one.id });
    return { browser, id };
  };
  const listed = async (browser: ConsoleBrowser, id: string) =>
    (await (await browser.get(`/api/live/users/${id}/sessions`)).json()) as UserSession[];

  it("are listed and ended by the person, whatever the role, one or all but this one", {
    tags: ["check"],
  }, async () => {
    const { browser, id } = await member();
    const own = (await userIn(browser))?.session_id;
    const other = await signedIn(ANN);
    const third = await signedIn(ANN);
    const rows = await listed(browser, id);
    expect(rows.map((row) => Object.keys(row).toSorted())).toEqual(
      rows.map(() => ["address", "agent", "created_at", "expires_at", "id", "last_seen_at"]),
    );
    const otherId = (await userIn(other))?.session_id;
    expect((await browser.send("DELETE", `/api/live/users/${id}/sessions/${otherId}`)).status).toBe(204);
    expect(await userIn(other)).toBeNull();
    expect((await browser.send("DELETE", `/api/live/users/${id}/sessions?except=${own}`)).status).toBe(204);
    expect({ third: await userIn(third), left: (await listed(browser, id)).map((row) => row.id) }).toEqual({
      third: null,
      left: [own],
    });
    expect(await audited("end_session")).toMatchObject([{ actor: ANN.email, entity_id: id }]);
    expect(await audited("end_sessions")).toMatchObject([{ actor: ANN.email, detail: { sessions: 1, except: own } }]);
  });

  it("are nobody else's to see or end, but an admin's", async () => {
    const { browser, id } = await member();
    const bob = await signedIn(BOB);
    const bobId = (await userIn(bob))?.id;
    await must("PATCH", `/users/${bobId}`, { status: "active", tenant_id: one.id });
    const path = `/api/live/users/${id}/sessions`;
    expect({ read: (await bob.get(path)).status, end: (await bob.send("DELETE", path)).status }).toEqual({
      read: 403,
      end: 403,
    });
    await must("PATCH", `/users/${bobId}`, { role: "auditor" });
    expect({ read: (await bob.get(path)).status, end: (await bob.send("DELETE", path)).status }).toEqual({
      read: 200,
      end: 403,
    });
    const bobSession = (await userIn(bob))?.session_id;
    expect((await browser.send("DELETE", `${path}/${bobSession}`)).status).toBe(404);
    const admin = await testing.admin();
    expect((await admin.send("DELETE", path)).status).toBe(204);
    expect({ ann: await userIn(browser), bob: (await userIn(bob))?.id }).toEqual({ ann: null, bob: bobId });
  });

  it("say when they were used last, to the minute", async () => {
    const { browser, id } = await member();
    const seen = async () => Date.parse((await listed(browser, id))[0]?.last_seen_at ?? "");
    const first = await seen();
    expect(await seen()).toBe(first);
    testing.aheadMs = 61_000;
    await userIn(browser);
    expect(await seen()).toBeGreaterThanOrEqual(first + 61_000);
  });
});
