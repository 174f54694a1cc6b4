/**
 * Ends, lists of models and rotation of keys (docs/rules/keys.md#rotation, docs/rules/keys.md#expiry).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hashKeySecret } from "../../shared/access/api-key.ts";
import type { ErrorBody } from "../../shared/errors.ts";
import { type ResolvedKey, resolvedKeySchema, storeKeys } from "../../shared/records.ts";
import type { ApiKey, CreatedKey } from "../../shared/schema/api-key.ts";
import type { Backup } from "../../shared/schema/backup.ts";
import { identityKeyHash } from "../../shared/schema/identity.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { provisionIdentity } from "../tenants/provision-identity.ts";
import { forgetEndedSecrets } from "./forget-ended-secrets.ts";

let control: TestControl;
let tenant: Tenant;
let nowMs = Date.parse("2026-11-22T12:00:00Z");

beforeAll(async () => {
  control = await startControl({ now: () => new Date(nowMs) });
  tenant = await send<Tenant>("POST", "/tenants", { name: "acme" });
});
afterAll(async () => {
  await control.close();
});
beforeEach(() => {
  control.cell.items.length = 0;
});

async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await control.request(method, `/api/v1${path}`, body);
  expect({ method, path, status: response.status }).toEqual({ method, path, status: 200 });
  return (await response.json()) as T;
}

const create = async (body: object = {}): Promise<CreatedKey> => await send("POST", `/tenants/${tenant.id}/keys`, body);
const rotate = async (id: string, body?: object): Promise<CreatedKey> => await send("POST", `/keys/${id}/rotate`, body);
const hashOf = (secret: string): string => hashKeySecret(secret, undefined);

/** The copy under the hash of a secret; null if there is none. */
async function copy(secret: string): Promise<ResolvedKey | null> {
  const [text] = await control.store.get([storeKeys.key(hashOf(secret))]);
  return text == null ? null : resolvedKeySchema.parse(JSON.parse(text));
}

/** The hashes of keys that the cell was told of since the test began. */
const told = (): readonly string[] => control.cell.items.filter(({ kind }) => kind === "key").map(({ id }) => id);

describe("a key", () => {
  it("is read by its id, with its end and its models, and without a hash", async () => {
    const { key } = await create({ expires_at: "2027-01-01T02:00:00+02:00", allowed_models: [" a ", "b", "a", ""] });
    expect(key).toMatchObject({ expires_at: "2027-01-01T00:00:00.000Z", allowed_models: ["a", "b"] });
    const read = await send<ApiKey>("GET", `/keys/${key.id.toUpperCase()}`);
    expect(read).toEqual(key);
    expect(Object.keys(read).filter((name) => name.includes("hash"))).toEqual([]);
  });

  it("never expires and has its tenant's models by default; null clears, an omitted field stays", async () => {
    const { key, secret } = await create();
    expect(key).toMatchObject({ expires_at: null, allowed_models: null, previous_secret_until: null });
    const limits = { expires_at: "2027-01-01T00:00:00.000Z", allowed_models: ["a"] };
    expect(await send("PUT", `/keys/${key.id}`, limits)).toMatchObject(limits);
    expect(await send("PUT", `/keys/${key.id}`, { name: "n" })).toMatchObject(limits);
    const copied = { expires_at_ms: Date.parse(limits.expires_at), allowed_models: ["a"], secret_until_ms: null };
    expect(await copy(secret)).toMatchObject(copied);
    expect(await send("PUT", `/keys/${key.id}`, { expires_at: null, allowed_models: [] })).toMatchObject({
      expires_at: null,
      allowed_models: null,
    });
    expect(await copy(secret)).toMatchObject({ expires_at_ms: null, allowed_models: null });
  });

  it("has no limits per minute by default; an omitted one stays, and 0 removes it", async () => {
    const none = { tokens_per_minute: 0, requests_per_minute: 0 };
    const { key, secret } = await create();
    expect(key).toMatchObject(none);
    const limits = { tokens_per_minute: 500, requests_per_minute: 5 };
    expect((await create(limits)).key).toMatchObject(limits);
    expect(await send("PUT", `/keys/${key.id}`, limits)).toMatchObject(limits);
    expect(await send("PUT", `/keys/${key.id}`, { requests_per_minute: 6 })).toMatchObject({
      ...limits,
      requests_per_minute: 6,
    });
    expect(await copy(secret)).toMatchObject({ ...limits, requests_per_minute: 6 });
    expect(await send("PUT", `/keys/${key.id}`, none)).toMatchObject(none);
    expect(await copy(secret)).toMatchObject(none);
  });

  it.each([
    ["tokens_per_minute", -1],
    ["requests_per_minute", 0.5],
    ["expires_at", "2027-02-30T00:00:00Z"],
    ["expires_at", "2027-01-01T00:00:00"],
    ["expires_at", 1],
    ["allowed_models", "a"],
    ["allowed_models", [1]],
  ])("refuses %s %j, and changes nothing", async (field, value) => {
    const { key } = await create();
    for (const [method, path] of [
      ["PUT", `/keys/${key.id}`],
      ["POST", `/tenants/${tenant.id}/keys`],
    ] as const) {
      const response = await control.request(method, `/api/v1${path}`, { [field]: value });
      const { error } = (await response.json()) as { error: { param: string } };
      expect({ status: response.status, param: error.param.split(".")[0] }).toEqual({ status: 400, param: field });
    }
    expect(await send("GET", `/keys/${key.id}`)).toEqual(key);
  });
});

it("a new key that has expired is refused, but a past time ends an existing one", async () => {
  const past = { expires_at: "2020-01-01T00:00:00Z" };
  const refused = await control.request("POST", `/api/v1/tenants/${tenant.id}/keys`, past);
  const { error } = (await refused.json()) as ErrorBody;
  expect({ status: refused.status, details: error.details }).toEqual({
    status: 400,
    details: [{ path: "expires_at", message: "must be in the future: the key would never be accepted" }],
  });
  const { key } = await create();
  expect(await send("PUT", `/keys/${key.id}`, past)).toMatchObject({ expires_at: "2020-01-01T00:00:00.000Z" });
});

describe("a rotation", () => {
  it("gives another secret to the same key, and ends the one before it at once", async () => {
    const { key, secret } = await create({ name: "n", budget_tokens: 9, expires_at: "2027-01-01T00:00:00Z" });
    control.cell.items.length = 0;
    const rotated = await rotate(key.id);
    expect(rotated.secret).toMatch(/^sk_[0-9a-f]{48}$/);
    expect(rotated.secret).not.toBe(secret);
    expect(rotated.key).toEqual({
      ...key,
      key_prefix: rotated.secret.slice(0, 18),
      updated_at: rotated.key.updated_at,
      rev: rotated.key.rev,
    });
    expect({ oldCopy: await copy(secret), newKeyId: (await copy(rotated.secret))?.key_id }).toEqual({
      oldCopy: null,
      newKeyId: key.id,
    });
    expect(new Set(told())).toEqual(new Set([hashOf(secret), hashOf(rotated.secret)]));
  });

  it("leaves the secret before it for its grace, and both copies follow every change", async () => {
    const { key, secret } = await create();
    const rotated = await rotate(key.id, { grace_secs: 60 });
    expect(rotated.key.previous_secret_until).toBe(new Date(nowMs + 60_000).toISOString());
    const both = async () => [await copy(secret), await copy(rotated.secret)];
    expect(await both()).toMatchObject([
      { key_id: key.id, key_hash: hashOf(secret), secret_until_ms: nowMs + 60_000 },
      { key_id: key.id, key_hash: hashOf(rotated.secret), secret_until_ms: null },
    ]);
    control.cell.items.length = 0;
    await send("PUT", `/keys/${key.id}/disabled`, { disabled: true });
    expect(await both()).toMatchObject([{ disabled: true }, { disabled: true }]);
    expect(new Set(told())).toEqual(new Set([hashOf(secret), hashOf(rotated.secret)]));
    await send("PATCH", `/tenants/${tenant.id}/weight`, { weight: 7 });
    expect(await both()).toMatchObject([{ tenant: { weight: 7 } }, { tenant: { weight: 7 } }]);
    await send("PATCH", "/fairshare/groups/default/weight", { weight: 70 });
    expect(await both()).toMatchObject([{ tenant: { group_weight: 70 } }, { tenant: { group_weight: 70 } }]);
    await control.store.put(
      [hashOf(secret), hashOf(rotated.secret)].map((hash) => ({ hotKey: storeKeys.key(hash), text: null })),
    );
    await control.resync.differing();
    expect((await both()).map((one) => one?.key_id)).toEqual([key.id, key.id]);
    await control.request("DELETE", `/api/v1/keys/${key.id}`);
    expect(await both()).toEqual([null, null]);
  });

  it("within the grace of another ends the older secret at once: two are admitted at most", async () => {
    const { key, secret } = await create();
    const second = await rotate(key.id, { grace_secs: 3600 });
    const third = await rotate(key.id, { grace_secs: 60 });
    expect(await copy(secret)).toBeNull();
    expect(told()).toContain(hashOf(secret));
    expect(await copy(second.secret)).toMatchObject({ secret_until_ms: nowMs + 60_000 });
    const fourth = await rotate(key.id);
    expect({ secondCopy: await copy(second.secret), thirdCopy: await copy(third.secret) }).toEqual({
      secondCopy: null,
      thirdCopy: null,
    });
    expect(await copy(fourth.secret)).toMatchObject({ secret_until_ms: null });
  });

  it("leaves a disabled key disabled, and removes both copies with the tenant", async () => {
    const other = await send<Tenant>("POST", "/tenants", { name: "other" });
    const { key, secret } = await send<CreatedKey>("POST", `/tenants/${other.id}/keys`, {});
    await send("PUT", `/keys/${key.id}/disabled`, { disabled: true });
    const rotated = await rotate(key.id, { grace_secs: 9 });
    expect(rotated.key.disabled).toBe(true);
    await control.request("DELETE", `/api/v1/tenants/${other.id}`);
    expect({ oldCopy: await copy(secret), newCopy: await copy(rotated.secret) }).toEqual({
      oldCopy: null,
      newCopy: null,
    });
  });

  it("is done once under an Idempotency-Key, and answers the same secret again", async () => {
    const { key } = await create();
    const once = async (): Promise<CreatedKey> =>
      (await (
        await control.request("POST", `/api/v1/keys/${key.id}/rotate`, { grace_secs: 5 }, { "idempotency-key": key.id })
      ).json()) as CreatedKey;
    expect(await once()).toEqual(await once());
  });

  it.each([-1, 0.5, 604_801, 1e308, "60", { secs: 1 }])("refuses a grace of %j", async (grace_secs) => {
    const { key, secret } = await create();
    const response = await control.request("POST", `/api/v1/keys/${key.id}/rotate`, { grace_secs });
    expect({
      status: response.status,
      param: ((await response.json()) as { error: { param: string } }).error.param,
    }).toEqual({ status: 400, param: "grace_secs" });
    expect((await copy(secret))?.key_id).toBe(key.id);
  });

  it("is refused for the key of an identity, which has no secret", async () => {
    const identity = { issuer: "https://issuer", subject: "s", name: "s", tenant: "acme" };
    await provisionIdentity(control.ctx, identity);
    const [key] = await send<ApiKey[]>("GET", "/keys?q=jwt");
    const response = await control.request("POST", `/api/v1/keys/${key?.id ?? ""}/rotate`, {});
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param: "id" } },
    });
    const hash = identityKeyHash(identity.issuer, identity.subject);
    expect(await control.store.get([storeKeys.key(hash)])).not.toEqual([null]);
  });
});

describe("a secret whose grace has ended", () => {
  it("is forgotten with its copy, and the key keeps its current secret", async () => {
    const { key, secret } = await create();
    const rotated = await rotate(key.id, { grace_secs: 60 });
    const begun = nowMs;
    nowMs = begun + 59_999;
    await forgetEndedSecrets(control.ctx);
    expect(await copy(secret)).toMatchObject({ secret_until_ms: begun + 60_000 });
    nowMs = begun + 60_000;
    control.cell.items.length = 0;
    const before = await copy(rotated.secret);
    expect(await forgetEndedSecrets(control.ctx)).toEqual({ forgotten: 1 });
    expect({ oldCopy: await copy(secret), newCopy: await copy(rotated.secret) }).toEqual({
      oldCopy: null,
      newCopy: before,
    });
    expect(told()).toContain(hashOf(secret));
    expect(told()).not.toContain(hashOf(rotated.secret));
    expect(await send("GET", `/keys/${key.id}`)).toMatchObject({ previous_secret_until: null });
    expect(await forgetEndedSecrets(control.ctx)).toEqual({ forgotten: 0 });
  });
});

describe("a restored backup", () => {
  it("restores a key with the secrets of the file and drops the copies of all others", async () => {
    const { key, secret } = await create();
    const second = await rotate(key.id, { grace_secs: 3600 });
    const file = await send<Backup>("GET", "/backup/export");
    const third = await rotate(key.id, { grace_secs: 3600 });
    control.cell.items.length = 0;
    await send("POST", "/backup/restore", file);
    expect({
      thirdCopy: await copy(third.secret),
      firstCopy: await copy(secret),
      secondCopy: await copy(second.secret),
    }).toMatchObject({
      thirdCopy: null,
      firstCopy: { key_id: key.id, secret_until_ms: nowMs + 3_600_000 },
      secondCopy: { key_id: key.id, secret_until_ms: null },
    });
    expect(told()).toContain(hashOf(third.secret));
    expect(control.cell.items.map(({ kind }) => kind)).toContain("all");
  });

  it("ends the previous secret when the file lacks it, even if the current one is the same", async () => {
    const { key, secret } = await create();
    const rotated = await rotate(key.id, { grace_secs: 3600 });
    const file = await send<Backup>("GET", "/backup/export");
    const api_keys = file.data.api_keys.map((row) =>
      row.id === key.id ? { ...row, previous_key_hash: null, previous_secret_until: null } : row,
    );
    await send("POST", "/backup/restore", { ...file, data: { ...file.data, api_keys } });
    expect({ oldCopy: await copy(secret), newKeyId: (await copy(rotated.secret))?.key_id }).toEqual({
      oldCopy: null,
      newKeyId: key.id,
    });
    expect(told()).toContain(hashOf(secret));
  });

  it("of an older gateway, whose keys have none of these fields, makes keys that never end", async () => {
    const { key, secret } = await create({ expires_at: "2027-01-01T00:00:00Z", allowed_models: ["a"] });
    const file = await send<Backup>("GET", "/backup/export");
    const newer = ["expires_at", "allowed_models", "previous_key_hash", "previous_secret_until"];
    const api_keys = file.data.api_keys.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !newer.includes(name))),
    );
    await send("POST", "/backup/restore", { ...file, data: { ...file.data, api_keys } });
    expect(await send("GET", `/keys/${key.id}`)).toMatchObject({ expires_at: null, allowed_models: null });
    expect(await copy(secret)).toMatchObject({ expires_at_ms: null, allowed_models: null, secret_until_ms: null });
  });
});
