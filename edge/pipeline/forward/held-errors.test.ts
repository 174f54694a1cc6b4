/**
 * Answers that the gateway must read before it decides the next step, and that do not come
 * (docs/rules/upstream-calls.md#time-limits).
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { run } from "../run.ts";

beforeEach(() => {
  vi.stubGlobal("IdentityTransformStream", IdentityTransform);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

type Model = Parameters<typeof modelOf>[0];

/** A request whose first answer has its head, and of its body only what the test sends; any other model answers. */
function asked(status: number, model: Model, stream = false) {
  const world = new TestPipeline();
  world.model = modelOf({ max_retries: 0, stream_keepalive_secs: 0, ...model });
  world.otherModels.set("other", modelOf({ model_name: "other" }));
  const client = new AbortController();
  let body: ReadableByteStreamController | null = null;
  world.upstream = async ({ signal }) => {
    if (world.upstreamCalls.length > 1) return Response.json({ choices: [] });
    const start = (controller: ReadableByteStreamController): void => {
      body = controller;
      signal.addEventListener("abort", () => controller.error(signal.reason));
    };
    const headers = { "content-type": "application/json" };
    return new Response(new ReadableStream({ type: "bytes", start }), { status, headers });
  };
  const answering = run(
    world.received({ body: JSON.stringify({ model: "tiny", stream, messages: [] }), signal: client.signal }),
  );
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      world.nowMs += 500;
      await vi.advanceTimersByTimeAsync(500);
    }
  };
  const ended = async () => {
    const response = await answering;
    const text = await response.text();
    await world.settled();
    const { row } = world.permit.settlement ?? {};
    return {
      status: response.status,
      code: (JSON.parse(text || "{}") as { error?: { code: string } }).error?.code,
      model: row?.served_model,
      error: row?.error_code,
      tokens: row?.total_tokens,
    };
  };
  const send = (text: string): void => body?.enqueue(new TextEncoder().encode(text));
  return { world, client, pass, ended, send, breakOff: () => body?.error(new Error("cut")) };
}

const FALLS_BACK: Model = { fallback_models: ["other"], fallback_on: ["context_length", "failure"] };
const TOO_LONG: Model = { fallback_models: ["other"], fallback_on: ["context_length"] };
const TIMED_OUT = { status: 504, code: "upstream_timeout", model: "tiny", error: "upstream_timeout", tokens: 0 };

describe("a 400 whose body decides on the next model, and never ends", () => {
  it("is ended by idle_timeout_secs, and counts as no answer", async () => {
    const held = asked(400, { ...TOO_LONG, idle_timeout_secs: 30 });
    await held.pass(20_000);
    held.send('{"error":');
    await held.pass(28_000);
    expect(held.world.permit.settlement).toBeNull();
    await held.pass(4000);
    expect(await held.ended()).toEqual(TIMED_OUT);
  });

  it("is ended by first_token_timeout_secs of a stream", async () => {
    const held = asked(400, { ...TOO_LONG, first_token_timeout_secs: 10 }, true);
    await held.pass(500);
    held.send('{"error":');
    await held.pass(12_000);
    expect(await held.ended()).toEqual(TIMED_OUT);
  });

  it("is followed by the model for failures", async () => {
    const held = asked(400, { ...FALLS_BACK, request_timeout_secs: 10 });
    await held.pass(12_000);
    expect(await held.ended()).toMatchObject({ status: 200, model: "other", error: "" });
  });

  it("is 502 in JSON when it breaks off", async () => {
    const held = asked(400, TOO_LONG);
    await held.pass(500);
    held.send('{"error":');
    await held.pass(500);
    held.world.upstream = async () => await Promise.reject(new TypeError("refused"));
    held.breakOff();
    await held.pass(1000);
    expect(await held.ended()).toMatchObject({ status: 502, code: "upstream_failed", error: "upstream_failed" });
  });

  it("is 499 client_gone when its client leaves, who owes nothing", async () => {
    const held = asked(400, TOO_LONG);
    await held.pass(500);
    held.send('{"error":');
    await held.pass(500);
    held.client.abort();
    expect(await held.ended()).toMatchObject({ status: 499, error: "client_gone", tokens: 0 });
  });
});

describe("a 200 without a byte", () => {
  it("is ended by idle_timeout_secs when it is no stream", async () => {
    const held = asked(200, { idle_timeout_secs: 30 });
    await held.pass(28_000);
    expect(held.world.permit.settlement).toBeNull();
    await held.pass(4000);
    expect(await held.ended()).toEqual(TIMED_OUT);
  });

  it("has all the time of first_token_timeout_secs when it is a stream", async () => {
    const held = asked(200, { idle_timeout_secs: 10, first_token_timeout_secs: 60 }, true);
    await held.pass(59_000);
    expect(held.world.permit.settlement).toBeNull();
    await held.pass(4000);
    expect(await held.ended()).toEqual(TIMED_OUT);
  });
});

it("an upstream's own 499 is no client that left", async () => {
  const held = asked(499, {});
  held.world.upstream = async () => Response.json({ error: { message: "closed" } }, { status: 499 });
  expect(await held.ended()).toMatchObject({ status: 499, error: "" });
});
