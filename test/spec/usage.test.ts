/** What the usage reads say of traffic with known numbers (docs/rules/usage-reads.md#shapes). */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelUsage } from "../../shared/schema/usage.ts";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

async function usageOf(query: string): Promise<readonly ModelUsage[]> {
  return await fixture.gateway.must("GET", `/usage/models?${query}`);
}

describe("usage per model", () => {
  it("adds up tokens and frozen cost, averages over answers only, and puts most tokens first", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=30", { output_cost_per_token: 0.02 });
    const second = await fixture.gateway.must<CreatedKey>("POST", `/tenants/${minted.tenant.id}/keys`, { name: "two" });
    const failing = await fixture.gateway.must<Model>("POST", "/models", {
      model_name: `failing-${minted.mark}`,
      upstream_model: "status=500",
      api_base: fixture.upstream.url,
    });
    for (const secret of [minted.secret, minted.secret, second.secret])
      await (await fixture.gateway.chat({ ...minted, secret })).text();
    await fixture.gateway.must("PUT", `/models/${minted.model.id}`, { ...minted.model, input_cost_per_token: 9 });
    await (await fixture.gateway.chat({ ...minted, model: failing })).text();
    const usage = await waitFor(
      async () => await usageOf(`tenant_id=${minted.tenant.id}`),
      (rows) => rows.reduce((sum, row) => sum + row.requests, 0) === 4,
    );
    expect(usage.map((row) => row.model)).toEqual([minted.model.model_name, failing.model_name]);
    expect(usage[0]).toMatchObject({
      requests: 3,
      input_tokens: 33,
      output_tokens: 66,
      total_tokens: 99,
      cost_usd: 1.353,
      avg_prompt_tokens: 11,
      avg_gen_tokens: 22,
      users: 2,
    });
    expect(usage[0]?.gen_tokens_per_sec).toBeGreaterThan(0);
    expect(usage[0]?.agg_tokens_per_sec).toBeGreaterThanOrEqual(0);
    expect(usage[0]?.avg_total_ms).toBeGreaterThanOrEqual(30);
    expect(usage[1]).toMatchObject({
      requests: 1,
      total_tokens: 0,
      cost_usd: 0,
      gen_tokens_per_sec: 0,
      avg_ttft_ms: 0,
      p50_total_ms: 0,
      users: 1,
    });
    expect(await usageOf(`key_id=${second.key.id}`)).toMatchObject([{ requests: 1, total_tokens: 33 }]);
    expect(await usageOf(`tenant_id=${minted.tenant.id}&until_ms=1`)).toEqual([]);
    expect(await usageOf(`tenant_id=${randomUUID()}`)).toEqual([]);
  });
});

describe("the request log", () => {
  it("names the tenant and the key, also after both are deleted", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await fixture.gateway.chat(minted);
    await response.text();
    const requestId = response.headers.get("x-gateway-request-id");
    expect(await fixture.gateway.row(minted.tenant.id, requestId)).toMatchObject({
      request_id: requestId,
      tenant_name: minted.tenant.name,
      key_name: minted.key.name,
      key_prefix: minted.key.key_prefix,
      model: minted.model.model_name,
      cell: "local",
      has_trace: false,
    });
    await fixture.gateway.must("DELETE", `/tenants/${minted.tenant.id}`);
    expect(await fixture.gateway.row(minted.tenant.id, requestId)).toMatchObject({
      tenant_id: minted.tenant.id,
      tenant_name: minted.tenant.name,
      key_name: minted.key.name,
      key_prefix: minted.key.key_prefix,
      total_tokens: 33,
    });
    // The sums of a day are written after the row.
    const byKey = await waitFor(
      async () =>
        await fixture.gateway.must<readonly unknown[]>(
          "GET",
          `/usage/daily?group_by=key_model&key_id=${minted.key.id}`,
        ),
      (sums) => sums.length > 0,
    );
    expect(byKey).toMatchObject([{ tenant_name: minted.tenant.name, key_name: minted.key.name }]);
  });

  it("treats every text as a value only", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    await (await fixture.gateway.chat(minted)).text();
    await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (rows) => rows.length === 1,
    );
    for (const text of ["' OR 1=1 --", "{since:Int64}", "\\' OR ''='", "%", "\u0000", "x\ty\nz", "ü\u{1F600}"]) {
      const value = encodeURIComponent(text);
      for (const field of ["model", "session_id"])
        expect(await fixture.gateway.rows(minted.tenant.id, `&${field}=${value}`)).toEqual([]);
      expect(await usageOf(`tenant_id=${minted.tenant.id}&model=${value}`)).toEqual([]);
    }
  });

  it.each([
    "limit=0",
    "limit=x",
    "since_ms=x",
    "until_ms=-1",
    "key_id=x",
    "status=maybe",
    "request_type=odd",
    "request_id=%25",
  ])("names the field of %s", async (query) => {
    const response = await fixture.gateway.admin("GET", `/usage/logs?${query}`);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: query.split("=")[0] } },
    });
  });
});

describe("the other reads", () => {
  it("agree on the same requests, with names, and never recompute money", async () => {
    const { gateway } = fixture;
    const minted = await gateway.mint(fixture.upstream.url, "plain", { output_cost_per_token: 0.02 });
    await gateway.must("PUT", `/models/${minted.model.id}/cache`, { cache_enabled: true });
    for (let turn = 0; turn < 3; turn += 1) await (await gateway.chat(minted)).text();
    const of = `tenant_id=${minted.tenant.id}`;
    await waitFor(
      async () => await gateway.rows(minted.tenant.id),
      (rows) => rows.length === 3,
    );
    await gateway.must("PATCH", `/models/${minted.model.id}`, { output_cost_per_token: 7 });
    const spent = { requests: 3, total_tokens: 99, cost_usd: 0.451 };
    expect(await gateway.must("GET", `/usage?${of}`)).toMatchObject([{ tenant_id: minted.tenant.id, ...spent }]);
    expect(await gateway.must("GET", `/usage/keys?${of}`)).toMatchObject([{ key_id: minted.key.id, ...spent }]);
    expect(await gateway.must("GET", `/usage/keys/summary?${of}`)).toMatchObject([
      { last_model: minted.model.model_name, last_status_code: 200, ...spent },
    ]);
    expect(await gateway.must("GET", `/keys/${minted.key.id}/usage`)).toMatchObject({
      tenant_id: minted.tenant.id,
      ...spent,
    });
    expect(await gateway.must("GET", `/usage/daily?${of}&group_by=key_model`)).toMatchObject([
      {
        key_id: minted.key.id,
        key_name: minted.key.name,
        tenant_name: minted.tenant.name,
        success_requests: 3,
        cache_hits: 2,
        cache_misses: 1,
        cost_usd: 0.451,
      },
    ]);
    const series = await gateway.must<{ requests: number }[]>("GET", `/usage/series?${of}`);
    expect(series.reduce((sum, bucket) => sum + bucket.requests, 0)).toBe(3);
    expect(await gateway.must("GET", `/usage/breakdown?${of}`)).toMatchObject([
      {
        tenant_name: minted.tenant.name,
        fairshare_group: "default",
        key_name: minted.key.name,
        key_prefix: minted.key.key_prefix,
        success_requests: 3,
        error_requests: 0,
        cache_hits: 2,
        ...spent,
      },
    ]);
    expect(await gateway.must("GET", `/usage/cache?${of}`)).toMatchObject({
      hits: 2,
      misses: 1,
      hit_ratio: 0.6667,
      tokens_saved: 66,
    });
    expect(await gateway.must("GET", `/costs?${of}`)).toMatchObject([{ total_cost: 0.451, output_cost: 462 }]);
    const overview = await gateway.must<Record<string, number>>("GET", "/overview/summary");
    expect(overview["requests"]).toBeGreaterThanOrEqual(3);
    expect(overview).toMatchObject({ has_pricing: true });
    expect(await gateway.must("GET", `/usage/logs/${randomUUID()}/spans`)).toEqual([]);
  });

  it("refuse what they cannot read and name the field, and answer 404 for an unknown key", async () => {
    for (const [path, field] of [
      ["/usage?group_by=week", "group_by"],
      ["/usage/keys?limit=0", "limit"],
      ["/usage/models?include_internal=yes", "include_internal"],
      ["/usage/series?bucket_ms=abc", "bucket_ms"],
      ["/usage/daily?key_id=a,b", "key_id"],
      ["/costs?since_ms=yesterday", "since_ms"],
    ] as const) {
      const answer = await fixture.gateway.admin("GET", path);
      expect({
        status: answer.status,
        param: ((await answer.json()) as { error: { param: string } }).error.param,
      }).toEqual({ status: 400, param: field });
    }
    expect((await fixture.gateway.admin("GET", `/keys/${randomUUID()}/usage`)).status).toBe(404);
  });
});
