/**
 * Answers from the response cache (docs/rules/response-cache.md#hits) rest on current records like an admission
 * (docs/rules/response-cache.md#freshness).
 */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { keyOf, modelOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { knowing, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import type { CacheEntry } from "../../ports.ts";
import { run } from "../run.ts";
import { originOf } from "./response-cache.ts";

const cached = (changes: Parameters<typeof modelOf>[0] = {}) => modelOf({ cache_enabled: true, ...changes });
const entry: CacheEntry = {
  v: 1,
  path: "/v1/chat/completions",
  status: 200,
  content_type: "application/json",
  body: new Uint8Array(new TextEncoder().encode('{"stored":true}')),
  input_tokens: 3,
  output_tokens: 4,
  stored_at_ms: 0,
  origin: originOf(cached()),
};

/** A pipeline with a stored answer, whose upstream answers 204. */
function worldWith(changes: Partial<TestPipeline> = {}): TestPipeline {
  const upstream = async () => new Response(null, { status: 204 });
  return Object.assign(new TestPipeline(), { entry, model: cached(), upstream }, changes);
}

async function answer(world: TestPipeline) {
  const response = await run(world.received());
  const body = (await response.json().catch(() => null)) as { stored?: true; error?: { code: string } } | null;
  await world.settled();
  const { status, headers } = response;
  return { status, cache: headers.get("x-gateway-cache"), stored: body?.stored, code: body?.error?.code, headers };
}

describe("a stored answer", () => {
  it("ends the request without permit, upstream or charge, in one call to the Cell", async () => {
    const world = worldWith();
    expect(await answer(world)).toMatchObject({ status: 200, cache: "hit", stored: true });
    expect(world.recorded).toMatchObject([{ cache_status: "hit", total_tokens: 7, cost_usd: 0, admission: "fast" }]);
    expect({ hitCount: world.hits.length, requests: world.requests, upstreamCalls: world.upstreamCalls }).toEqual({
      hitCount: 1,
      requests: [],
      upstreamCalls: [],
    });
  });

  it("is compared at the Cell with everything that it rests on", async () => {
    const world = worldWith();
    world.key = keyOf({ rev: 3, tenant: tenantOf({ rev: 4, group_rev: 5 }) });
    world.model = cached({ rev: 6 });
    await answer(world);
    const revs = Object.fromEntries((world.hits[0]?.revs ?? []).map(({ kind, rev }) => [kind, rev]));
    expect(revs).toEqual({ key: 3, tenant: 4, group: 5, model: 6, all: 0 });
  });

  it("reports the bucket's level where there is a cap, and asks the Cell for it only there", async () => {
    const level = { limitTokens: 600, remainingTokens: 60, resetMs: 54_000 };
    const capped = worldWith({ level, key: keyOf({ tenant: tenantOf({ tokens_per_minute: 600 }) }) });
    expect((await answer(capped)).headers.get("x-ratelimit-remaining-tokens")).toBe("60");
    expect(capped.hits[0]?.limits).toMatchObject({ tenant: { tokensPerMinute: 600 } });
    const ofKey = worldWith({ level, key: keyOf({ requests_per_minute: 6 }) });
    await answer(ofKey);
    expect(ofKey.hits[0]?.limits).toMatchObject({ key: { requestsPerMinute: 6 } });
    const without = worldWith();
    await answer(without);
    expect(without.hits[0]?.limits).toBeNull();
  });

  const suspended = tenantOf({ rev: 2, status: "suspended" });
  const tenantNews = { kind: "tenant", id: suspended.id, rev: 2 } as const;
  const keyNews = { kind: "key", id: "hash", rev: 2 } as const;
  const modelNews = { kind: "model", id: "tiny", rev: 2 } as const;
  it.each([
    ["key was disabled", { key: keyOf({ rev: 2, disabled: true }) }, keyNews, "api_key_disabled"],
    ["key was deleted", { key: null }, keyNews, "invalid_api_key"],
    ["tenant was suspended", { key: keyOf({ tenant: suspended }) }, tenantNews, "tenant_not_active"],
    [
      "tenant may use the model no more",
      { key: keyOf({ tenant: tenantOf({ rev: 2, allowed_models: ["other"] }) }) },
      tenantNews,
      "model_not_permitted",
    ],
    ["model was disabled", { model: cached({ rev: 2, enabled: false }) }, modelNews, "model_disabled"],
    ["model was deleted", { model: null }, modelNews, "model_not_found"],
  ])("is not given once its %s", async (_, now, news, code) => {
    const world = worldWith({ keyInMemory: keyOf(), modelInMemory: cached(), stale: knowing(news), ...now });
    expect(await answer(world)).toMatchObject({ code, cache: null });
    expect(world.recorded).toMatchObject([{ admission: "rejected", cache_status: "off" }]);
    expect({ requests: world.requests, upstreamCalls: world.upstreamCalls }).toEqual({
      requests: [],
      upstreamCalls: [],
    });
  });

  it("is not given once the cache of its model is off: the request is admitted", async () => {
    const world = worldWith({
      model: modelOf({ rev: 2, cache_enabled: false }),
      modelInMemory: cached(),
      stale: knowing(modelNews),
    });
    expect(await answer(world)).toMatchObject({ status: 204, cache: null });
    expect({
      requestCount: world.requests.length,
      upstreamCallCount: world.upstreamCalls.length,
      recorded: world.recorded,
    }).toEqual({ requestCount: 1, upstreamCallCount: 1, recorded: [] });
  });

  it.each([
    [
      "weight of the group",
      { key: keyOf({ tenant: tenantOf({ group_rev: 2 }) }) },
      { kind: "group", id: "default", rev: 2 },
    ],
    ["price of the model", { model: cached({ rev: 2 }) }, modelNews],
  ] as const)("is given after a change of the %s, with one row", async (_, now, news) => {
    const world = worldWith({ keyInMemory: keyOf(), modelInMemory: cached(), stale: knowing(news), ...now });
    expect(await answer(world)).toMatchObject({ status: 200, cache: "hit" });
    expect({ hitCount: world.hits.length, recordedCount: world.recorded.length }).toEqual({
      hitCount: 2,
      recordedCount: 1,
    });
  });

  it("is not given while the store still holds what the Cell knows to be outdated", async () => {
    const world = worldWith({ stale: knowing(modelNews) });
    expect(await answer(world)).toMatchObject({ status: 503, code: "key_store_unavailable" });
    expect(world.recorded).toMatchObject([{ admission: "rejected", status_code: 503, cache_status: "off" }]);
  });

  it("is not given without the Cell's answer; the Cell may have the row already", async () => {
    const world = worldWith();
    const received = world.received();
    const confirmHit = async () => await Promise.reject(new GatewayError("scheduler_unavailable"));
    const admission = { ...received.ports.admission, confirmHit };
    const response = await run({ ...received, ports: { ...received.ports, admission } });
    await world.settled();
    expect({ status: response.status, recorded: world.recorded }).toEqual({ status: 503, recorded: [] });
    expect(world.orphans).toMatchObject([{ status_code: 503, admission: "rejected" }]);
  });

  it.each([
    ["another model of the same name", { id: "00000000-0000-4000-8000-0000000000ee" }],
    ["a model that was pointed elsewhere", { api_base: "http://elsewhere.test/v1" }],
    ["a model under another name of its upstream", { upstream_model: "huge-upstream" }],
  ])("does not exist for %s", async (_, changes) => {
    const world = worldWith({ model: cached({ rev: 2, ...changes }) });
    expect(await answer(world)).toMatchObject({ status: 204, cache: "miss" });
    expect(world.hits).toEqual([]);
  });
});
