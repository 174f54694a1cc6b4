/**
 * What a file may say of the tenant that the gateway makes for its assistant: nothing (docs/rules/backup.md#restore).
 *
 * @module-tag check
 */
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Backup, RestoreReport } from "../../shared/schema/backup.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { UNPROVEN } from "../../test/harness/secret-backup.ts";
import { apiKeys, tenants } from "../db/schema/tenancy.ts";
import { ASSISTANT_TENANT_ID } from "../tenants/own-tenants.ts";

let control: TestControl;
beforeAll(async () => {
  control = await startControl();
  const tenant = await send<Tenant>("POST", "/tenants", { name: "Of an admin" });
  await send("POST", `/tenants/${tenant.id}/keys`, {});
  await send("POST", "/assistant/key");
});
afterAll(async () => {
  await control.close();
});

async function send<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await control.request(method, `/api/v1${path}`, body);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

async function stored() {
  const { db } = control.connection;
  return {
    tenants: await db.select().from(tenants).where(eq(tenants.id, ASSISTANT_TENANT_ID)),
    keys: await db.select().from(apiKeys).where(eq(apiKeys.tenant_id, ASSISTANT_TENANT_ID)),
  };
}

it.each([ASSISTANT_TENANT_ID, ASSISTANT_TENANT_ID.toUpperCase()])(
  "rows of the tenant %s are left out, with a warning, and its own stay as they are",
  async (id) => {
    const before = await stored();
    expect({ tenantCount: before.tenants.length, keyCount: before.keys.length }).toEqual({
      tenantCount: 1,
      keyCount: 1,
    });
    const file = await send<Backup>("GET", "/backup/export");
    const [tenant, key] = [file.data.tenants[0], file.data.api_keys[0]];
    if (tenant === undefined || key === undefined) throw new Error("a tenant and a key expected");
    const foreign = { ...key, id: "00000000-0000-4000-8000-000000000001", tenant_id: id, key_hash: "f".repeat(64) };
    file.data.tenants.unshift({ ...tenant, id, name: "gateway-assistant", description: "taken over" });
    file.data.api_keys.unshift(foreign);
    for (const query of ["?dry_run=true", ""])
      expect(await send<RestoreReport>("POST", `/backup/restore${query}`, file)).toMatchObject({
        tenants: { inserted: 0, updated: 1 },
        api_keys: { inserted: 0, updated: 1 },
        warnings: [
          UNPROVEN,
          "tenant 'gateway-assistant': the gateway creates its assistant's tenant and keys itself; not restored: 1 in tenants, 1 in api_keys",
        ],
      });
    expect(await stored()).toEqual(before);
  },
);

it("the assistant's tenant is renamed, with a warning, when a tenant of the file has its name", async () => {
  const before = await stored();
  const file = await send<Backup>("GET", "/backup/export");
  const [tenant] = file.data.tenants;
  if (tenant === undefined) throw new Error("a tenant expected");
  const named = (at: number, name: string) => ({ ...tenant, id: `00000000-0000-4000-8000-00000000000${at}`, name });
  file.data.tenants.push(named(1, "gateway-assistant"), named(2, "gateway-assistant-2"));
  const report = {
    tenants: { inserted: 2, updated: 1 },
    warnings: [
      UNPROVEN,
      "tenant 'gateway-assistant': the backup has a tenant with this name; the gateway's assistant tenant had it and is now called 'gateway-assistant-3'",
    ],
  };
  expect(await send("POST", "/backup/restore?dry_run=true", file)).toMatchObject(report);
  expect(await stored()).toEqual(before);
  expect(await send("POST", "/backup/restore", file)).toMatchObject(report);
  expect(await send("POST", "/backup/restore", file)).toMatchObject({ tenants: { inserted: 0 }, warnings: [UNPROVEN] });
  await send("POST", "/assistant/key");
  const after = await stored();
  expect({ name: after.tenants[0]?.name, keyCount: after.keys.length }).toEqual({
    name: "gateway-assistant-3",
    keyCount: 2,
  });
});

it("another tenant that has its name first does not keep the assistant from being made", async () => {
  const { db } = control.connection;
  await db.delete(apiKeys).where(eq(apiKeys.tenant_id, ASSISTANT_TENANT_ID));
  await db.delete(tenants).where(eq(tenants.id, ASSISTANT_TENANT_ID));
  await send("POST", "/assistant/key");
  expect((await stored()).tenants[0]?.name).toBe("gateway-assistant-3");
});
