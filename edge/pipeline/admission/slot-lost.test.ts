/**
 * The slot of a request whose isolate is cut off from its Cell (docs/rules/admission.md#leases-of-isolates): the request ends
 * before the Cell gives the slot to another one, and a grant that came too late is not used.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import type { SlotLeases } from "../../ports.ts";
import { run } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const GRANT = { verdict: "granted", grant: { admission: "fast", queueWaitMs: 0, level: null } } as const;

const LEASE_MS = 45_000;

/** A pipeline in a cluster. `end` ends the lease of what runs; leases that are `late` had ended when their grant came. */
function clustered(late: readonly boolean[] = [], body: object = {}) {
  const world = new TestPipeline();
  const seen = { begun: 0, released: 0, watches: 0, end: (): void => undefined };
  const leases: SlotLeases = {
    leaseMs: LEASE_MS,
    begin: () => {
      const isHeld = late[seen.begun] !== true;
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
    const { world, seen, input } = clustered([], { stream: true });
    let aborted: AbortSignal | null = null;
    world.upstream = async ({ signal }) => {
      aborted = signal;
      // a request that lasts renews its lease
      world.permit.reset.reject(new Error("out of reach"));
      const headers = { "content-type": "text/event-stream; charset=utf-8", "x-first": "1" };
      return new Response(oneEvent(signal), { headers });
    };
    world.adopt = async () => await new Promise<never>(() => undefined);
    const response = await run(input);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await waitForWatch(seen);
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
    expect({
      status_code: world.permit.settlement?.row.status_code,
      disposed: world.permit.disposed,
      released: seen.released,
    }).toEqual({ status_code: 200, disposed: true, released: 1 });
  });

  it("is 503 before the first byte, and no other attempt follows", async () => {
    const { world, seen, input } = clustered();
    world.upstream = async ({ signal }) =>
      await new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        world.permit.reset.reject(new Error("out of reach"));
        void waitForWatch(seen).then(() => seen.end());
      });
    world.adopt = async () => await new Promise<never>(() => undefined);
    const response = await run(input);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 503,
      body: { error: { code: "scheduler_unavailable" } },
    });
    await world.settled();
    expect({
      upstreamCallCount: world.upstreamCalls.length,
      status_code: world.permit.settlement?.row.status_code,
    }).toEqual({ upstreamCallCount: 1, status_code: 503 });
  });

  it("is released if it is adopted all the same", async () => {
    const { world, seen, input } = clustered();
    const adopted = new TestPermit();
    const answer = Promise.withResolvers<TestPermit>();
    world.adopt = async () => await answer.promise;
    world.upstream = async ({ signal }) =>
      await new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        world.permit.reset.reject(new Error("out of reach"));
        void waitForWatch(seen).then(() => seen.end());
      });
    await (await run(input)).text();
    await world.settled();
    answer.resolve(adopted);
    await new Promise((resolve) => setTimeout(resolve));
    expect({
      adoptedDisposed: adopted.disposed,
      adoptedSettlement: adopted.settlement,
      rowStatus: world.permit.settlement?.row.status_code,
    }).toEqual({ adoptedDisposed: true, adoptedSettlement: null, rowStatus: 503 });
  });
});

describe("a grant that comes after the lease has ended", () => {
  it.each([
    ["at once", false],
    ["to a request that waited", true],
  ])("%s is not used: the request asks again", async (_, waits) => {
    const { world, seen, input } = clustered([true, false]);
    const first = new TestPermit();
    first.decided.resolve(GRANT);
    world.answers = [waits ? { verdict: "waiting", permit: first } : { ...GRANT, permit: first }];
    world.upstream = async () => Response.json({ choices: [] });
    const response = await run(input);
    await response.text();
    await world.settled();
    expect({ status: response.status, upstreamCallCount: world.upstreamCalls.length, begun: seen.begun }).toEqual({
      status: 200,
      upstreamCallCount: 1,
      begun: 2,
    });
    expect({ disposed: first.disposed, settlement: first.settlement, waitedMs: world.requests[1]?.waitedMs }).toEqual({
      disposed: true,
      settlement: null,
      waitedMs: 0,
    });
    expect(world.requests.map(({ leaseMs }) => leaseMs)).toEqual([LEASE_MS, LEASE_MS]);
    expect(world.permit.settlement?.row.status_code).toBe(200);
  });
});

/** Resolves when the lease is renewed by a running request, some time after its upstream was called. */
async function waitForWatch(seen: { readonly watches: number }): Promise<void> {
  await waitFor(
    () => seen.watches,
    (watches) => watches > 0,
  );
}
