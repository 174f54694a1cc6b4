/**
 * The slot of a request whose isolate is cut off from its Cell (docs/rules/admission.md#leases-of-isolates): the request ends
 * before the Cell gives the slot to another one, and a grant that came too late is not used.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { clustered } from "../../test/harness/edge/clustered.ts";
import { IdentityTransform } from "../../test/harness/edge/pipeline/identity-transform.ts";
import { GRANT, TestPermit, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { run } from "../pipeline/run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

/** A pipeline in a cluster. `end` ends the lease of running requests; `late` leases had ended when their grant came. */
function inCluster(late: (lease: number) => boolean = () => false, body: object = {}) {
  const world = new TestPipeline();
  const seen = { begun: 0, released: 0, end: (): void => undefined };
  const lease = (onEnd: () => void) => {
    const isHeld = !late(seen.begun);
    seen.begun += 1;
    seen.end = onEnd;
    return {
      isHeld: async () => isHeld,
      release: () => {
        seen.released += 1;
      },
    };
  };
  const messages = [{ role: "user", content: "12345678" }];
  const received = world.received({ body: JSON.stringify({ model: "tiny", messages, ...body }) });
  const admission = clustered(received.ports.admission, world, { lease });
  return { world, seen, input: { ...received, ports: { ...received.ports, admission } } };
}

/** An upstream that sends one event and then nothing, until it is aborted. `relayed`: called when the event was passed on. */
function oneEvent(signal: AbortSignal, relayed: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: "bytes",
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode('data: {"choices":[]}\n\n'));
      signal.addEventListener("abort", () => controller.error(signal.reason));
    },
    pull: relayed,
  });
}

describe("a slot that is lost", () => {
  it("ends the stream of its request in-band, and its upstream", async () => {
    const { world, seen, input } = inCluster(undefined, { stream: true });
    let aborted: AbortSignal | null = null;
    const relayed = Promise.withResolvers<void>();
    world.upstream = async ({ signal }) => {
      aborted = signal;
      const headers = { "content-type": "text/event-stream; charset=utf-8", "x-first": "1" };
      return new Response(oneEvent(signal, relayed.resolve), { headers });
    };
    const response = await run(input);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await relayed.promise;
    seen.end();
    let rest = "";
    for (let next = await reader.read(); !next.done; next = await reader.read())
      rest += new TextDecoder().decode(next.value);
    await world.settled();
    expect(JSON.parse(rest.slice(rest.indexOf("{")))).toMatchObject({ error: { code: "scheduler_unavailable" } });
    expect(rest).not.toContain("[DONE]");
    expect({ aborted: (aborted as AbortSignal | null)?.aborted, alerts: world.alerts }).toEqual({
      aborted: true,
      alerts: [],
    });
    expect({ status_code: world.permit.settlement?.row.status_code, released: seen.released }).toEqual({
      status_code: 200,
      released: 1,
    });
  });

  it("is 503 before the first byte, and no other attempt follows", async () => {
    const { world, seen, input } = inCluster();
    world.upstream = async ({ signal }) =>
      await new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        seen.end();
      });
    const response = await run(input);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 503,
      body: { error: { code: "scheduler_unavailable" } },
    });
    await world.settled();
    expect({
      upstreamCallCount: world.upstreamCalls.length,
      status_code: world.permit.settlement?.row.status_code,
      released: seen.released,
    }).toEqual({ upstreamCallCount: 1, status_code: 503, released: 1 });
  });
});

describe("a grant that comes after the lease has ended", () => {
  it.each([
    ["at once", false],
    ["to a request that waited", true],
  ])("%s is not used: the request asks again, and gives it back", async (_, waits) => {
    const { world, seen, input } = inCluster((lease) => lease === 0);
    const first = new TestPermit();
    first.decided.resolve(GRANT);
    world.answers = [waits ? { verdict: "waiting", permit: first } : { ...GRANT, permit: first }];
    const response = await run(input);
    await response.text();
    await world.settled();
    expect({ status: response.status, upstreamCallCount: world.upstreamCalls.length, begun: seen.begun }).toEqual({
      status: 200,
      upstreamCallCount: 1,
      begun: 2,
    });
    expect(world.requests.map(({ waitedMs, anew }) => ({ waitedMs, anew }))).toEqual([
      { waitedMs: null, anew: false },
      { waitedMs: 0, anew: true },
    ]);
    expect({
      firstSettlement: first.settlement,
      firstHasLeft: first.hasLeft,
      status_code: world.permit.settlement?.row.status_code,
    }).toEqual({ firstSettlement: null, firstHasLeft: false, status_code: 200 });
  });

  it("fails its request when that happens again and again, which pays nothing", async () => {
    const { world, seen, input } = inCluster(() => true);
    const response = await run(input);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 503,
      body: { error: { code: "scheduler_unavailable" } },
    });
    await world.settled();
    expect({ requestCount: world.requests.length, hasLeft: world.permit.hasLeft, leases: seen.begun }).toEqual({
      requestCount: 10,
      hasLeft: false,
      leases: 10,
    });
    expect(seen.released).toBeGreaterThanOrEqual(10);
    expect(world.orphans).toMatchObject([{ status_code: 503, admission: "rejected", cost_usd: 0 }]);
    expect({ settlement: world.permit.settlement, recorded: world.recorded, upstream: world.upstreamCalls }).toEqual({
      settlement: null,
      recorded: [],
      upstream: [],
    });
    expect(world.alerts).toMatchObject([{ issueKey: "scheduler_unavailable" }]);
  });
});
