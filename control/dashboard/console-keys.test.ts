/**
 * Calls of the playground without a pasted key (docs/rules/console.md#relay): as which tenant, by whose name, with which key, and
 * that no browser gets to see it.
 *
 * @module-tag check
 */
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { hashKeySecret } from "../../shared/access/api-key.ts";
import { GatewayError } from "../../shared/errors.ts";
import { NO_RATES } from "../../shared/fields/rates.ts";
import type { ApiKey } from "../../shared/schema/api-key.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { ADMIN, startConsole, type TestConsole } from "../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../test/harness/console-browser.ts";
import { ANN } from "../../test/harness/sign-in-provider.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import { groupGrants, users } from "../db/schema/users.ts";
import { endConsoleKeys } from "../keys/end-console-keys.ts";
import { signInIdentity } from "./users.ts";

const HOUR_MS = 3_600_000;
const CHAT = "/api/relay/v1/chat/completions";
const MODELS = "/api/relay/v1/models";

let testing: TestConsole;
let admin: ConsoleBrowser;
let tenant: Tenant;
/** The keys that the data plane was called with. */
let presented: string[];
let status: number;

const dataPlane = createServer((incoming, response) => {
  presented.push((incoming.headers.authorization ?? "").replace("Bearer ", ""));
  incoming.on("end", () => response.writeHead(status, { "content-type": "application/json" }).end('{"data":[]}'));
  incoming.resume();
});

const call = async (browser: ConsoleBrowser, tenantId: string | null, method = "POST", path = CHAT) => {
  const headers: Record<string, string> = tenantId === null ? {} : { "x-gateway-tenant": tenantId };
  const answer = await browser.send(method, path, method === "POST" ? {} : undefined, headers);
  // Read to its end: until then the console watches whether the person may have it.
  return new Response(await answer.text(), answer);
};
const api = async <T>(path: string): Promise<T> =>
  (await (await testing.control.request("GET", `/api/v1${path}`)).json()) as T;
const keysOf = async ({ id }: Tenant) => await api<readonly ApiKey[]>(`/tenants/${id}/keys`);
const newTenant = async (): Promise<Tenant> => {
  const made = await testing.control.request("POST", "/api/v1/tenants", { name: `t-${randomUUID()}` });
  return (await made.json()) as Tenant;
};
const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: { code: string } }).error.code;

beforeAll(async () => {
  dataPlane.listen(0, "127.0.0.1");
  await once(dataPlane, "listening");
  const { port } = dataPlane.address() as AddressInfo;
  testing = await startConsole({ GATEWAY_PROXY_BASE_URL: `http://127.0.0.1:${port}` });
});
beforeEach(async () => {
  await testing.reset();
  admin = await testing.admin();
  tenant = await newTenant();
  presented = [];
  status = 200;
});
afterAll(async () => {
  dataPlane.closeAllConnections();
  dataPlane.close();
  await testing.close();
});

it("calls as the tenant that an admin names, with one key for an hour in the admin's name", async () => {
  expect((await call(admin, tenant.id)).status).toBe(200);
  expect((await call(admin, tenant.id, "GET", MODELS)).status).toBe(200);
  const [first, second] = presented;
  expect(first).toMatch(/^sk_[0-9a-f]{48}$/);
  expect(second).toBe(first);
  const keys = await keysOf(tenant);
  expect(keys).toMatchObject([
    { name: "Console (playground, batches)", key_prefix: first?.slice(0, 18), disabled: false },
  ]);
  expect(Date.parse(keys[0]?.expires_at ?? "") - Date.now()).toBeLessThanOrEqual(HOUR_MS);
  const audit = await api<readonly AuditEntry[]>(`/audit?entity_id=${keys[0]?.id}`);
  expect(audit).toMatchObject([{ action: "create_key", actor: ADMIN.email.toLowerCase() }]);
});

it("keeps the key's secret from browsers, backups and the log", async () => {
  const answer = await call(admin, tenant.id);
  const shown = `${await answer.text()} ${JSON.stringify([...answer.headers])}`;
  const backup = await (await testing.control.request("GET", "/api/v1/backup/export")).text();
  const [{ id } = { id: "" }] = await keysOf(tenant);
  expect({ isShown: shown.includes("sk_"), isLogged: testing.logged.join("").includes(presented[0] ?? "?") }).toEqual({
    isShown: false,
    isLogged: false,
  });
  expect(backup).toContain(tenant.id);
  expect(backup).not.toContain(id);
  expect(JSON.stringify(await api("/attention"))).not.toContain(id);
});

it("makes another key when the hour is over, and removes the ended one", async () => {
  await call(admin, tenant.id);
  testing.aheadMs = HOUR_MS;
  await testing.control.connection.db.execute("UPDATE api_keys SET expires_at = now() - interval '1 second'");
  await call(admin, tenant.id);
  testing.aheadMs = 0;
  expect(presented[1]).not.toBe(presented[0]);
  expect((await keysOf(tenant)).map(({ key_prefix }) => key_prefix)).toEqual([presented[1]?.slice(0, 18)]);
});

it("uses a key only once the data plane can find it, and is 503 until then", async () => {
  const { publisher, store } = testing.control;
  vi.spyOn(publisher, "publish").mockResolvedValue("pending");
  const away = vi.spyOn(publisher, "refresh").mockRejectedValueOnce(new GatewayError("key_store_unavailable"));
  const refused = await call(admin, tenant.id);
  expect({ status: refused.status, after: refused.headers.get("retry-after"), presented }).toEqual({
    status: 503,
    after: "1",
    presented: [],
  });
  expect((await call(admin, tenant.id)).status).toBe(200);
  expect(away).toHaveBeenCalledTimes(2);
  expect(await store.get([`key:${hashKeySecret(presented[0] ?? "", undefined)}`])).toEqual([expect.any(String)]);
});

it("makes another key after the data plane has refused one", async () => {
  status = 401;
  const refused = await call(admin, tenant.id);
  expect({ status: refused.status, after: refused.headers.get("retry-after"), code: await codeOf(refused) }).toEqual({
    status: 503,
    after: "1",
    code: "data_plane_unavailable",
  });
  status = 200;
  expect((await call(admin, tenant.id)).status).toBe(200);
  expect(presented[1]).not.toBe(presented[0]);
});

it("names who has the email now in the audit log when it makes another key", async () => {
  const ren = testing.browser();
  await testing.signIn(ren);
  const { db } = testing.control.connection;
  await db
    .update(users)
    .set({ status: "active", role: "user", tenant_id: tenant.id })
    .where(eq(users.provider, "corp"));
  await call(ren, null);
  testing.provider.claims = { ...ANN, email: "renamed@example.org" };
  await testing.signIn(ren);
  status = 401;
  await call(ren, null);
  status = 200;
  await call(ren, null);
  const made = await api<readonly AuditEntry[]>(`/audit?action=create_key&limit=2`);
  expect(made.map(({ actor }) => actor)).toEqual(["renamed@example.org", ANN.email]);
});

describe("a console key", () => {
  let id: string;
  let ann: ConsoleBrowser;

  beforeEach(async () => {
    ann = testing.browser();
    await testing.signIn(ann);
    const { db } = testing.control.connection;
    await db
      .update(users)
      .set({ status: "active", role: "user", tenant_id: tenant.id })
      .where(eq(users.provider, "corp"));
    await call(admin, tenant.id);
    [{ id } = { id: "" }] = await keysOf(tenant);
  });

  const refusals = async (browser: ConsoleBrowser, writes: readonly (readonly [string, string, object?])[]) =>
    await Promise.all(
      writes.map(async ([method, at, body]) => {
        const answer = await browser.send(method, `/api/live/keys/${id}${at}`, body);
        const { error } = (await answer.json()) as { error: { param: string } };
        return { what: `${method} ${at}`, status: answer.status, param: error.param };
      }),
    );
  const refused = (...writes: readonly string[]) => writes.map((what) => ({ what, status: 400, param: "id" }));

  it("is neither rotated nor changed by anybody, nor disabled or deleted by a user", async () => {
    const before = await keysOf(tenant);
    expect({
      user: await refusals(ann, [
        ["POST", "/rotate", { grace_secs: 3600 }],
        ["PUT", "", { expires_at: null }],
        ["PUT", "/disabled", { disabled: true }],
        ["DELETE", ""],
      ]),
      admin: await refusals(admin, [
        ["POST", "/rotate", {}],
        ["PUT", "", { expires_at: null }],
        ["PATCH", "", { expires_at: null }],
        ["PUT", "/tracing", { tracing_enabled: true }],
      ]),
    }).toEqual({
      user: refused("POST /rotate", "PUT ", "PUT /disabled", "DELETE "),
      admin: refused("POST /rotate", "PUT ", "PATCH ", "PUT /tracing"),
    });
    expect(await keysOf(tenant)).toEqual(before);
  });

  it("is disabled, enabled and deleted by an admin", async () => {
    const put = async (disabled: boolean) =>
      (await admin.send("PUT", `/api/live/keys/${id}/disabled`, { disabled })).status;
    expect({ disable: await put(true), enable: await put(false) }).toEqual({ disable: 200, enable: 200 });
    expect((await admin.send("DELETE", `/api/live/keys/${id}`)).status).toBe(204);
  });

  it("takes no room of the keys that a user may create", async () => {
    const made = Array.from({ length: 299 }, (_, nth) => ({
      tenant_id: tenant.id,
      name: "",
      description: "",
      key_prefix: "sk_",
      key_hash: createHash("sha256").update(`${tenant.id} ${nth}`).digest("hex"),
      disabled: false,
      tracing_enabled: false,
      ...NO_RATES,
      rev: 0,
    }));
    await testing.control.connection.db.insert(apiKeys).values(made);
    const create = async () => (await ann.send("POST", `/api/live/tenants/${tenant.id}/keys`, {})).status;
    expect({ last: await create(), over: await create() }).toEqual({ last: 200, over: 409 });
  });
});

it("calls as nobody for a tenant that is missing, unnamed or malformed", async () => {
  for (const id of [randomUUID(), null, "", "x", `${tenant.id}/../..`]) {
    const answer = await call(admin, id);
    expect({ id, status: answer.status, code: await codeOf(answer) }).toEqual({ id, status: 404, code: "not_found" });
  }
  expect(presented).toEqual([]);
});

it("lets a user call as the own tenant alone, and stops at once when the user may no longer", async () => {
  const other = await newTenant();
  const ann = testing.browser();
  await testing.signIn(ann);
  const { db } = testing.control.connection;
  const be = async (change: Partial<typeof users.$inferInsert>) =>
    await db.update(users).set(change).where(eq(users.provider, "corp"));
  await be({ status: "active", role: "user", tenant_id: tenant.id });
  expect((await call(ann, null)).status).toBe(200);
  expect((await call(ann, tenant.id)).status).toBe(200);
  expect(await codeOf(await call(ann, other.id))).toBe("not_found");
  await be({ tenant_id: other.id });
  expect(await codeOf(await call(ann, tenant.id))).toBe("not_found");
  await be({ status: "disabled" });
  expect(await codeOf(await call(ann, null))).toBe("account_disabled");
  expect({ own: (await keysOf(tenant)).length, other: (await keysOf(other)).length }).toEqual({ own: 1, other: 0 });
  expect(presented).toHaveLength(2);
});

describe("the console key of a user, with which batches run", () => {
  let ann: ConsoleBrowser;
  const be = async (change: Partial<typeof users.$inferInsert>) =>
    await testing.control.connection.db.update(users).set(change).where(eq(users.provider, "corp"));
  const keysLeft = async () => {
    await endConsoleKeys(testing.control.ctx);
    return (await keysOf(tenant)).length;
  };

  beforeEach(async () => {
    ann = testing.browser();
    await testing.signIn(ann);
    await be({ status: "active", role: "user", tenant_id: tenant.id });
    await call(ann, null);
  });

  it("stays when the person signs out", async () => {
    await ann.send("POST", "/auth/sign-out");
    expect(await keysLeft()).toBe(1);
  });

  it.each<readonly [string, Partial<typeof users.$inferInsert>]>([
    ["is disabled", { status: "disabled" }],
    ["only reads", { role: "viewer" }],
    ["reads every tenant", { role: "auditor", tenant_id: null }],
    ["has another tenant", { tenant_id: null }],
  ])("is deleted when the person %s", async (_, change) => {
    await be(change);
    const [{ id } = { id: "" }] = await keysOf(tenant);
    expect(await keysLeft()).toBe(0);
    const audit = await api<readonly AuditEntry[]>(`/audit?action=delete_key&entity_id=${id}`);
    expect(audit).toMatchObject([{ detail: { tenant_id: tenant.id, name: "Console (playground, batches)" } }]);
  });

  it("is deleted when the person is, and that of another person stays", async () => {
    await call(admin, tenant.id);
    await testing.control.connection.db.delete(users).where(eq(users.provider, "corp"));
    expect(await keysLeft()).toBe(1);
  });

  it("is deleted when a sign-in finds that the group is gone that gave the tenant", async () => {
    const { db } = testing.control.connection;
    const grant = { provider: "corp", group_name: "builders", role: "user", tenant_id: tenant.id } as const;
    await db.insert(groupGrants).values(grant);
    await be({ tenant_id: null });
    const signIn = async (groups: readonly string[]) => {
      const identity = { provider: "corp", subject: ANN.sub, email: ANN.email, name: ANN.name, groups };
      await signInIdentity(db, { ...identity, isEmailVerified: true }, { reserved: "", now: new Date(), address: "" });
      return await keysLeft();
    };
    expect([await signIn(["builders"]), await signIn([])]).toEqual([1, 0]);
  });
});
