/**
 * What a browser reaches of the Management API (docs/rules/console.md#live): nobody more than their role and tenant allow,
 * by whatever path, method or parameter.
 *
 * @module-tag check
 */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiKey, CreatedKey } from "../../../shared/schema/api-key.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import type { User } from "../../../shared/schema/user.ts";
import { startConsole, type TestConsole } from "../../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../../test/harness/console-browser.ts";
import { ADMIN_TOKEN } from "../../../test/harness/control.ts";
import { liveRoutesOf } from "../../api/access.ts";
import { userCredential } from "../../api/guard.ts";
import { users } from "../../db/schema/users.ts";
import { Live } from "./live.ts";

let testing: TestConsole;
let admin: ConsoleBrowser;
let ann: ConsoleBrowser;
let annUser: User;
let own: { tenant: Tenant; key: ApiKey };
let other: { tenant: Tenant; key: ApiKey };

async function made<T>(path: string, body: object): Promise<T> {
  return (await (await testing.control.request("POST", `/api/v1${path}`, body)).json()) as T;
}
async function tenantWithKey(name: string) {
  const tenant = await made<Tenant>("/tenants", { name });
  const { key } = await made<CreatedKey>(`/tenants/${tenant.id}/keys`, { name: `key of ${name}` });
  await testing.control.request("PATCH", `/api/v1/tenants/${tenant.id}/allowlist`, {
    allowed_models: [`model-${name}`],
  });
  return { tenant, key };
}
const update = async (body: object) => await testing.control.request("PATCH", `/api/v1/users/${annUser.id}`, body);
const liveRoutes = () => liveRoutesOf(testing.control.app);
const codeOf = async (response: Response) =>
  response.ok ? null : ((await response.json()) as { error: { code: string } }).error.code;
const pathTo = (path: string, id: string) => `/api/live${path.replace(/\{\w+\}/g, id)}`;

beforeAll(async () => {
  testing = await startConsole();
  own = await tenantWithKey("own");
  other = await tenantWithKey("other");
  for (const name of ["model-own", "model-other"])
    await made("/models", {
      model_name: name,
      model_type: "chat",
      upstream_model: "secret",
      api_base: "http://127.0.0.1:9",
    });
  admin = await testing.admin();
  ann = testing.browser();
  await testing.signIn(ann);
  const listed = await testing.control.request("GET", "/api/v1/users?q=ANN");
  [annUser] = (await listed.json()) as [User];
  await update({ status: "active", tenant_id: own.tenant.id });
});
afterAll(async () => {
  await testing.close();
});

describe("the list of what a browser reaches", () => {
  it("has parts in no other spelling", async () => {
    const paths = [
      "/settings/jobsched/resolved",
      "/settings/jobsched%2Fresolved",
      "/settings/jobsched/./resolved",
      "/settings//jobsched",
      "/Tenants",
      "/tenants/",
      "/tenants/..%2Fusers",
      "/tenants/%2e%2e%2fusers",
      "/tenants/%zz",
      "/models/..%5C..%5Cinternal",
      "/internal/stats",
      "/openapi.json",
      "",
    ];
    for (const path of paths)
      expect({ path, status: (await admin.get(`/api/live${path}`)).status }).toEqual({ path, status: 404 });
    for (const method of ["OPTIONS", "HEAD"])
      expect({ method, status: (await admin.send(method, "/api/live/tenants")).status }).toEqual({
        method,
        status: 404,
      });
    expect((await ann.send("HEAD", "/api/live/models")).status).toBe(404);
  });
});

describe("isolation", () => {
  it("gives nobody who has not signed in anything, by any path", async () => {
    const nobody = testing.browser();
    for (const { method, path } of liveRoutes()) {
      const answer = await nobody.send(method, pathTo(path, own.tenant.id));
      expect({ path, status: answer.status, code: await codeOf(answer) }).toEqual({
        path,
        status: 401,
        code: "signed_out",
      });
    }
  });

  it("gives who waits for approval, or is disabled, nothing, by any path", async () => {
    for (const status of ["pending", "disabled"]) {
      await update({ status });
      for (const { method, path } of liveRoutes()) {
        const answer = await ann.send(method, pathTo(path, own.tenant.id));
        expect({ path, status: answer.status, code: await codeOf(answer) }).toEqual({
          path,
          status: 403,
          code: `account_${status}`,
        });
      }
    }
    await update({ status: "active" });
  });

  it("gives a user nothing of admins, and nothing of another tenant, by any path", async () => {
    for (const { method, path, user } of liveRoutes()) {
      const id = user === "key in path" ? other.key.id : other.tenant.id;
      const answer = await ann.send(method, pathTo(path, id), method === "GET" ? undefined : {});
      const text = await answer.text();
      expect(`${path} ${text}`).not.toContain(other.tenant.id);
      expect(`${path} ${text}`).not.toContain(other.key.id);
      if (user === undefined) expect({ path, status: answer.status }).toEqual({ path, status: 403 });
      else if (user === "tenant in path" || user === "key in path")
        expect({ path, status: answer.status }).toEqual({ path, status: 404 });
    }
    const keys = await testing.control.request("GET", `/api/v1/tenants/${other.tenant.id}/keys`);
    expect(await keys.json()).toMatchObject([{ id: other.key.id, disabled: false, name: "key of other" }]);
  });

  it("gives a user without a tenant nothing of any", async () => {
    await update({ tenant_id: null });
    for (const { method, path, user } of liveRoutes())
      if (user !== undefined)
        expect(await codeOf(await ann.send(method, pathTo(path, own.tenant.id)))).toBe("no_tenant");
    await update({ tenant_id: own.tenant.id });
  });

  it("binds lists to the user's tenant, whatever the query says", async () => {
    const { id } = other.tenant;
    for (const query of ["", `?tenant_id=${id}`, `?TENANT_ID=${id}`, `?tenant_id=`]) {
      const keys = (await (await ann.get(`/api/live/keys${query}`)).json()) as ApiKey[];
      expect({ query, ids: keys.map((key) => key.id) }).toEqual({ query, ids: [own.key.id] });
    }
  });

  it("refuses a tenant that a user's query names twice", async () => {
    const answer = await ann.get(`/api/live/keys?tenant_id=${own.tenant.id}&tenant_id=${other.tenant.id}`);
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 400,
      body: { error: { details: [{ path: "tenant_id", message: "must be given only once" }] } },
    });
  });

  it("shows a user the allowed models, without where they run", async () => {
    const models = (await (await ann.get("/api/live/models")).json()) as Record<string, unknown>[];
    expect(models).toMatchObject([{ model_name: "model-own", model_type: "chat", enabled: true }]);
    expect(JSON.stringify(models)).not.toMatch(/secret|127\.0\.0\.1/);
  });

  it.each([
    ["q=OWN", ["model-own"]],
    ["q=model", ["model-own"]],
    ["limit=1", ["model-own"]],
    ["q=secret", []],
    ["q=other", []],
    ["cursor=x&limit=0", ["model-own"]],
  ])("tells a user nothing of other models by ?%s", async (query, names) => {
    const answer = await ann.get(`/api/live/models?${query}`);
    expect(((await answer.json()) as { model_name: string }[]).map((model) => model.model_name)).toEqual(names);
    expect({ status: answer.status, link: answer.headers.get("link") }).toEqual({ status: 200, link: null });
  });

  it("gives a user the allowed models as CSV, with the fields that are shown", async () => {
    const answer = await ann.get("/api/live/models?format=csv");
    expect({ status: answer.status, "content-type": answer.headers.get("content-type") }).toEqual({
      status: 200,
      "content-type": "text/csv; charset=utf-8",
    });
    const [head = "", ...lines] = (await answer.text()).split("\r\n");
    const fields = liveRoutes().find(({ path }) => path === "/models")?.fields;
    expect({
      columns: head.split(","),
      lineCount: lines.length,
      namesModel: lines[0]?.includes(",model-own,"),
    }).toEqual({ columns: fields, lineCount: 2, namesModel: true });
    for (const query of ["format=xml", "format=csv&format=json"]) {
      const refused = await ann.get(`/api/live/models?${query}`);
      expect({ status: refused.status, body: await refused.json() }).toMatchObject({
        status: 400,
        body: { error: { details: [{ path: "format" }] } },
      });
    }
  });

  it("is asked of the Management API with the user's tenant and address", async () => {
    const [user] = await testing.control.connection.db.select().from(users).where(eq(users.id, annUser.id));
    const asked: Headers[] = [];
    const live = new Live({
      adminToken: ADMIN_TOKEN,
      routes: liveRoutes(),
      management: async (request) => {
        asked.push(request.headers);
        return await testing.control.app.fetch(request);
      },
      nowMs: Date.now,
    });
    const caller = { user: user as typeof users.$inferSelect, address: "192.0.2.7" };
    await live.answer(new Request("http://localhost/api/live/keys"), "/keys", caller);
    expect(asked.map((headers) => headers.get("authorization"))).toEqual([userCredential(own.tenant.id, ADMIN_TOKEN)]);
    expect(asked.map((headers) => headers.get("x-gateway-audit-address"))).toEqual(["192.0.2.7"]);
  });

  it("gives a user the own tenant without what the operator has noted and decided about it", async () => {
    const control = async (method: string, path: string, body: object) =>
      expect((await testing.control.request(method, `/api/v1${path}`, body)).status).toBe(200);
    const path = `/tenants/${own.tenant.id}`;
    await control("POST", "/fairshare/groups", { name: "late payers" });
    await control("PATCH", `${path}/group`, { fairshare_group: "late payers" });
    await control("PUT", path, { description: "pays late", contact: "ann" });
    const policy = { input_scanners: ["harm", "ban_keywords"], guard_model: "judge", ban_keywords: ["x"] };
    await control("PATCH", `${path}/guardrails`, { policy });
    const shown = (await (await ann.get(`/api/live${path}`)).json()) as Tenant;
    expect(shown).toMatchObject({ name: "own", contact: "ann", guardrails_policy: { ban_keywords: ["x"] } });
    expect(JSON.stringify(shown)).not.toMatch(/late|judge|weight|group|synthetic|tracing/);
    expect(await (await admin.get(`/api/live${path}`)).json()).toMatchObject({
      description: "pays late",
      fairshare_group: "late payers",
      guardrails_policy: policy,
    });
    await control("PATCH", `${path}/guardrails`, { policy: null });
    expect(await (await ann.get(`/api/live${path}`)).json()).toMatchObject({ guardrails_policy: null });
  });

  it("lets a user manage the tenant's own keys, under the user's name", async () => {
    const created = await ann.send("POST", `/api/live/tenants/${own.tenant.id.toUpperCase()}/keys`, { name: "mine" });
    const { id } = ((await created.json()) as CreatedKey).key;
    expect((await ann.send("PUT", `/api/live/keys/${id}/disabled`, { disabled: true })).status).toBe(200);
    expect((await ann.send("DELETE", `/api/live/keys/${id}`)).status).toBe(204);
    const audit = (await (await testing.control.request("GET", `/api/v1/audit?entity_id=${id}`)).json()) as object[];
    expect(audit).toMatchObject(
      ["delete_key", "disable_key", "create_key"].map((action) => ({ action, actor: "ann@example.org" })),
    );
  });
});

describe("an admin", () => {
  it("reaches what is listed, and sees neither the token nor the way to the Management API", async () => {
    const answer = await admin.get("/api/live/tenants?limit=1");
    expect({ status: answer.status, tenantCount: ((await answer.json()) as Tenant[]).length }).toEqual({
      status: 200,
      tenantCount: 1,
    });
    const link = /^<(.*)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1] ?? "";
    expect(link).toMatch(/^\/api\/live\/tenants\?/);
    expect(((await (await admin.get(link)).json()) as Tenant[]).length).toBe(1);
    expect(JSON.stringify([...answer.headers])).not.toContain(ADMIN_TOKEN);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  it("passes no credential of the browser's own on", async () => {
    const answer = await admin.send("GET", "/api/live/version", undefined, {
      authorization: "Bearer other",
      "x-gateway-audit-actor": "root",
      "x-gateway-audit-address": "203.0.113.9",
    });
    expect(answer.status).toBe(200);
    const write = await admin.send(
      "POST",
      "/api/live/tenants",
      { name: "by-admin" },
      { "x-gateway-audit-actor": "root", "x-gateway-audit-address": "203.0.113.9" },
    );
    const { id } = (await write.json()) as Tenant;
    const audit = await testing.control.request("GET", `/api/v1/audit?entity_id=${id}`);
    expect(await audit.json()).toMatchObject([{ actor: "admin@example.org", address: "" }]);
  });

  it("creates once per idempotency key", async () => {
    const create = async () =>
      await admin.send("POST", "/api/live/tenants", { name: "once" }, { "idempotency-key": "one" });
    const [first, again] = [await create(), await create()];
    expect(await again.json()).toEqual(await first.json());
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });
});

describe("a write", () => {
  it.each<[string, Record<string, string>, number]>([
    ["the console's own origin", {}, 200],
    ["another origin", { origin: "https://evil.example" }, 403],
    ["an origin that begins like the own one", { origin: "http://localhost.evil.example" }, 403],
    ["another scheme", { origin: "https://localhost" }, 403],
    ["the origin of a sandboxed page", { origin: "null" }, 403],
    ["an empty origin", { origin: "" }, 403],
  ])("from %s", async (_, headers, status) => {
    const answer = await admin.send("PUT", `/api/live/keys/${own.key.id}/disabled`, { disabled: false }, headers);
    expect(answer.status).toBe(status);
  });

  it("needs an origin", async () => {
    const { cookies } = admin;
    const request = new Request("http://localhost/api/live/tenants", {
      method: "POST",
      body: "{}",
      headers: { cookie: cookies },
    });
    expect((await testing.app.request(request)).status).toBe(403);
    const signOut = new Request("http://localhost/auth/sign-out", { method: "POST", headers: { cookie: cookies } });
    expect((await testing.app.request(signOut)).status).toBe(403);
  });
});

it("every answer forbids scripts but the page's own, frames, and storing", async () => {
  for (const answer of [await admin.get("/api/session"), await admin.get("/api/live/none"), await admin.get("/none")]) {
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; script-src 'nonce-[^']{16,}'; style-src 'self'; .*frame-ancestors 'none'; base-uri 'none'$/,
    );
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  }
});
