/**
 * Who gets into the console (docs/rules/console.md#break-glass, docs/rules/console.md#providers, docs/rules/users.md).
 *
 * @module-tag check
 */
import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { User } from "../../shared/schema/user.ts";
import { ADMIN, corp, startConsole, type TestConsole } from "../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../test/harness/console-browser.ts";
import { sessions, users } from "../db/schema/users.ts";

let testing: TestConsole;

beforeAll(async () => {
  testing = await startConsole({ GATEWAY_GRAFANA_URL: "https://grafana.example.org" });
});
afterAll(async () => {
  await testing.close();
});
beforeEach(async () => {
  await testing.reset();
});

async function userOf(browser: ConsoleBrowser) {
  const { user } = (await (await browser.get("/api/session")).json()) as { user: Partial<User> | null };
  return user;
}
const codeOf = async (response: Response) => ((await response.json()) as { error: { code: string } }).error.code;
const why = (response: Response) => [response.status, response.headers.get("location")];
const rows = async () => await testing.control.connection.db.select().from(users);
const patch = async (id: string | undefined, body: object) =>
  await testing.control.request("PATCH", `/api/v1/users/${id}`, body);

describe("the host of a request", () => {
  const evil = "http://evil.example:3000";
  const post = { method: "POST", headers: { origin: evil }, body: JSON.stringify(ADMIN) };

  it.each(["http://localhost:8000", "http://127.0.0.1:3000", "http://[::1]"])("is the console's: %s", async (own) => {
    expect((await testing.app.request(`${own}/auth/local`, { ...post, headers: { origin: own } })).status).toBe(200);
  });

  it("is refused off loopback, for pages, sign-ins and providers", async () => {
    for (const [path, request] of [["/"], ["/auth/local", post], ["/auth/oidc/corp"]] as const) {
      const answer = await testing.app.request(`${evil}${path}`, request);
      expect({ path, status: answer.status, code: await codeOf(answer) }).toEqual({
        path,
        status: 403,
        code: "host_not_allowed",
      });
    }
  });

  it("is ignored where the public URL is known", async () => {
    const named = await startConsole({ DASHBOARD_PUBLIC_URL: "https://console.example.org/" });
    try {
      expect((await named.app.request(`${evil}/auth/local`, post)).status).toBe(403);
      const headers = { origin: "https://console.example.org" };
      const signedIn = await named.app.request(`${evil}/auth/local`, { ...post, headers });
      expect(signedIn.headers.get("set-cookie")).toContain("; Secure");
      const departure = await named.app.request(`${evil}/auth/oidc/corp`);
      const { searchParams } = new URL(departure.headers.get("location") ?? "");
      expect(searchParams.get("redirect_uri")).toBe("https://console.example.org/auth/oidc/corp/callback");
    } finally {
      await named.close();
    }
  });
});

it("tells admins alone where Grafana is", async () => {
  const grafana = async (browser: ConsoleBrowser) =>
    ((await (await browser.get("/api/session")).json()) as { grafana_url: unknown }).grafana_url;
  const pending = testing.browser();
  await testing.signIn(pending);
  expect({
    signedOut: await grafana(testing.browser()),
    pending: await grafana(pending),
    admin: await grafana(await testing.admin()),
  }).toEqual({ signedOut: null, pending: null, admin: "https://grafana.example.org" });
});

describe("a session", () => {
  it("ends with its sign-out for everyone who has its cookie", async () => {
    const browser = await testing.admin();
    const stolen = testing.browser();
    stolen.cookies = browser.cookies;
    expect(await userOf(stolen)).not.toBeNull();
    expect((await browser.send("POST", "/auth/sign-out")).status).toBe(204);
    expect(browser.cookies).toMatch(/^gateway_known_browser=[^;]+$/);
    expect(await userOf(stolen)).toBeNull();
  });

  it("is another one after each sign-in, and the one before has ended", async () => {
    const browser = await testing.admin();
    const before = testing.browser();
    before.cookies = browser.cookies;
    await browser.send("POST", "/auth/local", ADMIN);
    expect(browser.cookies).not.toBe(before.cookies);
    expect(await userOf(before)).toBeNull();
    expect(await testing.control.connection.db.select().from(sessions)).toHaveLength(1);
  });

  it("is not found by a cookie that was changed, and its token is not stored", async () => {
    const browser = await testing.admin();
    const good = /gateway_session=[^;]+/.exec(browser.cookies)?.[0] ?? "";
    const token = decodeURIComponent(good).split(/[=.]/)[1] ?? "";
    const [row] = await testing.control.connection.db.select().from(sessions);
    expect(row?.token_hash).not.toContain(token);
    for (const cookie of [
      good.replace(/.$/, ""),
      good.replace(/=../, "=xx"),
      `gateway_session=${token}`,
      "gateway_session=",
    ]) {
      browser.cookies = cookie;
      expect(await userOf(browser)).toBeNull();
    }
  });
});

describe("a person from a provider", () => {
  it("waits for approval, and then sees the own tenant", async () => {
    const browser = testing.browser();
    expect(why(await testing.signIn(browser, "/logs?x=1"))).toEqual([302, "/logs?x=1"]);
    const user = await userOf(browser);
    expect(user).toMatchObject({ email: "ann@example.org", name: "Ann", role: "user", status: "pending" });
    expect(await codeOf(await browser.get("/api/live/keys"))).toBe("account_pending");
    const address = async () =>
      ((await (await browser.get("/api/session")).json()) as { proxy_base_url: unknown }).proxy_base_url;
    expect(await address()).toBeNull();
    const tenant = (await (await testing.control.request("POST", "/api/v1/tenants", { name: "t" })).json()) as User;
    expect((await patch(user?.id, { status: "active" })).status).toBe(200);
    expect(await codeOf(await browser.get("/api/live/keys"))).toBe("no_tenant");
    expect((await patch(user?.id, { tenant_id: tenant.id })).status).toBe(200);
    expect({ status: (await browser.get("/api/live/keys")).status, addressType: typeof (await address()) }).toEqual({
      status: 200,
      addressType: "string",
    });
    const audit = (await (await testing.control.request("GET", "/api/v1/audit?entity_type=user")).json()) as object[];
    expect(audit).toMatchObject([
      { action: "update_user", detail: { changed: { tenant_id: [null, tenant.id] } } },
      { action: "approve_user", entity_id: user?.id, detail: { email: "ann@example.org" } },
    ]);
  });

  it.each<[string, unknown, string]>([
    ["status", "approved", "must be one of pending, active, disabled"],
    ["status", null, "must be one of pending, active, disabled"],
    ["role", "owner", "must be one of admin, auditor, user, viewer"],
    ["role", { toString: 1 }, "must be one of admin, auditor, user, viewer"],
    ["tenant_id", "t", "must be a UUID"],
    ["tenant_id", ["7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e"], "must be a UUID"],
    ["tenant_id", "7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e", "is not a tenant"],
  ])("is not changed to have %s %j", async (field, value, message) => {
    await testing.signIn(testing.browser());
    const [before] = await rows();
    const answer = await patch(before?.id, { status: "active", role: "admin", [field]: value });
    const { error } = (await answer.json()) as { error: { details: object[] } };
    expect({ status: answer.status, details: error.details }).toEqual({
      status: 400,
      details: [{ path: field, message }],
    });
    expect(await rows()).toEqual([before]);
  });

  it("is out at once when disabled or deleted in the middle of a session", async () => {
    const browser = testing.browser();
    await testing.signIn(browser);
    const user = await userOf(browser);
    await patch(user?.id, { status: "active", role: "admin" });
    expect((await browser.get("/api/live/tenants")).status).toBe(200);
    await patch(user?.id, { status: "disabled" });
    expect(await codeOf(await browser.get("/api/live/tenants"))).toBe("account_disabled");
    await testing.control.request("DELETE", `/api/v1/users/${user?.id}`);
    expect(await codeOf(await browser.get("/api/live/tenants"))).toBe("signed_out");
    await testing.signIn(browser);
    expect(await userOf(browser)).toMatchObject({ status: "pending", role: "user" });
  });

  it("is the same one with another email or name, and another one with another subject", async () => {
    await testing.signIn(testing.browser());
    testing.provider.claims = { sub: "ann", email_verified: true, email: "Ann.B@example.org", name: "Ann\nB" };
    await testing.signIn(testing.browser());
    expect(await rows()).toMatchObject([{ subject: "ann", email: "ann.b@example.org", name: "Ann B" }]);
    testing.provider.claims = { sub: "eve", email_verified: true, email: "ANN.b@example.org" };
    expect(why(await testing.signIn(testing.browser()))).toEqual([302, "/sign-in?error=email_taken"]);
    expect(await rows()).toHaveLength(1);
  });

  it.each<[string, Record<string, unknown>]>([
    ["another nonce", { nonce: "other" }],
    ["no nonce", { nonce: undefined }],
    ["another audience", { aud: "someone else" }],
    ["another client", { azp: "someone else" }],
    ["a time in the future", { iat: 9_999_999_999 }],
    ["another issuer", { iss: "https://other.example" }],
    ["a token of yesterday", { exp: 1_000_000_000, iat: 999_999_000 }],
    ["no email", { email: undefined }],
    ["no subject", { sub: undefined }],
  ])("is refused with %s", async (_, claims) => {
    testing.provider.claims = { ...testing.provider.claims, ...claims };
    const browser = testing.browser();
    expect(why(await testing.signIn(browser))).toEqual([302, "/sign-in?error=sign_in_failed"]);
    expect({ user: await userOf(browser), rows: await rows() }).toEqual({ user: null, rows: [] });
  });

  it.each([false, "false", undefined, null, {}])("is refused while email_verified is %j, and told so", async (said) => {
    testing.provider.claims = { ...testing.provider.claims, email_verified: said };
    expect(why(await testing.signIn(testing.browser()))).toEqual([302, "/sign-in?error=email_not_verified"]);
    expect(testing.logged.at(-1)).toContain("email_verified");
    expect(await rows()).toEqual([]);
  });

  it.each([{ email_verified: "true" }, { email_verified: undefined, xms_edov: true }])(
    "gets in with %j",
    async (claims) => {
      testing.provider.claims = { ...testing.provider.claims, ...claims };
      expect(why(await testing.signIn(testing.browser()))).toEqual([302, "/"]);
    },
  );

  it("gets in unverified where the operator trusts the provider's emails", async () => {
    const trusting = await startConsole({
      OIDC_PROVIDERS: JSON.stringify([{ ...corp(testing.provider), allow_unverified_email: true }]),
    });
    try {
      testing.provider.claims = { ...testing.provider.claims, email_verified: undefined };
      const browser = trusting.browser();
      const departure = await browser.get("/auth/oidc/corp");
      const back = testing.provider.consent(departure.headers.get("location") ?? "");
      expect(why(await browser.get(`${back.pathname}${back.search}`))).toEqual([302, "/"]);
    } finally {
      await trusting.close();
    }
  });

  it("is refused with a token of another key", async () => {
    testing.provider.forged = true;
    expect(why(await testing.signIn(testing.browser()))).toEqual([302, "/sign-in?error=sign_in_failed"]);
  });

  it("is refused with a forged state, without the cookie, with a stranger's cookie, or too late", async () => {
    const begun = async () => {
      const browser = testing.browser();
      const departure = await browser.get("/auth/oidc/corp");
      const back = testing.provider.consent(departure.headers.get("location") ?? "");
      return { browser, back };
    };
    const forged = await begun();
    forged.back.searchParams.set("state", "x");
    expect(why(await forged.browser.get(`${forged.back.pathname}${forged.back.search}`))).toEqual([
      302,
      "/sign-in?error=sign_in_failed",
    ]);
    const stranger = await begun();
    for (const browser of [testing.browser(), forged.browser])
      expect(why(await browser.get(`${stranger.back.pathname}${stranger.back.search}`))).toEqual([
        302,
        "/sign-in?error=sign_in_expired",
      ]);
    const late = await begun();
    testing.aheadMs = 601_000;
    expect(why(await late.browser.get(`${late.back.pathname}${late.back.search}`))).toEqual([
      302,
      "/sign-in?error=sign_in_expired",
    ]);
    expect((await late.browser.get("/auth/oidc/none")).status).toBe(404);
  });

  it("cannot come back twice with one state, not even to another process", async () => {
    const browser = testing.browser();
    const departure = await browser.get("/auth/oidc/corp");
    const comeBack = async (from: ConsoleBrowser) => {
      const back = testing.provider.consent(departure.headers.get("location") ?? "");
      return why(await from.get(`${back.pathname}${back.search}`));
    };
    const kept = browser.cookies;
    expect(await comeBack(browser)).toEqual([302, "/"]);
    testing.renew();
    const replay = testing.browser();
    replay.cookies = kept;
    expect(await comeBack(replay)).toEqual([302, "/sign-in?error=sign_in_expired"]);
  });

  it("sees on the sign-in page that the subject cannot be stored; the log says why", async () => {
    testing.provider.claims = { ...testing.provider.claims, sub: "an\0n" };
    expect(why(await testing.signIn(testing.browser()))).toEqual([302, "/sign-in?error=sign_in_failed"]);
    expect(testing.logged.at(-1)).toContain("a subject with NUL");
    expect(await rows()).toEqual([]);
  });

  it("sees on the sign-in page that the database refused the user", async () => {
    testing.provider.claims = { ...testing.provider.claims, sub: randomBytes(40_000).toString("hex") };
    expect(why(await testing.signIn(testing.browser()))).toEqual([302, "/sign-in?error=sign_in_failed"]);
    expect(testing.logged.at(-1)).toContain("sign_in_failed");
  });

  it.each([
    "notanemail",
    "loc al@x,admin@x",
    "ann@",
    "ann@example.org\u200b",
    "\ufeffann@example.org",
    "\u212aate@example.org",
    "a@b@c",
    '"a"@b',
  ])("is refused with an email that is no address: %j", async (email) => {
    testing.provider.claims = { ...testing.provider.claims, email };
    expect(why(await testing.signIn(testing.browser()))).toEqual([302, "/sign-in?error=email_invalid"]);
    expect(await rows()).toEqual([]);
  });

  it("sees that the provider is down, and gets in when it is back", async () => {
    testing.provider.away = true;
    const browser = testing.browser();
    expect(why(await browser.get("/auth/oidc/corp"))).toEqual([302, "/sign-in?error=provider_unavailable"]);
    testing.provider.away = false;
    expect(why(await testing.signIn(browser))).toEqual([302, "/"]);
  });

  it.each([
    "//evil.example/x",
    "https://evil.example",
    "/\\evil.example",
    "javascript:alert(1)",
    "\\\\evil",
    "x",
    "/..//evil.example",
    "/%2e%2e//evil",
  ])("is not led away by return_to %s", async (returnTo) => {
    expect(why(await testing.signIn(testing.browser(), returnTo))[1]).toMatch(/^\/(?![/\\])/);
  });

  it("goes to / after a sign-in with a return_to that no cookie can hold", async () => {
    expect(why(await testing.signIn(testing.browser(), `/logs?q=${"x".repeat(1000)}`))).toEqual([302, "/"]);
  });

  it("sees on the sign-in page that the provider of a callback does not exist", async () => {
    const answer = await testing.browser().get("/auth/oidc/nope/callback");
    expect(why(answer)).toEqual([302, "/sign-in?error=sign_in_expired"]);
  });

  it("does not wait in a list without end", async () => {
    const { db } = testing.control.connection;
    const pending = Array.from({ length: 1000 }, (_, nth) => ({
      email: `p${nth}@example.org`,
      name: "",
      provider: "corp",
      subject: `p${nth}`,
      role: "user" as const,
      status: "pending" as const,
    }));
    await db.insert(users).values(pending);
    expect(why(await testing.signIn(testing.browser()))[1]).toBe("/sign-in?error=too_many_pending");
    await db.delete(users).where(eq(users.subject, "p0"));
    expect(why(await testing.signIn(testing.browser()))[1]).toBe("/");
  });
});

describe("addresses", () => {
  it.each(["/", "/logs?open=x", "/tenants/1", "/api-of-mine"])(
    "hands the page out at %s, which may load nothing else",
    async (path) => {
      const page = await testing.browser().get(path);
      expect({
        status: page.status,
        "content-type": page.headers.get("content-type"),
        "cache-control": page.headers.get("cache-control"),
      }).toEqual({ status: 200, "content-type": "text/html; charset=UTF-8", "cache-control": "no-store" });
      expect(page.headers.get("content-security-policy")).toMatch(/default-src 'none'; script-src 'nonce-[\w+/=-]+'/);
    },
  );

  it.each(["/api", "/api/other", "/auth", "/auth/oidc/unknown", "/assets/none.js", "/assets/"])(
    "has nothing at %s",
    async (path) => {
      const answer = await testing.browser().get(path);
      expect({ status: answer.status, code: await codeOf(answer) }).toEqual({ status: 404, code: "not_found" });
    },
  );

  it("takes no write elsewhere", async () => {
    expect((await testing.browser().send("POST", "/logs", {})).status).toBe(404);
  });
});
