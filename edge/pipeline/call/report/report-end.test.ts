/** One wide line of the log for each call, for every outcome. */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../../shared/errors.ts";
import { NIL_UUID } from "../../../../shared/usage/usage-row.ts";
import { keyOf, modelOf } from "../../../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPipeline } from "../../../../test/harness/edge/pipeline/world.ts";
import { originOf } from "../../response-cache/response-cache.ts";
import { run, runOther } from "../../run.ts";
import { listModels } from "../../run-models.ts";

/** The log line of the only call in a test. */
async function lineOf(world: TestPipeline, work: Promise<Response>): Promise<Readonly<Record<string, unknown>>> {
  await work;
  await world.settled();
  const lines = world.logged.filter(({ name }) => name === "request");
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines)).not.toContain(SECRET.slice(0, 24));
  expect(JSON.stringify(lines)).not.toContain("12345678");
  return lines[0] ?? {};
}

const world = (changes: Partial<TestPipeline> = {}): TestPipeline => Object.assign(new TestPipeline(), changes);

describe("the line of a call", () => {
  it("that was served has who, what, how long, how much", async () => {
    const served = world({ upstream: async () => new Response(null, { status: 204 }) });
    const line = await lineOf(served, run(served.received()));
    const row = served.permit.settlement?.row;
    expect(line).toMatchObject({
      level: "info",
      msg: "POST chat 204",
      request_id: row?.request_id,
      cell: "test",
      tenant_id: row?.tenant_id,
      key_id: row?.key_id,
      model: "tiny",
      status: 204,
      upstream_status: 204,
      error: null,
      client_gone: false,
      admission: "fast",
      cache: "off",
      attempts: 1,
      retries: 0,
      input_tokens: row?.input_tokens,
      cost_usd: row?.cost_usd,
    });
    expect(Object.keys(line).filter((name) => /^(?:address|peer|key_prefix)$/.test(name))).toEqual([]);
    for (const step of ["auth", "cache", "admission", "queue_wait", "upstream", "ttft", "total"])
      expect(line[`${step}_ms`]).toBeTypeOf("number");
  });

  it("has a row whose wait is never longer than the whole, whatever the Cell's clock says", async () => {
    const queued = world({ upstream: async () => new Response(null, { status: 204 }) });
    queued.answers = [
      { verdict: "granted", grant: { admission: "queued", queueWaitMs: 50, level: null }, permit: queued.permit },
    ];
    await lineOf(queued, run(queued.received()));
    expect(queued.permit.settlement?.row).toMatchObject({ queue_wait_ms: 0, total_ms: 0, gateway_ms: 0 });
  });

  it("that was tried again counts its attempts and their time", async () => {
    const tried = world({
      model: modelOf({ max_retries: 2 }),
      upstream: async () => {
        tried.nowMs += 7;
        return await Promise.reject(new TypeError("refused"));
      },
    });
    const line = await lineOf(tried, run(tried.received()));
    const attempts = tried.upstreamCalls.length;
    expect(line).toMatchObject({
      level: "error",
      status: 502,
      error: "upstream_failed",
      attempts,
      upstream_ms: 7 * attempts,
    });
    expect(line["retries"]).toBe(attempts - 1);
    const row = tried.permit.settlement?.row;
    expect(row).toMatchObject({ attempts, error_code: "upstream_failed" });
    // the pauses between attempts
    expect(row?.gateway_ms).toBe((row?.total_ms ?? 0) - 7 * attempts);
  });

  it.each([
    ["missing_api_key", world(), { headers: {} }],
    ["invalid_api_key", world({ key: null }), {}],
    ["model_not_found", world({ model: null }), {}],
    ["model_required", world(), { body: "{}" }],
  ] as const)("that was refused has the reason: %s", async (error, refused, init) => {
    const line = await lineOf(refused, run(refused.received(init)));
    expect(line).toMatchObject({ level: "info", error, admission: "rejected", attempts: 0, cost_usd: 0 });
    expect(line["status"]).toBe(refused.recorded[0]?.status_code);
    expect(refused.recorded[0]).toMatchObject({ error_code: error, endpoint: "", attempts: 0 });
    expect(line["tenant_id"] === NIL_UUID).toBe(error.endsWith("api_key"));
    expect(line["key_prefix"]).toBe(error === "missing_api_key" ? null : SECRET.slice(0, 18));
  });

  it("has the name of a model that is not registered, printable and short; its row has none", async () => {
    const refused = world({ model: null });
    const model = `\u001b[2J${"x".repeat(300)}`;
    const line = await lineOf(refused, run(refused.received({ body: JSON.stringify({ model }) })));
    expect(line["model"]).toBe(`\\u{1b}[2J${"x".repeat(196)}`);
    expect(refused.recorded).toMatchObject([{ model: "", status_code: 404 }]);
  });

  it("that its budgets refused has the same form", async () => {
    const refused = world();
    const refusal = { code: "tenant_budget_exhausted", retryAfterMs: null, level: null } as const;
    refused.answers = [{ verdict: "refused", refusal, permit: refused.permit }];
    expect(await lineOf(refused, run(refused.received()))).toMatchObject({
      status: 403,
      error: "tenant_budget_exhausted",
      admission: "rejected",
    });
  });

  it("whose Cell is unreachable reports it, as an error", async () => {
    const away = world();
    away.answers = [{ verdict: "waiting", permit: away.permit }];
    away.permit.decided.reject(new GatewayError("scheduler_unavailable"));
    expect(await lineOf(away, run(away.received()))).toMatchObject({
      level: "error",
      status: 503,
      error: "scheduler_unavailable",
    });
  });

  it("that failed inside the gateway names what failed, and nothing more of it", async () => {
    const failed = world();
    const received = failed.received();
    const directory = {
      ...received.ports.directory,
      key: async () => await Promise.reject(new RangeError("at /srv/x:1")),
    };
    const line = await lineOf(failed, run({ ...received, ports: { ...received.ports, directory } }));
    const reason = expect.stringMatching(/^RangeError: a fault of the program in /) as string;
    expect(line).toMatchObject({ level: "error", status: 500, error: "internal_error", reason });
    expect(JSON.stringify(line)).not.toContain("/srv");
  });

  it("whose client left the queue, or the upstream, is 499", async () => {
    const queued = world();
    queued.answers = [{ verdict: "waiting", permit: queued.permit }];
    const leaving = new AbortController();
    const waiting = run(queued.received({ signal: leaving.signal }));
    leaving.abort();
    expect(await lineOf(queued, waiting)).toMatchObject({
      status: 499,
      error: "client_gone",
      client_gone: true,
      admission: "queued",
      cost_usd: 0,
    });

    const called = world();
    const client = new AbortController();
    called.upstream = async ({ signal }) => {
      client.abort();
      signal.throwIfAborted();
      return Response.json({});
    };
    const line = await lineOf(called, run(called.received({ signal: client.signal })));
    expect(line).toMatchObject({ level: "info", status: 499, error: "client_gone", attempts: 1 });
    expect(line["cost_usd"]).toBe(called.permit.settlement?.row.cost_usd);
  });

  it("that leaves no row, or was answered from the cache, has its line as well", async () => {
    const unknown = world({ model: null });
    const nowhere = runOther(unknown.received({}, "/v1/nothing?secret=planted"));
    const line = await lineOf(unknown, nowhere);
    expect(line).toMatchObject({ status: 404, error: "unknown_endpoint" });
    expect(JSON.stringify(line)).not.toContain("planted");

    const listing = world();
    const listed = listModels(listing.received({ method: "GET", body: null }, "/v1/models"));
    expect(await lineOf(listing, listed)).toMatchObject({ status: 200, error: null });
    expect({ recorded: listing.recorded, spans: listing.spans }).toEqual({ recorded: [], spans: [] });

    const stored = world({ model: modelOf({ cache_enabled: true }), key: keyOf() });
    stored.entry = {
      v: 1,
      path: "/v1/chat/completions",
      status: 200,
      content_type: "application/json",
      body: new Uint8Array(new TextEncoder().encode("{}")),
      input_tokens: 3,
      output_tokens: 4,
      stored_at_ms: 0,
      origin: originOf(modelOf()),
    };
    expect(await lineOf(stored, run(stored.received()))).toMatchObject({ status: 200, cache: "hit", attempts: 0 });
  });
});
