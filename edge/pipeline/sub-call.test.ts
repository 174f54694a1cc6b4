/** A call that the gateway makes while it serves a request leaves one row, for every outcome; an unbilled one leaves none. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { GatewayError } from "../../shared/errors.ts";
import type { ModelRecord } from "../../shared/records.ts";
import type { UsageRow } from "../../shared/usage/usage-row.ts";
import { IdentityTransform } from "../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../test/harness/edge/pipeline/records.ts";
import { type Answer, bodyOf, endpoint, hangs, refuses, status } from "../../test/harness/edge/pipeline/upstreams.ts";
import { TestPermit, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import type { AdmissionRequest } from "../domain/admission/rpc.ts";
import { authenticate } from "./authenticate/authenticate.ts";
import { ClientGone } from "./call/client-gone.ts";
import type { Call } from "./call/context.ts";
import type { Prepared } from "./call/known.ts";
import { NOTHING_KNOWN } from "./call/known.ts";
import { prepare } from "./prepare/prepare.ts";
import { startCall } from "./receive/start-call.ts";
import { parseCall } from "./resolve-model/parse-call.ts";
import { resolveModel } from "./resolve-model/resolve-model.ts";
import { openSubCall, type SubCall, subCall, unbilledCall } from "./sub-call.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const HELPER = modelOf({
  model_name: "helper",
  upstream_model: "helper-upstream",
  endpoints: [endpoint("one"), endpoint("two")],
  max_retries: 3,
});
const ASKED: SubCall = {
  requestType: "tool_loop",
  model: HELPER,
  body: { messages: [{ role: "user", content: "describe" }], max_tokens: 20 },
  timeoutMs: 1_500,
};
const ANSWER = { choices: [{ message: { content: "hi" } }], usage: { prompt_tokens: 5, completion_tokens: 7 } };
const BLANKS = new Uint8Array(10).fill(32);

/** A client's request, and the admission messages of its sub-call. */
class SubCallWorld extends TestPipeline {
  readonly client = new AbortController();
  readonly subPermit = new TestPermit();
  readonly admitted: AdmissionRequest[] = [];
  #ids = 0;

  constructor() {
    super();
    this.subCallPermit = async (request) => {
      this.admitted.push(request);
      return this.subPermit;
    };
  }

  /** Makes a sub-call and collects its answer; returns the error that it throws. */
  async make(upstream: Answer): Promise<unknown> {
    this.upstream = upstream;
    return await this.within(async (call, request) => await subCall(call, request, ASKED));
  }

  /** Runs the work of a request that has not been admitted yet; returns the error that it throws. */
  async within(work: (call: Call, request: Prepared) => Promise<unknown>): Promise<unknown> {
    const received = this.received({ signal: this.client.signal });
    const uuid = () => `00000000-0000-4000-8000-00000000000${++this.#ids}`;
    const call = startCall({ ...received, ports: { ...received.ports, random: { ...received.ports.random, uuid } } });
    const caller = await authenticate(call, NOTHING_KNOWN);
    const request = await prepare(call, await resolveModel(call, await parseCall(call, caller)));
    const made = await work(call, request).catch((error: unknown) => error);
    await this.settled();
    return made;
  }

  /** Every row that was handed in, by every way. */
  get rows(): readonly UsageRow[] {
    const settled = this.subPermit.settlement;
    return [...(settled === null ? [] : [settled.row]), ...this.recorded, ...this.orphans];
  }
}

describe("a sub-call", () => {
  it("is answered, and has a row of its own that is charged to its caller", async () => {
    const world = new SubCallWorld();
    const made = await world.make(async () => Response.json(ANSWER));
    expect(made).toEqual({ kind: "answered", status: 200, value: ANSWER });
    const [sent] = world.upstreamCalls;
    expect(sent?.url).toBe("http://one.test/v1/chat/completions");
    expect(await new Response(sent?.body as Uint8Array<ArrayBuffer>).json()).toEqual({
      model: "helper-upstream",
      messages: [{ role: "user", content: "describe" }],
      max_tokens: 20,
    });
    expect(world.rows).toEqual([
      expect.objectContaining({
        request_id: "00000000-0000-4000-8000-000000000002",
        request_type: "tool_loop",
        admission: "boon",
        model: "helper",
        tenant_id: world.key?.tenant?.id,
        key_id: world.key?.key_id,
        session_id_source: "derived",
        cache_status: "off",
        status_code: 200,
        upstream_status: 200,
        input_tokens: 5,
        output_tokens: 7,
        cost_usd: 12,
        queue_wait_ms: 0,
      }),
    ]);
    expect(world.subPermit.settlement?.actualTokens).toBe(12);
    expect(world.logged).toMatchObject([
      { name: "request", request_type: "tool_loop", parent_request_id: "00000000-0000-4000-8000-000000000001" },
    ]);
  });

  it("is charged its estimate when its upstream reports what cannot be true", async () => {
    const world = new SubCallWorld();
    const usage = { prompt_tokens: 1e30, completion_tokens: 7 };
    await world.make(async () => Response.json({ ...ANSWER, usage }));
    const estimated = world.admitted[0]?.estimate;
    expect(world.rows).toMatchObject([{ input_tokens: estimated?.inputTokens, output_tokens: 20 }]);
    expect(world.alerts).toMatchObject([{ issueKey: "budget_amount_refused" }]);
  });

  it("waits for nothing and reserves nothing: its request holds its slot and tokens already", async () => {
    const world = new SubCallWorld();
    await world.make(async () => Response.json(ANSWER));
    expect(world.requests).toEqual([]);
    expect(world.admitted).toMatchObject([
      {
        requestId: "00000000-0000-4000-8000-000000000002",
        model: { name: "helper" },
        need: { bucketTokens: 0, termTokens: 0, nanoUsd: 0 },
        row: { admission: "boon", request_type: "tool_loop", status_code: 499 },
      },
    ]);
  });

  it("is sent as it is made, once, to one endpoint", async () => {
    const world = new SubCallWorld();
    const made = await world.make(refuses);
    expect(made).toMatchObject({ code: "upstream_failed" });
    expect(world.upstreamCalls.map(({ url }) => new URL(url).hostname)).toEqual(["one.test"]);
    expect(world.rows).toMatchObject([{ status_code: 502, admission: "boon", total_tokens: 0, cost_usd: 0 }]);
  });

  it("returns an upstream's error, and costs nothing then", async () => {
    const world = new SubCallWorld();
    expect(await world.make(status(429))).toEqual({ kind: "answered", status: 429, value: undefined });
    expect(world.upstreamCalls.length).toBe(1);
    expect(world.rows).toMatchObject([{ status_code: 429, upstream_status: 429, total_tokens: 0, cost_usd: 0 }]);
  });

  it("has a time limit of its own", async () => {
    const world = new SubCallWorld();
    const startedMs = Date.now();
    expect(await world.make(hangs)).toMatchObject({ code: "upstream_timeout" });
    expect(Date.now() - startedMs).toBeLessThan(10_000);
    expect(world.rows).toMatchObject([{ status_code: 504, total_tokens: 0 }]);
  });

  it("fails when its Cell is unreachable, and its row may duplicate one of the Cell's", async () => {
    const world = new SubCallWorld();
    world.subCallPermit = async () => await Promise.reject(new GatewayError("scheduler_unavailable"));
    expect(await world.make(async () => Response.json(ANSWER))).toMatchObject({ code: "scheduler_unavailable" });
    expect(world.upstreamCalls).toEqual([]);
    expect({ orphanCount: world.orphans.length, rowCount: world.rows.length }).toEqual({ orphanCount: 1, rowCount: 1 });
    expect(world.rows).toMatchObject([
      { status_code: 503, admission: "rejected", request_type: "tool_loop", cost_usd: 0 },
    ]);
  });

  it("is billed at its estimate when the client of its request leaves before the answer", async () => {
    const world = new SubCallWorld();
    const made = await world.make(async (call) => {
      const hanging = hangs(call);
      world.client.abort();
      return await hanging;
    });
    expect(made).toBeInstanceOf(ClientGone);
    expect(world.upstreamCalls[0]?.signal.aborted).toBe(true);
    const [row, ...more] = world.rows;
    expect(more).toEqual([]);
    expect(row).toMatchObject({ status_code: 499, admission: "boon", output_tokens: 20 });
    expect(row?.cost_usd).toBe(row?.total_tokens);
  });

  it("ends when the client of its request leaves during the answer", async () => {
    const world = new SubCallWorld();
    let cancelled = false;
    const made = await world.make(async () => {
      let pieces = 0;
      const next = () => {
        pieces += 1;
        if (pieces === 2) world.client.abort();
        return BLANKS.slice();
      };
      return new Response(bodyOf(next, () => (cancelled = true)));
    });
    expect(made).toBeInstanceOf(ClientGone);
    expect(cancelled).toBe(true);
    expect(world.rows).toMatchObject([{ status_code: 499, admission: "boon" }]);
  });

  it("fails when its answer breaks off", async () => {
    const world = new SubCallWorld();
    let pieces = 0;
    const next = () => {
      pieces += 1;
      if (pieces === 3) throw new Error("broken");
      return BLANKS.slice();
    };
    expect(await world.make(async () => new Response(bodyOf(next)))).toMatchObject({ code: "upstream_failed" });
    expect(world.rows).toMatchObject([{ status_code: 200, admission: "boon", output_tokens: 20 }]);
  });

  it("does not collect an endless answer", async () => {
    const world = new SubCallWorld();
    let cancelled = false;
    const next = () => new Uint8Array(64 * 1024);
    const endless = async () => new Response(bodyOf(next, () => (cancelled = true)));
    expect(await world.make(endless)).toEqual({ kind: "too-large" });
    expect(cancelled).toBe(true);
    expect(world.rows).toMatchObject([{ status_code: 499, admission: "boon" }]);
  });
});

const STREAMED: SubCall = { ...ASKED, body: { ...ASKED.body, stream: true, stream_options: { include_usage: true } } };
const EVENTS = [
  'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n',
  'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}\n\n',
  "data: [DONE]\n\n",
];

/** A stream of these events; after `breaksAfter` of them it breaks off. */
function eventsOf(events: readonly string[], breaksAfter = Number.POSITIVE_INFINITY): Response {
  let at = 0;
  const next = () => {
    if (at === breaksAfter) throw new Error("broken");
    const event = events[at];
    at += 1;
    return event === undefined ? null : new Uint8Array(new TextEncoder().encode(event));
  };
  return new Response(bodyOf(next), { headers: { "content-type": "text/event-stream" } });
}

describe("an open sub-call", () => {
  it("is a live answer, usage event included, and is settled at its end", async () => {
    const world = new SubCallWorld();
    world.upstream = async () => eventsOf(EVENTS);
    const made = await world.within(async (call, request) => {
      const response = await openSubCall(call, request, STREAMED);
      expect(world.rows).toEqual([]);
      return [response.status, response.headers.get("content-type"), await response.text()];
    });
    expect(made).toEqual([200, "text/event-stream", EVENTS.join("")]);
    const sent = await new Response(world.upstreamCalls[0]?.body as Uint8Array<ArrayBuffer>).json();
    expect(sent).toMatchObject({ model: "helper-upstream", stream: true, stream_options: { include_usage: true } });
    expect(world.rows).toMatchObject([{ status_code: 200, admission: "boon", input_tokens: 5, output_tokens: 7 }]);
  });

  it("returns an error of the upstream with its status", async () => {
    const world = new SubCallWorld();
    world.upstream = status(500);
    const made = await world.within(async (call, request) => {
      const response = await openSubCall(call, request, STREAMED);
      return [response.status, await response.text()];
    });
    expect(made).toEqual([502, "body of 500"]);
    expect(world.rows).toMatchObject([{ status_code: 502, upstream_status: 500, cost_usd: 0 }]);
  });

  it("ends with the stream error of a client's answer when the upstream breaks off", async () => {
    const world = new SubCallWorld();
    world.upstream = async () => eventsOf(EVENTS, 1);
    const made = await world.within(async (call, request) => await (await openSubCall(call, request, STREAMED)).text());
    expect(made).toContain("upstream_stream_error");
    expect(made).not.toContain("[DONE]");
    expect(world.rows).toMatchObject([{ status_code: 200, admission: "boon" }]);
    // Not the 20 tokens that were allowed.
    expect(world.rows[0]?.output_tokens).toBeLessThan(20);
  });

  it.each<[string, (client: AbortController, body: ReadableStream | null) => unknown]>([
    ["its reader cancels it", async (_client, body) => await body?.cancel()],
    [
      "the client of its request leaves",
      async (client, body) => {
        client.abort();
        await new Response(body).text().catch(() => undefined);
      },
    ],
  ])("ends when %s, and is billed what was seen", async (_, leave) => {
    const world = new SubCallWorld();
    const piece = new TextEncoder().encode(EVENTS[0]);
    world.upstream = async ({ signal }) => {
      const endless = bodyOf(() => {
        signal.throwIfAborted();
        return new Uint8Array(piece);
      });
      return new Response(endless, { headers: { "content-type": "text/event-stream" } });
    };
    await world.within(async (call, request) => {
      const { body } = await openSubCall(call, request, STREAMED);
      await leave(world.client, body);
    });
    expect(world.upstreamCalls[0]?.signal.aborted).toBe(true);
    expect(world.rows).toMatchObject([{ status_code: 499, admission: "boon" }]);
    // Not the 20 tokens that were allowed.
    expect(world.rows[0]?.output_tokens).toBeLessThan(20);
  });
});

describe("an unbilled call", () => {
  const ask = async (world: SubCallWorld, upstream: Answer): Promise<unknown> => {
    world.upstream = upstream;
    return await world.within(async (call, request) => await unbilledCall(call, request, ASKED));
  };

  it("goes to the model's upstream with its credential, without permit, charge and row", async () => {
    const world = new SubCallWorld();
    const model = { ...HELPER, endpoints: [endpoint("one", { api_key: "sealed" })] };
    world.upstream = async () => Response.json(ANSWER);
    const made = await world.within(async (call, request) => await unbilledCall(call, request, { ...ASKED, model }));
    expect(made).toEqual({ kind: "answered", status: 200, value: ANSWER });
    const [sent] = world.upstreamCalls;
    expect({ url: sent?.url, authorization: sent?.headers["authorization"] }).toEqual({
      url: "http://one.test/v1/chat/completions",
      authorization: "Bearer opened sealed",
    });
    expect({ admitted: world.admitted, requests: world.requests, rows: world.rows }).toEqual({
      admitted: [],
      requests: [],
      rows: [],
    });
  });

  it("to a model of Anthropic's API is translated as work of its tenant, and its answer too", async () => {
    const world = new SubCallWorld();
    const belongs = vi.spyOn(world.memory.turns, "belongs");
    const model: ModelRecord = { ...HELPER, api_dialect: "anthropic", auth_scheme: "x-api-key" };
    const content = [{ type: "text", text: "hi" }];
    const usage = { input_tokens: 5, output_tokens: 7 };
    world.upstream = async () => Response.json({ type: "message", id: "msg_1", model: "m", content, usage });
    const made = await world.within(async (call, request) => await unbilledCall(call, request, { ...ASKED, model }));
    expect(made).toMatchObject({ status: 200, value: { choices: [{ message: { content: "hi" } }] } });
    expect(belongs.mock.lastCall?.[0]).not.toBe(belongs.mock.calls[0]?.[0]);
    const [sent] = world.upstreamCalls;
    expect({ url: sent?.url, version: sent?.headers["anthropic-version"] }).toEqual({
      url: "http://one.test/v1/messages",
      version: "2023-06-01",
    });
  });

  it("is sent once, and has a time limit that covers its answer", { tags: ["check"] }, async () => {
    const world = new SubCallWorld();
    expect(await ask(world, refuses)).toMatchObject({ code: "upstream_failed" });
    expect(world.upstreamCalls.length).toBe(1);
    expect(await ask(world, hangs)).toMatchObject({ code: "upstream_timeout" });
    const silent: Answer = async ({ signal }) =>
      new Response(
        new ReadableStream({
          type: "bytes",
          start: (controller) => signal.addEventListener("abort", () => controller.error(signal.reason)),
        }),
      );
    expect(await ask(world, silent)).toMatchObject({ code: "upstream_timeout" });
    expect({ admitted: world.admitted, rows: world.rows }).toEqual({ admitted: [], rows: [] });
  });

  it("is not sent to an address that the policy forbids", async () => {
    const world = new SubCallWorld();
    world.ssrf = { blockPrivate: true, allowedCidrs: [] };
    const model = { ...HELPER, endpoints: [endpoint("inside", { api_base: "http://10.0.0.1/v1" })] };
    const made = await world.within(async (call, request) => await unbilledCall(call, request, { ...ASKED, model }));
    expect(made).toMatchObject({ code: "upstream_failed" });
    expect(world.upstreamCalls).toEqual([]);
  });

  it("collects no endless answer, and ends when the client leaves", async () => {
    const world = new SubCallWorld();
    let cancelled = false;
    const next = () => new Uint8Array(64 * 1024);
    expect(await ask(world, async () => new Response(bodyOf(next, () => (cancelled = true))))).toEqual({
      kind: "too-large",
    });
    expect(cancelled).toBe(true);
    const made = await ask(world, async (call) => {
      const hanging = hangs(call);
      world.client.abort();
      return await hanging;
    });
    expect(made).toBeInstanceOf(ClientGone);
    expect(world.memory.answerMemory.usedBytes).toBe(0);
  });
});
