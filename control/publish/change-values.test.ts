/** @module-tag check */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { Change } from "../../shared/wire/internal.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let tenant: Tenant;
let model: Model;

beforeAll(async () => {
  control = await startControl();
  await send("POST", "/fairshare/groups", { name: "gold", weight: 500 });
  tenant = await send<Tenant>("POST", "/tenants", { name: "t" });
  model = await send<Model>("POST", "/models", { model_name: "m" });
});
afterAll(async () => {
  await control.close();
});
beforeEach(() => {
  control.cell.changes.length = 0;
});

async function send<T>(method: string, path: string, body: unknown): Promise<T> {
  const response = await control.request(method, `/api/v1${path}`, body);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

/** What the cell got beside the record and its revision. */
function received(): readonly Omit<Change, "rev">[] {
  return control.cell.changes.map(({ rev: _rev, ...rest }) => rest);
}

it("sends a cell the weight, the group and the cap of a changed tenant", async () => {
  await send("PATCH", `/tenants/${tenant.id}/weight`, { weight: 7 });
  await send("PUT", `/tenants/${tenant.id}/quota`, { tokens_per_minute: 60, max_in_flight: 3 });
  await send("PATCH", `/tenants/${tenant.id}/group`, { fairshare_group: "gold" });
  const change = { kind: "tenant", id: tenant.id };
  const common = { group: { name: "default", weight: 100 } };
  expect(received()).toEqual([
    { ...change, tenant: { ...common, weight: 7, max_in_flight: null } },
    { ...change, tenant: { ...common, weight: 7, max_in_flight: 3 } },
    { ...change, tenant: { group: { name: "gold", weight: 500 }, weight: 7, max_in_flight: 3 } },
  ]);
});

it("sends it the weight of a changed group, and cap and weight of a changed model", async () => {
  await send("PATCH", "/fairshare/groups/gold/weight", { weight: 400 });
  await send("PUT", `/models/${model.id}/capacity`, { max_in_flight: 2 });
  await send("PUT", `/models/${model.id}/weight`, { admission_weight: 50 });
  expect(received()).toEqual([
    { kind: "group", id: "gold", group: { weight: 400 } },
    { kind: "model", id: "m", model: { max_in_flight: 2, admission_weight: 100, adaptive: null } },
    { kind: "model", id: "m", model: { max_in_flight: 2, admission_weight: 50, adaptive: null } },
  ]);
});

it("sends it the values as they are when the change reaches it at last", async () => {
  control.cell.fail = true;
  await control.request("PATCH", `/api/v1/tenants/${tenant.id}/weight`, { weight: 8 });
  await control.request("PATCH", `/api/v1/tenants/${tenant.id}/weight`, { weight: 9 });
  control.cell.fail = false;
  expect(await control.publisher.publishDue(new Date(Date.now() + 60_000))).toBe(0);
  // what was sent of either write may still be under way when the cell is up again: it believes the newest revision
  const newest = Math.max(...control.cell.changes.map(({ rev }) => rev));
  const believed = control.cell.changes.filter(({ rev }) => rev === newest);
  expect(new Set(believed.map((change) => change.tenant?.weight))).toEqual(new Set([9]));
});

it("sends it nothing of what is gone", async () => {
  expect((await control.request("DELETE", `/api/v1/models/${model.id}`)).status).toBe(204);
  expect({ received: received(), lastItem: control.cell.items.at(-1) }).toMatchObject({
    received: [],
    lastItem: { kind: "model", id: "m" },
  });
});

it("sends it the limits of a changed tenant or key that has a budget", async () => {
  const { key } = await send<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: "k" });
  control.cell.changes.length = 0;
  const budget = { budget_tokens: 100, budget_cost_usd: null, budget_period: "lifetime" };
  await send("PATCH", `/tenants/${tenant.id}/budget`, budget);
  await send("PUT", `/keys/${key.id}`, { budget_tokens: 7 });
  const ofTenant = { id: tenant.id, budget: { tokens: 100, cost_usd: null, period: "lifetime" } };
  expect(received()).toMatchObject([
    { kind: "tenant", budget: { tenant: ofTenant, key: null } },
    { kind: "key", budget: { tenant: ofTenant, key: { key_id: key.id, budget: { tokens: 7 } } } },
  ]);
});
