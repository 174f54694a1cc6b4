/**
 * The same amount is the same number in every read, to 9 decimals (docs/rules/usage-reads.md#money), against the real
 * engine.
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CreatedKey } from "../../../shared/schema/api-key.ts";
import type { Model } from "../../../shared/schema/model.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { ledgerRow, TestLedger } from "../../../test/harness/ledger.ts";
import { storePrices } from "../../../test/harness/stored-prices.ts";

const ledger = new TestLedger();
ledger.use();
let control: TestControl;

beforeAll(async () => {
  control = await startControl({ analytics: ledger.store });
});
afterAll(async () => {
  await control.close();
});

const get = async (path: string): Promise<unknown> => await (await control.request("GET", `/api/v1${path}`)).json();

/** Every field of an answer that is in USD. */
function usdOf(answer: unknown): Record<string, number> {
  const found: Record<string, number> = {};
  JSON.stringify(answer, (name, value: unknown) => {
    if (typeof value === "number" && /_usd$|^cost$|_cost$/.test(name)) found[name] = value;
    return value;
  });
  return found;
}

it("of one request with more decimals than are shown", async () => {
  const tenant = (await (await control.request("POST", "/api/v1/tenants", { name: "t" })).json()) as Tenant;
  const made = await control.request("POST", `/api/v1/tenants/${tenant.id}/keys`);
  const { key } = (await made.json()) as CreatedKey;
  const fields = { model_name: "priced", input_cost_per_token: 0.0000001234567 };
  const { id } = await control.must<Model>("POST", "/models", fields);
  await storePrices(control, id, { output_cost_per_token: 1e308 });
  const cost = { cost_usd: 0.000001234567, energy_cost_usd: 0.0000000456789 };
  const of = { tenant_id: tenant.id, key_id: key.id, model: "priced" };
  await ledger.insert([
    ledgerRow(Date.now() - 1000, { ...of, ...cost, request_id: randomUUID(), input_tokens: 10, output_tokens: 20 }),
  ]);
  const paths = [
    "/usage/logs",
    ...["tenant", "key", "model"].map((group) => `/usage?group_by=${group}`),
    "/usage/keys",
    "/usage/keys/summary",
    `/keys/${key.id}/usage`,
    "/usage/models",
    ...["day", "tenant", "key", "model", "key_model"].map((group) => `/usage/daily?group_by=${group}`),
    "/usage/series",
    "/usage/series/tenants",
    "/usage/breakdown",
    "/costs",
    ...["/usage/daily", "/usage/breakdown", "/costs"].map((path) => `${path}?timezone=Asia/Kolkata`),
    "/overview/summary",
  ];
  for (const path of paths) {
    const { input_cost, output_cost, energy_cost_usd, ...frozen } = usdOf(await get(path));
    expect({ path, costs: new Set(Object.values(frozen)) }).toEqual({ path, costs: new Set([0.000001235]) });
    if (energy_cost_usd !== undefined)
      expect({ path, energy_cost_usd }).toEqual({ path, energy_cost_usd: 0.000000046 });
    if (path.startsWith("/costs"))
      expect({ input_cost, output_cost }).toEqual({ input_cost: 0.000001235, output_cost: Number.MAX_VALUE });
  }
});

it("of many requests whose costs binary fractions cannot hold", async () => {
  const now = Date.now();
  await ledger.insert(Array.from({ length: 1000 }, (_, at) => ledgerRow(now - 1000 - at, { cost_usd: 0.0000001 })));
  expect(usdOf(await get("/usage"))).toEqual({ cost_usd: 0.0001 });
  expect(usdOf(await get("/usage/daily"))).toEqual({ cost_usd: 0.0001, energy_cost_usd: 0 });
  expect(usdOf(await get("/overview/summary"))).toEqual({ cost: 0.0001 });
});

it("of sums that exceed the largest number", async () => {
  const most = { cost_usd: 1.7e308, energy_wh: 1.7e308, energy_cost_usd: 1.7e308, co2_g: 1.7e308 };
  await ledger.insert([1, 2, 3].map((at) => ledgerRow(Date.now() - 1000 * at, most)));
  for (const path of ["/usage", "/usage/keys/summary", "/usage/models", "/usage/daily", "/usage/series", "/costs"]) {
    const [row] = (await get(path)) as Record<string, unknown>[];
    const figures = Object.entries(row ?? {}).filter(([name]) => /_usd$|_wh$|^co2_g$|_cost$/.test(name));
    for (const [name, figure] of figures.filter(([name]) => !/^(in|out)put/.test(name)))
      expect({ path, name, figure }).toEqual({ path, name, figure: Number.MAX_VALUE });
  }
  expect(await get("/overview/summary")).toMatchObject({ cost: Number.MAX_VALUE });
});
