/**
 * Requests that end before, or without, a relayed byte (docs/rules/errors.md#refusal-order,
 * docs/rules/response-cache.md#hits, docs/rules/upstream-calls.md#attempts,
 * docs/rules/settlement-and-rows.md#refusals).
 */
import { describe, expect, it } from "vitest";
import { ERROR_TABLE, type ErrorCode, GatewayError } from "../../shared/errors.ts";
import { keyOf, modelOf, tenantOf } from "../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPermit, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import { run } from "./run.ts";

async function answer(world: TestPipeline, init: RequestInit = {}) {
  const response = await run(world.received(init));
  const body = (await response.json().catch(() => null)) as { error?: { code: string } } | null;
  await world.settled();
  return { status: response.status, code: body?.error?.code, headers: response.headers };
}

describe("a refusal", () => {
  it("rests on a key that was read again, and so does an acceptance", async () => {
    const enabled = new TestPipeline();
    enabled.keyInMemory = keyOf({ disabled: true });
    enabled.upstream = async () => new Response(null, { status: 404 });
    expect((await answer(enabled)).status).toBe(404);
    const disabled = new TestPipeline();
    disabled.key = keyOf({ disabled: true });
    expect(await answer(disabled)).toMatchObject({ status: 403, code: "api_key_disabled" });
  });

  it.each([
    ["key", { keyInMemory: keyOf({ disabled: true }) }, "api_key_disabled", { kind: "key", id: "hash", rev: 2 }],
    ["model", { model: modelOf({ enabled: false }) }, "model_disabled", { kind: "model", id: "tiny", rev: 2 }],
  ] as const)(
    "by an old %s stands while the store is unreachable, unless the Cell knows a newer one",
    async (_, held, code, item) => {
      const world = Object.assign(new TestPipeline(), held, { storeIsDown: true });
      expect(await answer(world)).toMatchObject({ status: 403, code });
      const stale = Object.assign(new TestPipeline(), held, { storeIsDown: true, stale: () => [item] });
      expect(await answer(stale)).toMatchObject({ status: 503, code: "key_store_unavailable" });
      expect(stale.forgotten).toContain(`${item.kind} ${item.id}`);
    },
  );

  it.each([
    ["missing_api_key", {}, { headers: {} }],
    ["invalid_api_key", {}, { headers: { authorization: "Basic x" } }],
    ["invalid_api_key", { key: null }, {}],
    ["tenant_not_found", { key: keyOf({ tenant: null }) }, {}],
    ["tenant_not_active", { key: keyOf({ tenant: tenantOf({ status: "suspended" }) }) }, { body: "{" }],
    ["invalid_json", {}, { body: "[]" }],
    ["model_required", {}, { body: '{"model":" "}' }],
    ["validation_failed", {}, { body: '{"model":"tiny","n":0}' }],
    ["model_not_found", { model: null }, {}],
    ["model_not_found", {}, { body: '{"model":"\\ud800"}' }],
    ["model_disabled", { model: modelOf({ enabled: false }) }, {}],
    ["request_too_large", {}, { body: "x".repeat(1025) }],
  ])("%s leaves one row, no admission request and the id of its row", async (code, changes, init) => {
    const world = Object.assign(new TestPipeline(), changes);
    const refused = await answer(world, init);
    expect(refused.code).toBe(code);
    expect(world.recorded).toMatchObject([
      { admission: "rejected", status_code: refused.status, request_id: refused.headers.get("x-gateway-request-id") },
    ]);
    expect({ requests: world.requests, upstreamCalls: world.upstreamCalls }).toEqual({
      requests: [],
      upstreamCalls: [],
    });
  });
});

describe("the session that a client states", () => {
  const codes = Object.keys(ERROR_TABLE) as ErrorCode[];
  it.each(codes.slice(0, codes.indexOf("upstream_timeout") + 1))("in a header is in the row of %s", async (code) => {
    const world = new TestPipeline();
    const received = world.received();
    received.request.headers.set("x-session-id", "mine");
    const directory = { ...received.ports.directory, key: async () => await Promise.reject(new GatewayError(code)) };
    await run({ ...received, ports: { ...received.ports, directory } });
    await world.settled();
    const row = { error_code: code, session_id: "mine", session_id_source: "client" };
    const isRowless = ["unknown_endpoint", "websocket_unsupported", "realtime_upgrade_required"].includes(code);
    expect(world.recorded).toMatchObject(isRowless ? [] : [row]);
  });

  it.each([
    ["validation_failed", { n: 0 }, {}],
    ["validation_failed", { max_tokens: -1 }, {}],
    ["validation_failed", { Model: "tiny" }, {}],
    ["model_required", { model: " " }, {}],
    ["model_not_found", {}, { model: null }],
    ["model_disabled", {}, { model: modelOf({ enabled: false }) }],
    ["model_not_permitted", {}, { key: keyOf({ tenant: tenantOf({ allowed_models: ["other"] }) }) }],
  ])("in a body is in the row of %s (%j)", async (code, fields, changes) => {
    const world = Object.assign(new TestPipeline(), changes);
    const body = JSON.stringify({ model: "tiny", messages: [], user: "mine", ...fields });
    expect((await answer(world, { body })).code).toBe(code);
    expect(world.recorded).toMatchObject([{ error_code: code, session_id: "mine", session_id_source: "client" }]);
  });

  it("in a form is in the row of a refusal that comes after it", async () => {
    const world = new TestPipeline();
    const part = (name: string, value: string): string =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const headers = { authorization: `Bearer ${SECRET}`, "content-type": "multipart/form-data; boundary=b" };
    const body = `${part("user", "mine")}${part("n", "0")}${part("model", "tiny")}--b--\r\n`;
    const response = await run(world.received({ headers, body }, "/v1/images/edits"));
    await world.settled();
    expect({ status: response.status, recorded: world.recorded }).toMatchObject({
      status: 400,
      recorded: [{ error_code: "validation_failed", session_id: "mine" }],
    });
  });

  it("is not known of a body that was not read", async () => {
    const world = Object.assign(new TestPipeline(), { key: keyOf({ disabled: true }) });
    await answer(world, { body: JSON.stringify({ model: "tiny", user: "mine" }) });
    expect(world.recorded).toMatchObject([
      { error_code: "api_key_disabled", session_id: "", session_id_source: "none" },
    ]);
  });
});

const RATE_LIMIT = ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"];

describe("a failure of the gateway's own", () => {
  it("is 500 `internal_error`, and reports nothing of itself", async () => {
    const world = new TestPipeline();
    const received = world.received();
    const directory = { ...received.ports.directory, key: async () => await Promise.reject(new Error("at /srv/x:1")) };
    const response = await run({ ...received, ports: { ...received.ports, directory } });
    await world.settled();
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 500,
      body: { error: { message: "internal error", type: "server_error", code: "internal_error", param: null } },
    });
    expect(world.recorded).toMatchObject([{ status_code: 500, admission: "rejected" }]);
  });
});

describe("admission", () => {
  it("is retried after each change of its records", async () => {
    const staleFor = (id: string, rev: number) => ({ verdict: "stale", items: [{ kind: "key", id, rev }] }) as const;
    const world = new TestPipeline();
    world.answers = [staleFor("hash", 9), staleFor("hash", 10), staleFor("other", 9)];
    world.upstream = async () => new Response(null, { status: 404 });
    expect({ status: (await answer(world)).status, requestCount: world.requests.length }).toEqual({
      status: 404,
      requestCount: 4,
    });
  });

  it("continues when an old stale answer comes for records that it has read meanwhile", async () => {
    const stale = { verdict: "stale", items: [{ kind: "tenant", id: tenantOf().id, rev: 2 }] } as const;
    const world = new TestPipeline();
    world.answers = [stale, stale];
    world.upstream = async () => new Response(null, { status: 404 });
    world.key = keyOf({ tenant: tenantOf({ rev: 1 }) });
    const asking = answer(world);
    world.key = keyOf({ tenant: tenantOf({ rev: 2 }) });
    expect({ status: (await asking).status, requestCount: world.requests.length }).toEqual({
      status: 404,
      requestCount: 3,
    });
  });

  it("is refused when it is stale twice for one change: the store has not got it", async () => {
    const stale = { verdict: "stale", items: [{ kind: "key", id: "hash", rev: 9 }] } as const;
    const world = new TestPipeline();
    world.answers = [stale, stale];
    expect(await answer(world)).toMatchObject({ status: 503, code: "key_store_unavailable" });
    expect({ requestCount: world.requests.length, forgotten: world.forgotten }).toEqual({
      requestCount: 2,
      forgotten: ["key hash"],
    });
  });

  it("queues again when the Cell is reset while the request waits", async () => {
    const world = new TestPipeline();
    const before = new TestPermit();
    before.decided.resolve({ verdict: "stale", items: [] });
    world.answers = [{ verdict: "waiting", permit: before }];
    world.upstream = async () => new Response(null, { status: 404 });
    expect((await answer(world)).status).toBe(404);
    expect({
      waits: world.requests.map(({ waitedMs, anew }) => ({ waitedMs, anew })),
      earlierSettlement: before.settlement,
      status_code: world.permit.settlement?.row.status_code,
    }).toEqual({
      waits: [
        { waitedMs: null, anew: false },
        { waitedMs: 0, anew: false },
      ],
      earlierSettlement: null,
      status_code: 404,
    });
  });

  it("starts over when its place is lost", async () => {
    const world = new TestPipeline();
    const lost = Object.assign(new TestPermit(), { decision: async () => await Promise.reject(new Error("lost")) });
    world.answers = [{ verdict: "waiting", permit: lost }];
    world.upstream = async () => new Response(null, { status: 404 });
    expect((await answer(world)).status).toBe(404);
    expect(world.requests.map(({ anew }) => anew)).toEqual([false, true]);
  });

  it("fails when the Cell stays away while the request waits, and writes one row", async () => {
    const world = new TestPipeline();
    world.answers = [{ verdict: "waiting", permit: world.permit }];
    world.permit.decided.reject(new GatewayError("scheduler_unavailable"));
    expect(await answer(world)).toMatchObject({ status: 503, code: "scheduler_unavailable" });
    expect({ requestCount: world.requests.length, recorded: world.recorded }).toEqual({
      requestCount: 1,
      recorded: [],
    });
    expect(world.orphans).toMatchObject([{ status_code: 503, admission: "rejected" }]);
  });

  it("reports a refusal as a possible duplicate row while the Cell may hold a place for it", async () => {
    const world = new TestPipeline();
    const received = world.received();
    const { admission } = received.ports;
    const admit = async () => await Promise.reject(new GatewayError("scheduler_unavailable"));
    const response = await run({ ...received, ports: { ...received.ports, admission: { ...admission, admit } } });
    await world.settled();
    expect({ status: response.status, recorded: world.recorded }).toEqual({ status: 503, recorded: [] });
    expect(world.orphans).toMatchObject([{ status_code: 503, admission: "rejected" }]);
  });

  it("gives up its place when the client leaves, with its row", async () => {
    const world = new TestPipeline();
    world.answers = [{ verdict: "waiting", permit: world.permit }];
    const client = new AbortController();
    const answered = answer(world, { signal: client.signal });
    await waitFor(
      () => world.requests,
      ({ length }) => length === 1,
    );
    client.abort();
    await answered;
    await world.settled();
    const { permit, recorded } = world;
    expect(permit.settlement).toMatchObject({ actualTokens: 0, row: { status_code: 499, admission: "queued" } });
    expect({ recorded, orphans: world.orphans }).toEqual({ recorded: [], orphans: [] });
  });
});

describe("a refusal by the budgets", () => {
  const refused = (
    permit: TestPermit,
    code: "token_budget_exceeded" | "tenant_budget_exhausted",
    waitMs: number | null,
  ) =>
    ({
      verdict: "refused",
      refusal: { code, retryAfterMs: waitMs, level: { limitTokens: 600, remainingTokens: 3, resetMs: 59_700.5 } },
      permit,
    }) as const;

  it("is 429 with the wait, the level, and one row that goes through the permit", async () => {
    const world = new TestPipeline();
    world.key = keyOf({ tenant: tenantOf({ tokens_per_minute: 600 }) });
    world.answers = [refused(world.permit, "token_budget_exceeded", 1_201)];
    const response = await run(world.received());
    await world.settled();
    const headers = ["retry-after", "retry-after-ms", "x-should-retry", ...RATE_LIMIT].map((name) => [
      name,
      response.headers.get(name),
    ]);
    expect({ status: response.status, headers: Object.fromEntries(headers) }).toEqual({
      status: 429,
      headers: {
        "retry-after": "2",
        "retry-after-ms": "1201",
        "x-should-retry": null,
        "x-ratelimit-limit-tokens": "600",
        "x-ratelimit-remaining-tokens": "3",
        "x-ratelimit-reset-tokens": "59.7s",
      },
    });
    expect(world.permit.settlement).toMatchObject({
      actualTokens: 0,
      row: { status_code: 429, admission: "rejected", cost_usd: 0 },
    });
    const { recorded, orphans, upstreamCalls } = world;
    expect({ recorded, orphans, upstreamCalls }).toEqual({ recorded: [], orphans: [], upstreamCalls: [] });
  });

  it("tells a client whose estimate can never fit that a retry does not help", async () => {
    const world = new TestPipeline();
    world.key = keyOf({ tenant: tenantOf({ tokens_per_minute: 6 }) });
    world.answers = [refused(world.permit, "token_budget_exceeded", 60_000)];
    const { status, headers } = await run(world.received());
    const told = { "x-should-retry": headers.get("x-should-retry"), "retry-after": headers.get("retry-after") };
    expect({ status, ...told }).toEqual({ status: 400, "x-should-retry": "false", "retry-after": null });
    await world.settled();
    expect(world.permit.settlement?.row).toMatchObject({
      status_code: 400,
      error_code: "request_larger_than_quota",
      admission: "rejected",
    });
  });

  it("is 403 when a term budget is used up at the request's turn, with one row", async () => {
    const world = new TestPipeline();
    world.answers = [{ verdict: "waiting", permit: world.permit }];
    world.permit.decided.resolve(refused(world.permit, "tenant_budget_exhausted", null));
    const response = await run(world.received());
    await world.settled();
    expect({
      status: response.status,
      "x-should-retry": response.headers.get("x-should-retry"),
      "retry-after": response.headers.get("retry-after"),
    }).toEqual({ status: 403, "x-should-retry": "false", "retry-after": null });
    expect(world.permit.settlement?.row).toMatchObject({ status_code: 403, admission: "rejected" });
    expect({ recorded: world.recorded, orphans: world.orphans }).toEqual({ recorded: [], orphans: [] });
  });
});

describe("x-ratelimit headers", () => {
  it("are on answers that reserved nothing as well, read from the Cell, and only with a cap", async () => {
    const world = new TestPipeline();
    world.level = { limitTokens: 600, remainingTokens: 600, resetMs: 0 };
    world.model = null;
    expect((await run(world.received())).headers.get("x-ratelimit-limit-tokens")).toBeNull();
    world.key = keyOf({ tenant: tenantOf({ tokens_per_minute: 600 }) });
    const response = await run(world.received());
    expect(RATE_LIMIT.map((name) => response.headers.get(name))).toEqual(["600", "600", "0s"]);
  });

  it("show the limits of a key beside those of its tenant, and only those that there are", async () => {
    const world = new TestPipeline();
    world.key = keyOf({ requests_per_minute: 6 });
    const requests = { limitTokens: 6, remainingTokens: 2, resetMs: 40_000 };
    world.level = { limitTokens: 0, remainingTokens: 0, resetMs: 0, requests };
    world.model = null;
    const { headers } = await run(world.received());
    expect(Object.fromEntries([...headers].filter(([name]) => name.startsWith("x-ratelimit-")))).toEqual({
      "x-ratelimit-limit-requests": "6",
      "x-ratelimit-remaining-requests": "2",
      "x-ratelimit-reset-requests": "40s",
    });
  });

  it("are not read from a Cell that is the cause of the failure", async () => {
    const world = new TestPipeline();
    world.key = keyOf({ tenant: tenantOf({ tokens_per_minute: 600 }) });
    world.level = { limitTokens: 600, remainingTokens: 600, resetMs: 0 };
    world.answers = [{ verdict: "waiting", permit: world.permit }];
    world.permit.decided.reject(new GatewayError("scheduler_unavailable"));
    const response = await run(world.received());
    expect({
      status: response.status,
      "x-ratelimit-limit-tokens": response.headers.get("x-ratelimit-limit-tokens"),
    }).toEqual({ status: 503, "x-ratelimit-limit-tokens": null });
  });
});

describe("an upstream that does not answer", () => {
  it("is 502 and costs nothing, settled once", async () => {
    const world = new TestPipeline();
    world.upstream = async () => await Promise.reject(new TypeError("refused"));
    expect(await answer(world)).toMatchObject({ status: 502, code: "upstream_failed" });
    expect(world.permit.settlement).toMatchObject({
      actualTokens: 0,
      row: { status_code: 502, upstream_status: 0, cost_usd: 0 },
    });
    expect({ recorded: world.recorded, orphans: world.orphans }).toEqual({ recorded: [], orphans: [] });
  });
});
