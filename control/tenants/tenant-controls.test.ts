/** @module-tag check */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ResolvedKey, resolvedKeySchema } from "../../shared/records.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let tenant: Tenant;
let count = 0;

beforeAll(async () => {
  control = await startControl();
  await control.request("POST", "/api/v1/fairshare/groups", { name: "gold", weight: 300 });
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  count += 1;
  const body = { name: `tenant-${count}`, weight: 7, tokens_per_minute: 60, max_in_flight: 4 };
  tenant = (await (await control.request("POST", "/api/v1/tenants", body)).json()) as Tenant;
  await control.request("POST", `/api/v1/tenants/${tenant.id}/keys`, {});
  control.cell.items.length = 0;
});

async function read(): Promise<Tenant> {
  return (await (await control.request("GET", `/api/v1/tenants/${tenant.id}`)).json()) as Tenant;
}

/** The copy of the tenant's only key. */
async function keyCopy(): Promise<ResolvedKey | undefined> {
  const names: string[] = [];
  for await (const batch of control.store.scan("key:*")) names.push(...batch);
  const copies = (await control.store.get(names)).map((text) => resolvedKeySchema.parse(JSON.parse(text ?? "null")));
  return copies.find((copy) => copy.tenant?.id === tenant.id);
}

describe("controls of a tenant", () => {
  it.each([
    ["PATCH", "weight", { weight: 1_000_000 }, { weight: 1_000_000 }],
    ["PUT", "quota", { tokens_per_minute: 600, max_in_flight: 9 }, { tokens_per_minute: 600, max_in_flight: 9 }],
    ["PUT", "quota", { tokens_per_minute: 0 }, { tokens_per_minute: 0, max_in_flight: null }],
    ["PUT", "quota", { tokens_per_minute: 5, max_in_flight: null }, { tokens_per_minute: 5, max_in_flight: null }],
    [
      "PUT",
      "quota",
      { tokens_per_minute: 60, requests_per_minute: 3 },
      { requests_per_minute: 3, max_in_flight: null },
    ],
    ["PATCH", "group", { fairshare_group: " gold " }, { fairshare_group: "gold" }],
  ])("%s %s %j changes only that, in the record and in the copy", async (method, part, body, changed) => {
    const response = await control.request(method, `/api/v1/tenants/${tenant.id}/${part}`, body);
    expect({ status: response.status, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
      status: 200,
      "x-gateway-sync": null,
    });
    const after = (await response.json()) as Tenant;
    expect(after).toEqual({ ...tenant, ...changed, updated_at: after.updated_at, rev: after.rev });
    expect(await read()).toEqual(after);
    const copy = await keyCopy();
    expect(copy?.tenant).toMatchObject(changed);
    expect(control.cell.items).toEqual([{ kind: "tenant", id: tenant.id, rev: copy?.tenant?.rev }]);
  });

  it("bring the weight of the group that the tenant joins", async () => {
    await control.request("PATCH", `/api/v1/tenants/${tenant.id}/group`, { fairshare_group: "gold" });
    expect((await keyCopy())?.tenant?.group_weight).toBe(300);
  });

  it.each([
    ["PATCH", "weight", {}, "weight"],
    ["PATCH", "weight", { weight: 0 }, "weight"],
    ["PATCH", "weight", { weight: 2.5 }, "weight"],
    ["PATCH", "weight", { weight: 1_000_001 }, "weight"],
    ["PUT", "quota", {}, "tokens_per_minute"],
    ["PUT", "quota", { max_in_flight: 3 }, "tokens_per_minute"],
    ["PUT", "quota", { tokens_per_minute: -1 }, "tokens_per_minute"],
    ["PUT", "quota", { tokens_per_minute: 1, requests_per_minute: -1 }, "requests_per_minute"],
    ["PUT", "quota", { tokens_per_minute: 1, requests_per_minute: null }, "requests_per_minute"],
    ["PUT", "quota", { tokens_per_minute: 1, max_in_flight: 0 }, "max_in_flight"],
    ["PATCH", "group", {}, "fairshare_group"],
    ["PATCH", "group", { fairshare_group: " " }, "fairshare_group"],
    ["PATCH", "group", { fairshare_group: null }, "fairshare_group"],
  ])("%s %s refuses %j by naming %s, and changes nothing", async (method, part, body, field) => {
    const copy = await keyCopy();
    const response = await control.request(method, `/api/v1/tenants/${tenant.id}/${part}`, body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: field, details: [{ path: field }] } },
    });
    expect({ read: await read(), keyCopy: await keyCopy(), items: control.cell.items }).toEqual({
      read: tenant,
      keyCopy: copy,
      items: [],
    });
  });

  it("name a group that does not exist, and change nothing", async () => {
    const path = `/api/v1/tenants/${tenant.id}/group`;
    const response = await control.request("PATCH", path, { fairshare_group: "nowhere" });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "unknown_fairshare_group", message: "fairshare group 'nowhere' does not exist" } },
    });
    expect({ read: await read(), items: control.cell.items }).toEqual({ read: tenant, items: [] });
  });
});
