/**
 * The slot of a request whose isolate is cut off from its Cell (docs/rules/admission.md#leases-of-isolates): the request ends
 * before the Cell gives the slot to another one, and a grant that came too late is not used.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { GRANT, TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import type { SlotLeases } from "../../ports.ts";
import { run } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

/** A pipeline in a cluster. `end` ends the lease of what runs; leases that are `late` had ended when their grant came. */
function clustered(late: (lease: number) => boolean = () => false, body: object = {}) {
  const world = new TestPipeline();
  const seen = { begun: 0, released: 0, watches: 0, end: (): void => undefined };
  const leases: SlotLeases = {
    leaseMs: 45_000,
    begin: () => {
      const isHeld = !late(seen.begun);
      seen.begun += 1;
      return {
        watch: (onEnd) => {
          seen.end = onEnd;
          seen.watches += 1;
        },
        isHeld: async () => isHeld,
        release: () => {
          seen.released += 1;
        },
      };
    },
  };
  const messages = [{ role: "user", content: "12345678" }];
  const received = world.received({ body: JSON.stringify({ model: "tiny", messages, ...body }) });
  const { admission } = received.ports;
  const input = { ...received, ports: { ...received.ports, admission: { ...admission, leases } } };
  return { world, seen, input };
}

/** An upstream that sends one event and then nothing, until it is aborted. */
function oneEvent(signal: AbortSignal): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: "bytes",
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode('data: {"choices":[]}\n\n'));
      signal.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
}

describe("a slot that is lost", () => {
  it("ends the stream of its request in-band, and its upstream", async () => {
    const { world, seen, input } = clustered(undefined, { stream: true });
    let aborted: AbortSignal | null = null;
    world.upstream = async ({ signal }) => {
      aborted = signal;
      const headers = { "content-type": "text/event-stream; charset=utf-8", "x-first": "1" };
      return new Response(oneEvent(signal), { headers });
    };
    const response = await run(input);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await renewed(seen);
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
    const { world, seen, input } = clustered();
    world.upstream = async ({ signal }) =>
      await new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        void renewed(seen).then(() => seen.end());
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

it("does not renew the lease of a request that ends at once", async () => {
  vi.useFakeTimers();
  const { world, seen, input } = clustered();
  await (await run(input)).text();
  await world.settled();
  await vi.advanceTimersByTimeAsync(10_000);
  expect({ watches: seen.watches, released: seen.released }).toEqual({ watches: 0, released: 1 });
});

describe("a grant that comes after the lease has ended", () => {
  it.each([
    ["at once", false],
    ["to a request that waited", true],
  ])("%s is not used: the request asks again, and gives it back", async (_, waits) => {
    const { world, seen, input } = clustered((lease) => lease === 0);
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
    const { world, seen, input } = clustered(() => true);
    const response = await run(input);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 503,
      body: { error: { code: "scheduler_unavailable" } },
    });
    await world.settled();
    expect({ requestCount: world.requests.length, hasLeft: world.permit.hasLeft, released: seen.released }).toEqual({
      requestCount: 10,
      hasLeft: false,
      released: 10,
    });
    expect(world.permit.settlement).toMatchObject({
      actualTokens: 0,
      row: { status_code: 503, admission: "rejected", cost_usd: 0 },
    });
    expect({ orphans: world.orphans, recorded: world.recorded, upstreamCalls: world.upstreamCalls }).toEqual({
      orphans: [],
      recorded: [],
      upstreamCalls: [],
    });
    expect(world.alerts).toMatchObject([{ issueKey: "scheduler_unavailable" }]);
  });
});

/** Resolves when the lease is renewed by a running request. */
async function renewed(seen: { readonly watches: number }): Promise<void> {
  await waitFor(
    () => seen.watches,
    (watches) => watches > 0,
  );
}
