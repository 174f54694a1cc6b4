/**
 * A `user` never undoes what an admin has set of a key (docs/rules/keys.md#admins-and-users).
 *
 * @module-tag check
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiKey, CreatedKey } from "../../shared/schema/api-key.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";
import { userCredential } from "../api/guard.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import { provisionIdentity } from "../tenants/provision-identity.ts";

type Fields = Readonly<Record<string, unknown>>;

let control: TestControl;
let tenant: Tenant;

beforeAll(async () => {
  control = await startControl();
  tenant = await control.must<Tenant>("POST", "/tenants", { name: "own" });
});
afterAll(async () => {
  await control.close();
});

async function asUser(method: string, path: string, body: Fields) {
  const answer = await control.app.request(`/api/v1${path}`, {
    method,
    headers: { authorization: userCredential(tenant.id, ADMIN_TOKEN) },
    body: JSON.stringify(body),
  });
  const { error, ...record } = (await answer.json()) as ApiKey & {
    error?: { details?: readonly { path: string; message: string }[] };
  };
  const details = error?.details ?? [];
  const [paths, messages] = [details.map(({ path: field }) => field), details.map(({ message }) => message)];
  return { status: answer.status, paths, messages, record };
}

async function keyOfAdmin(body: Fields): Promise<ApiKey> {
  return (await control.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, body)).key;
}

async function keyOfUser(body: Fields): Promise<ApiKey> {
  const made = await asUser("POST", `/tenants/${tenant.id}/keys`, body);
  return (made.record as unknown as CreatedKey).key;
}

/** The status of a deletion without an answer's body. */
async function removedByUser(key: ApiKey): Promise<number> {
  const headers = { authorization: userCredential(tenant.id, ADMIN_TOKEN) };
  return (await control.app.request(`/api/v1/keys/${key.id}`, { method: "DELETE", headers })).status;
}

/** What the newest entry of the audit log says was changed of a key. */
async function lastChange(key: ApiKey): Promise<unknown> {
  const [entry] = await control.must<AuditEntry[]>("GET", `/audit?entity_id=${key.id}&limit=1`);
  return entry?.detail["changed"];
}

it("a user does not delete a key that an admin has disabled", async () => {
  const key = await keyOfUser({ name: "mine" });
  await asAdmin(key, { disabled: true });
  expect(await asUser("DELETE", `/keys/${key.id}`, {})).toMatchObject({
    status: 400,
    messages: [expect.stringContaining("only an admin can delete the key")],
  });
  await asAdmin(key, { disabled: false });
  expect(await removedByUser(key)).toBe(204);
});

describe("the key of an identity, which the identity's next request creates again", () => {
  const keyOfIdentity = async (subject: string): Promise<ApiKey> => {
    await provisionIdentity(control.ctx, { issuer: "https://id.example", subject, name: subject, tenant: tenant.name });
    const [key] = await control.must<ApiKey[]>("GET", `/keys?q=${subject}`);
    return key as ApiKey;
  };

  it.each<[string, Fields]>([
    ["tokens_per_minute", { tokens_per_minute: 5 }],
    ["budget_tokens", { budget_tokens: 0, budget_period: "monthly" }],
    ["budget_cost_usd", { budget_cost_usd: 1 }],
    ["expires_at", { expires_at: "2030-01-01T00:00:00.000Z" }],
    ["allowed_models", { allowed_models: ["small"] }],
    ["tracing_enabled", { tracing_enabled: true }],
  ])("is not deleted by a user once an admin has set %s", async (field, set) => {
    const key = await keyOfIdentity(`leaver-${field}`);
    await asAdmin(key, set);
    expect(await asUser("DELETE", `/keys/${key.id}`, {})).toMatchObject({
      status: 400,
      paths: [field],
      messages: [expect.stringContaining("disable the key, or ask an admin to delete it")],
    });
    expect(await control.must<ApiKey>("GET", `/keys/${key.id}`)).toMatchObject(set);
    await control.must("DELETE", `/keys/${key.id}`);
  });

  it("is deleted by a user while only users have limited it, or an admin has cleared the limits", async () => {
    const key = await keyOfIdentity("stayer");
    await asAdmin(key, { budget_tokens: 5 });
    await asAdmin(key, { budget_tokens: null });
    await put(key, { budget_tokens: 7 });
    expect(await removedByUser(key)).toBe(204);
  });
});

it("a user deletes a key with a secret, whatever an admin has set: it does not come back", async () => {
  expect(await removedByUser(await keyOfAdmin({ budget_tokens: 5 }))).toBe(204);
});

it("users create keys up to a bound, with at most 2,000 models each; an admin creates more", async () => {
  const other = await control.must<Tenant>("POST", "/tenants", { name: "many" });
  await keyOfAdmin({ name: "first" });
  const [first] = await control.connection.db.select().from(apiKeys).limit(1);
  const { key_hash: _, id: __, ...row } = first as typeof apiKeys.$inferSelect;
  const rows = Array.from({ length: 300 }, (_value, at) => ({
    ...row,
    tenant_id: other.id,
    key_hash: `hash-${at}`,
  }));
  await control.connection.db.insert(apiKeys).values(rows);
  const asOther = async (body: Fields) =>
    await control.app.request(`/api/v1/tenants/${other.id}/keys`, {
      method: "POST",
      headers: { authorization: userCredential(other.id, ADMIN_TOKEN) },
      body: JSON.stringify(body),
    });
  expect((await asOther({ name: "one more" })).status).toBe(409);
  await control.must("POST", `/tenants/${other.id}/keys`, { name: "of an admin" });
  const names = Array.from({ length: 2001 }, (_value, at) => `model-${at}`);
  expect((await asUser("POST", `/tenants/${tenant.id}/keys`, { name: "long", allowed_models: names })).paths).toEqual([
    "allowed_models",
  ]);
});

const asAdmin = async (key: ApiKey, body: Fields) => await control.must<ApiKey>("PATCH", `/keys/${key.id}`, body);
const put = async (key: ApiKey, body: Fields) => await asUser("PUT", `/keys/${key.id}`, body);
const setDisabled = async (key: ApiKey, disabled: boolean) =>
  await asUser("PUT", `/keys/${key.id}/disabled`, { disabled });

const LIMITS = {
  tokens_per_minute: 100,
  requests_per_minute: 10,
  budget_tokens: 1000,
  budget_cost_usd: 5,
  budget_period: "monthly",
  expires_at: "2030-01-01T00:00:00.000Z",
  allowed_models: ["a", "b"],
};

describe("a key that an admin has disabled", () => {
  it("is enabled by an admin only, also after a user has disabled it too", async () => {
    const key = await keyOfAdmin({});
    expect(await asAdmin(key, { disabled: true })).toMatchObject({ disabled: true, disabled_by: "admin" });
    expect(await setDisabled(key, true)).toMatchObject({ status: 200, record: { disabled_by: "admin" } });
    expect(await setDisabled(key, false)).toMatchObject({ status: 400, paths: ["disabled"] });
    expect(await asAdmin(key, { disabled: false })).toMatchObject({ disabled: false, disabled_by: null });
  });

  it.each(["PATCH", "PUT"])("is enabled by an admin only, though a user had disabled it before: %s", async (method) => {
    const key = await keyOfUser({});
    await setDisabled(key, true);
    const path = method === "PUT" ? `/keys/${key.id}/disabled` : `/keys/${key.id}`;
    expect(await control.must<ApiKey>(method, path, { disabled: true })).toMatchObject({ disabled_by: "admin" });
    expect(await lastChange(key)).toEqual({ disabled_by: ["user", "admin"] });
    expect(await setDisabled(key, false)).toMatchObject({ status: 400, paths: ["disabled"] });
  });

  it("stays disabled where nobody knows who has disabled it", async () => {
    const key = await keyOfAdmin({ disabled: true });
    await control.connection.db.update(apiKeys).set({ disabled_by: null, admin_limits: null });
    expect(await setDisabled(key, false)).toMatchObject({ status: 400, paths: ["disabled"] });
  });

  it("is enabled by a user if a user has disabled it", async () => {
    const key = await keyOfAdmin({});
    expect(await setDisabled(key, true)).toMatchObject({ status: 200, record: { disabled_by: "user" } });
    expect(await setDisabled(key, false)).toMatchObject({
      status: 200,
      record: { disabled: false, disabled_by: null },
    });
  });
});

describe("the limits of a key that an admin has set", () => {
  it.each<[string, Fields]>([
    ["tokens_per_minute", { tokens_per_minute: 101 }],
    ["tokens_per_minute", { tokens_per_minute: 0 }],
    ["requests_per_minute", { requests_per_minute: 0 }],
    ["budget_tokens", { budget_tokens: null }],
    ["budget_cost_usd", { budget_cost_usd: 5.5 }],
    ["budget_period", { budget_period: "lifetime" }],
    ["budget_started_at", { budget_started_at: null }],
    ["expires_at", { expires_at: null }],
    ["expires_at", { expires_at: "2030-01-01T00:00:00.001Z" }],
    ["allowed_models", { allowed_models: null }],
    ["allowed_models", { allowed_models: [] }],
    ["allowed_models", { allowed_models: ["a", "c"] }],
  ])("are not widened by a user: %s by %j", async (path, body) => {
    const key = await keyOfAdmin(LIMITS);
    expect(await put(key, { name: "mine", ...body })).toMatchObject({ status: 400, paths: [path] });
    expect(await control.must<ApiKey>("GET", `/keys/${key.id}`)).toEqual(key);
  });

  it.each<[string, unknown, message: string]>([
    ["tokens_per_minute", 101, "is limited by an admin: a user can only lower it"],
    ["budget_period", "lifetime", "cannot be changed by a user while an admin's cap is set"],
    ["expires_at", null, "is limited by an admin: a user can only set an earlier time"],
    ["allowed_models", ["c"], "is limited by an admin: a user can only take models out of the list"],
  ])("tell a user what can be done with %s", async (field, value, message) => {
    expect(await put(await keyOfAdmin(LIMITS), { [field]: value })).toMatchObject({ status: 400, messages: [message] });
  });

  it("are lowered by a user, and raised again up to what the admin has set", async () => {
    const key = await keyOfAdmin(LIMITS);
    const lower = {
      tokens_per_minute: 50,
      requests_per_minute: 1,
      budget_tokens: 0,
      budget_cost_usd: 1,
      expires_at: "2029-01-01T00:00:00.000Z",
      allowed_models: ["b"],
    };
    expect(await put(key, lower)).toMatchObject({ status: 200, record: lower });
    expect(await put(key, { budget_tokens: 1001 })).toMatchObject({ status: 400, paths: ["budget_tokens"] });
    expect(await put(key, LIMITS)).toMatchObject({ status: 200, record: LIMITS });
  });

  it("hold also for a key when it is unknown who set them", async () => {
    const key = await keyOfAdmin(LIMITS);
    await control.connection.db.update(apiKeys).set({ admin_limits: null });
    expect(await put(key, { tokens_per_minute: 0 })).toMatchObject({ status: 400, paths: ["tokens_per_minute"] });
    expect(await put(key, { name: "mine" })).toMatchObject({ status: 200, record: { ...LIMITS, name: "mine" } });
  });

  it("are raised again by the user who set them, though it is unknown who set the others", async () => {
    const key = await keyOfAdmin({ tokens_per_minute: 100 });
    await control.connection.db.update(apiKeys).set({ admin_limits: null });
    for (const limit of [5, 9, 0])
      expect({ limit, ...(await put(key, { requests_per_minute: limit })) }).toMatchObject({ limit, status: 200 });
    for (const limit of [50, 100]) expect(await put(key, { tokens_per_minute: limit })).toMatchObject({ status: 200 });
    expect(await put(key, { tokens_per_minute: 101 })).toMatchObject({ status: 400, paths: ["tokens_per_minute"] });
  });

  it("stay as they are when a user has lowered them and an admin changes others", async () => {
    const key = await keyOfAdmin({ budget_tokens: 100, budget_cost_usd: 5 });
    await put(key, { budget_cost_usd: 1 });
    await asAdmin(key, { budget_tokens: 90 });
    expect(await put(key, { budget_cost_usd: 5 })).toMatchObject({ status: 200 });
    expect(await put(key, { budget_cost_usd: 6 })).toMatchObject({ status: 400, paths: ["budget_cost_usd"] });
  });

  it("no longer hold once an admin has cleared them", async () => {
    const key = await keyOfAdmin({ tokens_per_minute: 100, budget_tokens: 10 });
    await asAdmin(key, { tokens_per_minute: null });
    expect(await put(key, { tokens_per_minute: 500 })).toMatchObject({ status: 200 });
    expect(await put(key, { budget_tokens: 11 })).toMatchObject({ status: 400, paths: ["budget_tokens"] });
  });

  it("are never passed by any changes of users", async () => {
    const numbers = fc.record(
      { tokens_per_minute: fc.nat(200), requests_per_minute: fc.nat(20), budget_tokens: fc.option(fc.nat(2000)) },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(numbers, { maxLength: 5 }), async (changes) => {
        const key = await keyOfAdmin(LIMITS);
        for (const change of changes) await put(key, change);
        const now = await control.must<ApiKey>("GET", `/keys/${key.id}`);
        expect(now.budget_tokens ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(1000);
        expect(now.tokens_per_minute || Number.POSITIVE_INFINITY).toBeLessThanOrEqual(100);
        expect(now.requests_per_minute || Number.POSITIVE_INFINITY).toBeLessThanOrEqual(10);
      }),
      { numRuns: 20 },
    );
  });
});

describe("the limits of a key that a user has set", () => {
  it("are raised and cleared by a user, until an admin sets them", async () => {
    const key = await keyOfUser({ tokens_per_minute: 10, budget_tokens: 10 });
    expect(await put(key, { tokens_per_minute: 0, budget_tokens: null })).toMatchObject({ status: 200 });
    await asAdmin(key, { budget_tokens: 20 });
    expect(await put(key, { tokens_per_minute: 7 })).toMatchObject({ status: 200 });
    expect(await put(key, { budget_tokens: 21 })).toMatchObject({ status: 400, paths: ["budget_tokens"] });
  });

  it("stay the user's when an admin changes others", async () => {
    const key = await keyOfUser({ budget_cost_usd: 10, requests_per_minute: 5 });
    await setDisabled(key, true);
    await asAdmin(key, { budget_tokens: 20, name: "named" });
    const own = { budget_cost_usd: 11, requests_per_minute: 0 };
    expect(await put(key, own)).toMatchObject({ status: 200, record: own });
    expect(await setDisabled(key, false)).toMatchObject({ status: 200 });
  });

  it.each<[string, Fields, Fields]>([
    ["tokens_per_minute", { tokens_per_minute: 5 }, { tokens_per_minute: 6 }],
    ["requests_per_minute", { requests_per_minute: 5 }, { requests_per_minute: 0 }],
    ["budget_tokens", { budget_tokens: 5 }, { budget_tokens: 6 }],
    ["budget_period", { budget_cost_usd: 5, budget_period: "monthly" }, { budget_period: "lifetime" }],
    ["expires_at", { expires_at: "2030-01-01T00:00:00.000Z" }, { expires_at: null }],
    ["allowed_models", { allowed_models: ["a"] }, { allowed_models: ["a", "b"] }],
  ])("become the admin's when an admin sends the same: %s", async (path, same, wider) => {
    const key = await keyOfUser(same);
    await asAdmin(key, same);
    expect(await lastChange(key)).toEqual({ admin_limits: [{}, same] });
    expect(await put(key, wider)).toMatchObject({ status: 400, paths: [path] });
    expect(await control.must<ApiKey>("GET", `/keys/${key.id}`)).toMatchObject(same);
  });

  it("become the admin's when an admin sends the whole record back", async () => {
    const key = await keyOfUser({ tokens_per_minute: 5, budget_tokens: 5 });
    await asAdmin(key, await control.must<Fields & ApiKey>("GET", `/keys/${key.id}`));
    expect(await put(key, { tokens_per_minute: 6, budget_tokens: 6 })).toMatchObject({
      status: 400,
      paths: ["tokens_per_minute", "budget_tokens"],
    });
  });
});
