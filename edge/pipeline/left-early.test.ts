/**
 * A client that leaves after it got its slot and before the upstream is called costs nothing; one that leaves later
 * does (docs/rules/settlement-and-rows.md#clients-that-leave).
 */
import { describe, expect, it } from "vitest";
import { TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { run } from "./run.ts";

describe("a client that leaves", () => {
  it("while its slot is granted never reaches the upstream, and is billed nothing", async () => {
    const world = new TestPipeline();
    const client = new AbortController();
    const received = world.received({ signal: client.signal });
    const { admission } = received.ports;
    const admit: typeof admission.admit = async (request) => {
      client.abort();
      return await admission.admit(request);
    };
    await run({ ...received, ports: { ...received.ports, admission: { ...admission, admit } } });
    await world.settled();
    expect(world.upstreamCalls).toEqual([]);
    expect(world.permit.settlement).toMatchObject({
      actualTokens: 0,
      row: { status_code: 499, total_tokens: 0, cost_usd: 0 },
    });
    expect(world.permit.disposed).toBe(true);
    expect(world.recorded).toEqual([]);
  });

  it("before its Cell answers keeps a receiver for the grant, which would be billed without one", async () => {
    const world = new TestPipeline();
    const client = new AbortController();
    const received = world.received({ signal: client.signal });
    const { admission } = received.ports;
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const admit: typeof admission.admit = async (request) => {
      asked.resolve();
      await answered.promise;
      return await admission.admit(request);
    };
    const running = run({ ...received, ports: { ...received.ports, admission: { ...admission, admit } } });
    await asked.promise;
    client.abort();
    expect(world.pending).toHaveLength(1);
    answered.resolve();
    await running;
    await world.settled();
    expect(world.permit.settlement).toMatchObject({ actualTokens: 0, row: { status_code: 499 } });
  });

  it("after the upstream was called is billed at the estimate", async () => {
    const world = new TestPipeline();
    const client = new AbortController();
    world.upstream = async (call) => {
      client.abort();
      call.signal.throwIfAborted();
      return Response.json({ choices: [] });
    };
    await run(world.received({ signal: client.signal }));
    await world.settled();
    expect(world.upstreamCalls).toHaveLength(1);
    const estimate = world.requests[0]?.costTokens;
    expect(world.permit.settlement).toMatchObject({ actualTokens: estimate, row: { status_code: 499 } });
  });

  it("while a small answer is read gets none of it, and is billed what the answer reports", async () => {
    const world = new TestPipeline();
    const client = new AbortController();
    const body = new TextEncoder().encode('{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}');
    const pull = (controller: ReadableByteStreamController): void => {
      client.abort();
      controller.enqueue(body.slice());
      controller.close();
      controller.byobRequest?.respond(0);
    };
    const headers = { "content-type": "application/json", "content-length": String(body.byteLength) };
    world.upstream = async () => new Response(new ReadableStream({ type: "bytes", pull }), { headers });
    await run(world.received({ signal: client.signal }));
    await world.settled();
    expect(world.permit.settlement).toMatchObject({ actualTokens: 7, row: { status_code: 499, total_tokens: 7 } });
  });
});
