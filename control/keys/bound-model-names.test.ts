/**
 * The lists of models that users of a tenant give its keys (docs/rules/keys.md#admins-and-users): bounded for all keys together.
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";
import { userCredential } from "../api/guard.ts";

let control: TestControl;
beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

const listOf = (count: number) => Array.from({ length: count }, (_, nth) => `${nth}-${"x".repeat(185)}`);

it("a user lengthens no list beyond the bound; shorter ones, and an admin's, are taken", async () => {
  const { id } = await control.must<Tenant>("POST", "/tenants", { name: "long lists" });
  const asUser = async (method: string, path: string, body: object) =>
    await control.app.request(`/api/v1${path}`, {
      method,
      headers: { authorization: userCredential(id, ADMIN_TOKEN), "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const keys: string[] = [];
  const create = async (names: number) =>
    await asUser("POST", `/tenants/${id}/keys`, { name: "k", allowed_models: listOf(names) });
  const filled = async (names: number): Promise<Response> => {
    const answer = await create(names);
    if (answer.status !== 200) return answer;
    keys.push(((await answer.json()) as CreatedKey).key.id);
    return await filled(names);
  };
  const refused = await filled(1000);
  expect({ keys: keys.length, status: refused.status, body: await refused.json() }).toMatchObject({
    keys: 5,
    status: 400,
    body: { error: { code: "validation_failed", param: "allowed_models" } },
  });
  await filled(20);
  const longest = { name: "a", allowed_models: listOf(1040) };
  const statuses = {
    longer: (await asUser("PUT", `/keys/${keys[0]}`, longest)).status,
    renamed: (await asUser("PUT", `/keys/${keys[1]}`, { name: "n" })).status,
    admin: (await control.request("POST", `/api/v1/tenants/${id}/keys`, longest)).status,
    shorter: (await asUser("PUT", `/keys/${keys[0]}`, { allowed_models: listOf(900) })).status,
    none: (await asUser("POST", `/tenants/${id}/keys`, { name: "s" })).status,
  };
  expect(statuses).toEqual({ longer: 400, renamed: 200, admin: 200, shorter: 200, none: 200 });
});

it("lists are bounded by bytes, and the audit log keeps some KB of a change", async () => {
  const { id } = await control.must<Tenant>("POST", "/tenants", { name: "long names" });
  const { key } = await control.must<CreatedKey>("POST", `/tenants/${id}/keys`, { name: "k" });
  const put = async (allowed_models: readonly string[]) =>
    (await control.request("PUT", `/api/v1/keys/${key.id}`, { allowed_models })).status;
  const names = (count: number, mark: string) =>
    Array.from({ length: count }, (_, at) => `${mark}${at}`.padEnd(100, "漢"));
  expect([await put(names(1600, "a")), await put(names(650, "a")), await put(names(650, "b"))]).toEqual([
    400, 200, 200,
  ]);
  const [entry] = await control.must<readonly AuditEntry[]>("GET", `/audit?entity_id=${key.id}`);
  const kept = JSON.stringify(entry?.detail);
  expect({ isShort: kept.length < 20_000, names: kept.includes(names(1, "b")[0] ?? "") }).toEqual({
    isShort: true,
    names: true,
  });
});
