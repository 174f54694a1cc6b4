/**
 * Attempts, waits and cancelled answers, with a clock, random numbers and waits that the test sets
 * (docs/rules/upstream-calls.md#attempts).
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import {
  bodyOf,
  endpoint,
  hangs,
  hosts,
  refuses,
  type Script,
  status,
  worldOf,
} from "../../../test/harness/edge/pipeline/upstreams.ts";
import type { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import type { UpstreamCall } from "../../ports.ts";
import { run } from "../run.ts";

// Replaces the runtime's own class; the standard one without arguments also passes everything through.
beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const body = JSON.stringify({ model: "tiny", stream: true, messages: [{ role: "user", content: "hello" }] });

async function answered(world: TestPipeline, init: RequestInit = {}) {
  const response = await run(world.received(init));
  const text = await response.text();
  await world.settled();
  return {
    status: response.status,
    text,
    row: world.permit.settlement?.row,
    upstream: world.permit.settlement?.upstream,
  };
}

describe("waits between attempts", () => {
  it("double, and heed a short retry-after", async () => {
    const world = worldOf(
      { a: [status(503), status(429, { "retry-after": "3" }), status(500), status(204)] },
      { max_retries: 3 },
    );
    expect((await answered(world)).status).toBe(204);
    expect(world.waits).toEqual([200, 3000, 800]);
    expect(world.permit.settlement?.upstream).toEqual({ refused: 2, retry: 3, success: 1 });
  });

  it("end at once when the client leaves, which then costs nothing", async () => {
    const world = worldOf({ a: [status(503)] }, { max_retries: 5 });
    const client = new AbortController();
    world.sleep = async (signal) => {
      client.abort();
      expect(signal.aborted).toBe(true);
    };
    expect((await answered(world, { signal: client.signal })).row).toMatchObject({
      status_code: 499,
      total_tokens: 0,
      cost_usd: 0,
      upstream_status: 503,
    });
    expect(world.upstreamCalls).toHaveLength(1);
  });
});

describe("the last answer", () => {
  it("is what the client gets when later attempts give none", async () => {
    const world = worldOf({ a: [status(503)], b: [status(429, { "retry-after": "9" })], c: [refuses] });
    const { status: code, text, row, upstream } = await answered(world);
    expect({ code, text }).toEqual({ code: 429, text: "body of 429" });
    expect(hosts(world)).toEqual(["a", "b", "c", "c"]);
    expect(row).toMatchObject({ status_code: 429, upstream_status: 429, total_tokens: 0, cost_usd: 0 });
    expect(upstream).toEqual({ refused: 2, failover: 2, retry: 1, exhausted: 1 });
  });

  it("is kept whole while a later attempt uses up its own time", async () => {
    const world = worldOf({ a: [status(500)], b: [hangs] }, { request_timeout_secs: 0.05 });
    expect(await answered(world)).toMatchObject({ status: 502, text: "body of 500" });
    expect(world.permit.settlement?.upstream).toEqual({ failover: 1, timeout: 1, exhausted: 1 });
  });

  it("is the only one that is not cancelled", async () => {
    const cancelled: number[] = [];
    const aborted: boolean[] = [];
    const open = (code: number) => async (call: UpstreamCall) => {
      call.signal.addEventListener("abort", () => aborted.push(true));
      return new Response(new ReadableStream({ cancel: () => void cancelled.push(code) }), { status: code });
    };
    const world = worldOf({ a: [open(500)], b: [open(502)], c: [open(503), status(200)] }, { max_retries: 1 });
    expect((await answered(world)).status).toBe(200);
    expect(cancelled).toEqual([500, 500, 502, 502, 503]);
    expect(aborted).toHaveLength(5);
  });
});

describe("the report to operators", () => {
  it.each([
    [500, "upstream_5xx_response:tiny", "tiny: upstream answered 500"],
    [501, "upstream_5xx_response:tiny", "tiny: upstream answered 501"],
    [302, "upstream_request_failed:tiny", "tiny: redirect 302 not followed after 1 attempts on 1 endpoints"],
  ])("of a final %i", async (code, issueKey, detail) => {
    const world = worldOf({ a: [status(code)] });
    await answered(world);
    expect(world.alerts).toMatchObject([{ issueKey, detail }]);
  });

  it.each([200, 400, 404, 429])("of a final %i is not made", async (code) => {
    const world = worldOf({ a: [status(code)] });
    await answered(world);
    expect(world.alerts).toEqual([]);
  });

  it("of a stream that breaks has how far it came", async () => {
    const broken = async (): Promise<Response> => {
      const pieces = ["data: {}\n\n", "data: {"].map((text) => Uint8Array.from(Buffer.from(text)));
      const body = bodyOf(() => {
        const next = pieces.shift();
        if (next === undefined) throw new Error("reset");
        return next;
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    const world = worldOf({ a: [broken] });
    expect((await answered(world, { body })).text).toContain("upstream_stream_error");
    expect(world.alerts).toMatchObject([
      { issueKey: "upstream_stream_error:tiny", detail: "tiny: connection broke after 17 bytes" },
    ]);
  });
});

describe("no answer", () => {
  it.each([
    ["every attempt timed out", { a: [hangs], b: [hangs] }, 504, { timeout: 2, failover: 1, exhausted: 1 }],
    ["one did not", { a: [hangs], b: [refuses] }, 502, { timeout: 1, failover: 1, retry: 1, exhausted: 1 }],
  ])("is %s", async (_, script, code, outcomes) => {
    const world = worldOf(script as Script, { request_timeout_secs: 0.02 });
    expect(await answered(world)).toMatchObject({ status: code, upstream: outcomes, row: { upstream_status: 0 } });
  });

  it("is reported to operators, with the reason of the last attempt", async () => {
    const world = worldOf({ a: [refuses], b: [hangs] }, { request_timeout_secs: 0.02 });
    await answered(world);
    expect(world.alerts).toMatchObject([
      { issueKey: "upstream_request_failed:tiny", detail: "tiny: timed out after 3 attempts on 2 endpoints" },
    ]);
  });
});

describe("a model with debug_diagnostics", () => {
  it.each([
    ["a refused connection", refuses, true],
    ["a 500", status(500), true],
    ["a redirect", status(302), true],
    ["a 404", status(404), false],
    ["a 429", status(429), false],
    ["an answer", status(204), false],
  ])("has the address checked after %s, and never without it", async (_, answer, looked) => {
    for (const debug_diagnostics of [true, false]) {
      const world = worldOf({ a: [answer] }, { debug_diagnostics });
      await answered(world);
      expect(world.diagnosed).toEqual(looked && debug_diagnostics ? ["http://a.test/v1"] : []);
    }
  });
});

describe("an endpoint that cannot be used", () => {
  it("is skipped: a blocked address, a credential that cannot be opened", async () => {
    const world = worldOf({ a: [status(200)], b: [status(200)], c: [status(204)] });
    world.model = modelOf({
      endpoints: [
        endpoint("a", { api_base: "http://169.254.169.254/v1" }),
        endpoint("b", { api_key: "broken" }),
        endpoint("c", { api_key: "fine" }),
      ],
    });
    world.open = async (stored) =>
      stored === "broken" ? await Promise.reject(new Error("sealed with another key")) : `opened ${stored}`;
    expect((await answered(world)).status).toBe(204);
    expect(hosts(world)).toEqual(["c"]);
    expect(world.upstreamCalls[0]?.headers["authorization"]).toBe("Bearer opened fine");
    expect(world.permit.settlement?.upstream).toEqual({ failover: 2, success: 1 });
  });

  it("is 502 when it is the only one, without a call and never through the default upstream", async () => {
    const world = worldOf({});
    world.model = modelOf({ api_base: "http://[fe80::1]/v1" });
    expect(await answered(world)).toMatchObject({ status: 502, row: { total_tokens: 0 } });
    expect(world.upstreamCalls).toEqual([]);
    expect(world.alerts).toMatchObject([{ detail: "tiny: address blocked after 0 attempts on 0 endpoints" }]);
  });

  it("is not the operator's own default upstream, whatever its address is", async () => {
    const world = worldOf({}, {});
    world.ssrf = { blockPrivate: true, allowedCidrs: [] };
    world.upstreamBaseUrl = "http://127.0.0.1:8081";
    world.upstream = status(204);
    expect((await answered(world)).status).toBe(204);
  });
});

describe("an endpoint that failed three times in a row", () => {
  it("is tried last for ten seconds, then in its position again", async () => {
    const world = worldOf({ a: [refuses, refuses, refuses, status(204)], b: [status(204)] }, { max_retries: 1 });
    await answered(world);
    await answered(world);
    world.nowMs += 10_000;
    await answered(world);
    expect(hosts(world)).toEqual(["a", "a", "a", "b", "b", "a"]);
  });
});

describe("an upstream that refuses the usage option", () => {
  const picky = async (call: UpstreamCall): Promise<Response> =>
    new TextDecoder().decode(call.body as Uint8Array).includes("stream_options")
      ? new Response("unknown field stream_options", { status: 400 })
      : new Response("data: [DONE]\n\n", { headers: { "content-type": "text/event-stream" } });

  it("is called again at once, which is no retry, and remembered for ten minutes", async () => {
    const world = worldOf({ a: [picky] });
    expect((await answered(world, { body })).text).toContain("[DONE]");
    expect({ upstreamCallCount: world.upstreamCalls.length, upstream: world.permit.settlement?.upstream }).toEqual({
      upstreamCallCount: 2,
      upstream: { success: 1 },
    });
    await answered(world, { body });
    expect(world.upstreamCalls).toHaveLength(3);
    world.nowMs += 10 * 60 * 1000;
    await answered(world, { body });
    expect(world.upstreamCalls).toHaveLength(5);
  });

  it.each([
    ["another name of its upstream", { upstream_model: "another-upstream" }],
    ["another record of its name", { id: "00000000-0000-4000-8000-0000000000ee" }],
    ["another address", { endpoints: [], api_base: "http://another.test/v1" }],
  ])("is not remembered for a model that has got %s", async (_, changes) => {
    const world = worldOf({ a: [picky], another: [picky] });
    await answered(world, { body });
    world.model = Object.assign({}, world.model, changes);
    await answered(world, { body });
    expect(world.upstreamCalls).toHaveLength(4);
  });

  it("is not remembered if the request was wrong: no client turns off what bills others", async () => {
    const wrong = async (): Promise<Response> => new Response("no stream_options here", { status: 400 });
    const world = worldOf({ a: [wrong] });
    for (let times = 0; times < 2; times += 1) expect((await answered(world, { body })).status).toBe(400);
    expect(world.upstreamCalls).toHaveLength(4);
  });
});
