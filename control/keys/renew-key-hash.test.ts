/**
 * Keys whose hashes were made with an old pepper (docs/rules/keys.md#peppers), and what the status of a rotation says of them.
 *
 * @module-tag check
 */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hashKeySecret, pepperId } from "../../shared/access/api-key.ts";
import { storeKeys } from "../../shared/records.ts";
import type { ApiKey, CreatedKey } from "../../shared/schema/api-key.ts";
import { KEY_HASHES_PATH } from "../../shared/schema/key-hash.ts";
import type { Rotation } from "../../shared/schema/rotation.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { INTERNAL_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";
import { provisionIdentity } from "../tenants/provision-identity.ts";
import { createKey } from "./create-key.ts";
import { notePeppers } from "./note-peppers.ts";
import { rotateKey } from "./rotate-key.ts";

let control: TestControl;
let tenant: Tenant;

beforeAll(async () => {
  control = await startControl({ pepper: "new", oldPeppers: ["old"] });
  tenant = await control.must<Tenant>("POST", "/tenants", { name: "acme" });
  await provisionIdentity(control.ctx, { issuer: "https://id.example", subject: "ada", name: "Ada", tenant: "acme" });
});
afterAll(async () => {
  await control.close();
});

/** The context of a service that has not got the new pepper. */
const before = () => ({ ...control.ctx, pepper: "old", oldPeppers: [] });

async function keyOfBefore(): Promise<CreatedKey> {
  return (await createKey(before(), tenant.id, { name: "of before" })).record;
}

async function renew(secret: string, changes: object = {}): Promise<Response> {
  const body = {
    key_hash: hashKeySecret(secret, "old"),
    new_key_hash: hashKeySecret(secret, "new"),
    pepper: pepperId("new"),
    ...changes,
  };
  return await control.request("POST", KEY_HASHES_PATH, body, { authorization: `Bearer ${INTERNAL_TOKEN}` });
}

/** Whether the store has a copy under the hash with each pepper. */
async function copies(secret: string): Promise<{ readonly old: boolean; readonly new: boolean }> {
  const names = ["old", "new"].map((pepper) => storeKeys.key(hashKeySecret(secret, pepper)));
  const [old, fresh] = await control.store.get(names);
  return { old: old !== null, new: fresh !== null };
}

const left = async (): Promise<Rotation["api_key_pepper"]> =>
  (await control.must<Rotation>("GET", "/rotation")).api_key_pepper;

it("a key's hash is renewed, and nothing else of it", async () => {
  const { key, secret } = await keyOfBefore();
  expect(await copies(secret)).toEqual({ old: true, new: false });
  expect(await left()).toEqual({
    old_peppers: 1,
    keys_left: 1,
    keys_invalid: 0,
    first_left: [{ id: key.id, tenant_id: tenant.id, name: "of before", key_prefix: key.key_prefix }],
  });
  const answer = await renew(secret);
  expect({ status: answer.status, body: await answer.json() }).toEqual({ status: 200, body: { renewed: true } });
  expect(await copies(secret)).toEqual({ old: false, new: true });
  const { rev, ...now } = await control.must<ApiKey>("GET", `/keys/${key.id}`);
  const { rev: revBefore, ...then } = key;
  expect({ now, isNewer: rev > revBefore }).toEqual({ now: then, isNewer: true });
  expect(await left()).toEqual({ old_peppers: 1, keys_left: 0, keys_invalid: 0, first_left: [] });
  expect(await (await renew(secret)).json()).toEqual({ renewed: false });
});

it("the hash of the secret before a rotation is renewed separately", async () => {
  const { key, secret } = await keyOfBefore();
  const rotated = (await rotateKey(control.ctx, key.id, { grace_secs: 3600 })).record;
  expect((await left()).keys_left).toBe(1);
  expect(await (await renew(secret)).json()).toEqual({ renewed: true });
  expect({ previous: await copies(secret), current: await copies(rotated.secret) }).toEqual({
    previous: { old: false, new: true },
    current: { old: false, new: true },
  });
  expect((await left()).keys_left).toBe(0);
});

it("a Worker with another pepper than the control service renews nothing", async () => {
  const { key, secret } = await keyOfBefore();
  expect(await (await renew(secret, { pepper: pepperId("another") })).json()).toEqual({ renewed: false });
  expect(await copies(secret)).toEqual({ old: true, new: false });
  await control.must("DELETE", `/keys/${key.id}`);
});

it("a key whose pepper is not accepted is invalid, and no use of it is awaited", async () => {
  const unaccepted = { ...control.ctx, pepper: undefined, oldPeppers: [] };
  const { key } = (await createKey(unaccepted, tenant.id, { name: "before the first pepper" })).record;
  expect(await left()).toEqual({ old_peppers: 1, keys_left: 0, keys_invalid: 1, first_left: [] });
  await control.must("DELETE", `/keys/${key.id}`);
});

it("a hash that no key has changes nothing, and a malformed one is refused", async () => {
  expect(await (await renew("sk_of_nobody")).json()).toEqual({ renewed: false });
  expect((await renew("sk_of_nobody", { new_key_hash: "jwt:" })).status).toBe(400);
  const stranger = await control.request("POST", KEY_HASHES_PATH, {});
  expect(stranger.status).toBe(404);
});

it("a start without old peppers takes hashes of unknown pepper for the current one", async () => {
  const { key } = await keyOfBefore();
  const stored = async () => {
    const { rows } = (await control.connection.db.execute(
      sql`SELECT key_pepper FROM api_keys WHERE id = ${key.id} OR key_hash LIKE 'jwt:%' ORDER BY key_hash LIKE 'jwt:%'`,
    )) as unknown as { rows: { key_pepper: string | null }[] };
    return rows.map(({ key_pepper }) => key_pepper);
  };
  await control.connection.db.execute(sql`UPDATE api_keys SET key_pepper = NULL WHERE id = ${key.id}`);
  await notePeppers(control.ctx);
  expect(await stored()).toEqual([null, null]);
  await notePeppers(before());
  expect(await stored()).toEqual([pepperId("old"), null]);
  expect((await left()).keys_left).toBe(1);
});
