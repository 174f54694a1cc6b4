/** Reads of a stored answer while the number of remaining requests is unknown (docs/rules/budgets.md#unreachable). */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ResolvedKey } from "../../shared/records.ts";
import { IdentityTransform } from "../../test/harness/edge/pipeline/identity-transform.ts";
import { keyOf, tenantOf } from "../../test/harness/edge/pipeline/records.ts";
import { TestPermit, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { runStored } from "./run-stored.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

async function read(key: ResolvedKey, failOpen: boolean, query = "") {
  const world = new TestPipeline();
  world.key = key;
  world.failOpen = failOpen;
  world.objects.set("resp_1", { upstream: "http://upstream.test", model: "tiny" });
  world.upstream = async () => Response.json({ id: "resp_1" });
  let requests = 0;
  world.subCallPermit = async ({ need }) => {
    requests += need.requests ?? 0;
    return new TestPermit();
  };
  const response = await runStored(
    world.received({ method: "GET", body: null }, `/v1/responses/resp_1${query}`),
    "resp_1",
  );
  const text = await response.text();
  await world.settled();
  const { code = null } = (JSON.parse(text) as { error?: { code: string } }).error ?? {};
  const alerts = world.alerts.map(({ issueKey }) => issueKey);
  return { status: response.status, code, requests, calls: world.upstreamCalls.length, alerts };
}

const ofTenant = keyOf({ tenant: tenantOf({ requests_per_minute: 1 }) });
const ofKey = keyOf({ requests_per_minute: 1 });

describe("a read of a stored answer whose limit cannot be read", () => {
  it.each([
    ["tenant", ofTenant, "redis_budget_reserve_failed_open"],
    ["key", ofKey, "redis_key_budget_reserve_failed_open"],
  ])("counts as one of the requests per minute of its %s", async (_, key, alert) => {
    expect(await read(key, true)).toEqual({ status: 200, code: null, requests: 1, calls: 1, alerts: [alert] });
  });

  it.each([
    ["tenant", ofTenant, "budget_check_failed", "redis_budget_reserve_failed_closed"],
    ["key", ofKey, "key_budget_check_failed", "redis_key_budget_reserve_failed_closed"],
  ])("is refused with GATEWAY_FAIL_OPEN off, if its %s has one", async (_, key, code, alert) => {
    expect(await read(key, false)).toEqual({ status: 503, code, requests: 0, calls: 0, alerts: [alert] });
  });

  it("does not count, and is not refused, if there is no limit", async () => {
    expect(await read(keyOf(), false)).toEqual({ status: 200, code: null, requests: 0, calls: 1, alerts: [] });
  });
});

it("a read of a stored answer may not name another server or model in its query", async () => {
  for (const query of ["?api_base=http://evil.test", "?custom_llm_provider=x", "?include[]=reasoning&lora_path=x"])
    expect({ query, ...(await read(keyOf(), true, query)) }).toMatchObject({ query, status: 400, calls: 0 });
  expect(await read(keyOf(), true, "?include[]=reasoning&limit=1&order=asc")).toMatchObject({ status: 200, calls: 1 });
});

describe("the stream of a stored answer", () => {
  afterEach(() => void vi.useRealTimers());

  it.each([
    ["?stream=true", "may last for an hour", false],
    ["", "is cut as any answer is if none was asked for", true],
  ])("of the query %j %s", async (query, _, isCut) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const world = new TestPipeline();
    world.objects.set("resp_1", { upstream: "http://upstream.test", model: "tiny" });
    let upstream: ReadableByteStreamController | null = null;
    world.upstream = async ({ signal }) => {
      const start = (controller: ReadableByteStreamController): void => {
        upstream = controller;
        signal.addEventListener("abort", () => {
          upstream = null;
          controller.error(signal.reason);
        });
      };
      const body = new ReadableStream({ type: "bytes", start });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    const sendsTo = (): ReadableByteStreamController | null => upstream;
    const place = `/v1/responses/resp_1${query}`;
    const reading = runStored(world.received({ method: "GET", body: null }, place), "resp_1");
    const text = reading.then(async (response) => await response.text());
    for (let passedMs = 0; passedMs < HOUR_MS; passedMs += MINUTE_MS) {
      sendsTo()?.enqueue(new Uint8Array(new TextEncoder().encode('data: {"type":"response.in_progress"}\n\n')));
      for (let ms = 0; ms < MINUTE_MS; ms += 500) {
        world.nowMs += 500;
        await vi.advanceTimersByTimeAsync(500);
      }
    }
    sendsTo()?.close();
    sendsTo()?.byobRequest?.respond(0);
    expect((await text).includes("upstream_stream_error")).toBe(isCut);
  });
});

it("a stream that is read from a later event on is charged for its events from the beginning", async () => {
  const world = new TestPipeline();
  const charged = { inputTokens: 1, outputTokens: 1, endUser: "" };
  world.objects.set("resp_1", { upstream: "http://upstream.test", model: "tiny", charged });
  const delta = { type: "response.output_text.delta", item_id: "m", output_index: 0, content_index: 0, delta: "word " };
  const events = Array.from({ length: 9 }, (_, at) => ({ ...delta, sequence_number: at }));
  world.upstream = async ({ url }) => {
    const after = Number(new URL(url).searchParams.get("starting_after") ?? -1);
    const text = events.slice(after + 1).map((event) => `data: ${JSON.stringify(event)}\n\n`);
    return new Response(text.join(""), { headers: { "content-type": "text/event-stream" } });
  };
  const readTokens = async (query: string) => {
    const permits: TestPermit[] = [];
    world.subCallPermit = async () => {
      const permit = new TestPermit();
      permits.push(permit);
      return permit;
    };
    const received = world.received({ method: "GET", body: null }, `/v1/responses/resp_1?stream=true${query}`);
    const text = await (await runStored(received, "resp_1")).text();
    await world.settled();
    const [tokens] = permits.map(({ settlement }) => settlement?.row?.output_tokens);
    return { tokens, shown: [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, at]) => Number(at)) };
  };
  const whole = await readTokens("");
  expect(await readTokens("&starting_after=5")).toEqual({ tokens: whole.tokens, shown: [6, 7, 8] });
  expect(whole.tokens).toBeGreaterThan(4);
});
