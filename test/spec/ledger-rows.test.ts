/** The fields of a row of the ledger (docs/rules/settlement-and-rows.md#rows), and the rows that reads leave out. */
import { describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { ModelCost } from "../../shared/schema/cost-reads.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { DailyUsage } from "../../shared/schema/usage-reads.ts";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

/** Every documented field. */
const FIELDS = [
  "request_id,ts_ms,tenant_id,key_id,model,request_type,session_id,session_id_source,admission,weight,status_code",
  "input_tokens,output_tokens,total_tokens,estimated_tokens,queue_wait_ms,ttft_ms,total_ms,cache_status,cost_usd",
  "energy_wh,energy_cost_usd,co2_g,tenant_name,key_name,key_prefix,has_trace,cell,upstream_status",
].flatMap((line) => line.split(","));

describe("a row of the request log", () => {
  it("has every documented field, numbers as numbers", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await fixture.gateway.chat(minted);
    await response.text();
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    const record: Readonly<Record<string, unknown>> = { ...row };
    expect(Object.keys(record)).toEqual(expect.arrayContaining(FIELDS));
    for (const name of FIELDS.filter((field) => /(_ms|_tokens|_usd|_wh|_g|weight|_code)$/.test(field)))
      expect({ name, type: typeof record[name] }).toEqual({ name, type: "number" });
    expect(row).toMatchObject({ has_trace: false, energy_wh: 0, key_name: `key of ${minted.mark}` });
  });

  it("keeps the price of its time when the model's price changes", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await fixture.gateway.chat(minted);
    await response.text();
    const requestId = response.headers.get("x-gateway-request-id");
    const { cost_usd } = await fixture.gateway.row(minted.tenant.id, requestId);
    const costs = async (): Promise<readonly unknown[]> => {
      const of = `tenant_id=${minted.tenant.id}`;
      const daily = await fixture.gateway.must<DailyUsage[]>("GET", `/usage/daily?${of}&group_by=tenant`);
      const models = await fixture.gateway.must<ModelCost[]>("GET", `/costs?${of}`);
      return [daily[0]?.cost_usd, models[0]?.total_cost];
    };
    expect(await waitFor(costs, ([inRollup]) => inRollup !== undefined)).toEqual([cost_usd, cost_usd]);
    const { upstream_model, api_base } = minted.model;
    const path = `/models/${minted.model.id}`;
    await fixture.gateway.must("PUT", path, { upstream_model, api_base, input_cost_per_token: 99 });
    expect(await fixture.gateway.row(minted.tenant.id, requestId)).toMatchObject({ cost_usd, total_tokens: 33 });
    expect(await costs()).toEqual([cost_usd, cost_usd]);
  });
});

describe("a synthetic tenant", () => {
  it("is left out of every read unless internal traffic is asked for", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const name = `synthetic ${minted.mark}`;
    const tenant = await fixture.gateway.must<Tenant>("POST", "/tenants", { name, synthetic: true });
    const { key, secret } = await fixture.gateway.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, {});
    await (await fixture.gateway.chat({ ...minted, tenant, key, secret })).text();
    const rows = await waitFor(
      async () => await fixture.gateway.rows(tenant.id, "&include_internal=true"),
      (found) => found.length > 0,
    );
    expect(rows).toMatchObject([{ request_type: "benchmark", total_tokens: 33 }]);
    expect(await fixture.gateway.rows(tenant.id)).toEqual([]);
    const usage = async (query: string): Promise<readonly { requests: number }[]> =>
      await fixture.gateway.must("GET", `/usage/models?model=${minted.model.model_name}${query}`);
    expect(await usage("&include_internal=true")).toMatchObject([{ requests: 1 }]);
    expect(await usage("")).toEqual([]);
  });
});
