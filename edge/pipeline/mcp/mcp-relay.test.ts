import { beforeEach, describe, expect, it, vi } from "vitest";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { NO_UPSTREAM, NOTHING_KNOWN } from "../call/known.ts";
import { relayMcp } from "./mcp-relay.ts";

// The runtime has its own class; Node's does not differ in anything that matters here.
beforeEach(() => void vi.stubGlobal("IdentityTransformStream", TransformStream));

const EVENTS = { "content-type": "text/event-stream" };
let world: TestPipeline;

beforeEach(() => {
  world = new TestPipeline();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

/** An answer that the test writes, on its way to a client that may leave. */
function relayed(method: string, headers: Readonly<Record<string, string>>) {
  const client = new AbortController();
  const stop = new AbortController();
  const source = new TransformStream<Uint8Array, Uint8Array>();
  const server = source.writable.getWriter();
  server.closed.catch(() => undefined);
  stop.signal.addEventListener("abort", () => void server.abort(stop.signal.reason).catch(() => undefined));
  const call = world.call({ method, body: null, signal: client.signal }, "/mcp/tools");
  const answer = { response: new Response(source.readable, { headers }), stop, upstream: NO_UPSTREAM };
  const response = relayMcp(call, NOTHING_KNOWN, answer);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const send = async (text: string): Promise<void> => await server.write(new TextEncoder().encode(text));
  const receive = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value);
  return { client, stop, server, reader, say: send, hear: receive };
}

/** Runs everything that needs no time. */
const settle = async (): Promise<void> => void (await vi.advanceTimersByTimeAsync(0));

describe("an answer whose client has left", () => {
  it.each([
    ["POST", EVENTS, "data: 1\n\n"],
    ["POST", { "content-type": "application/json" }, '{"id":1'],
    ["DELETE", EVENTS, ": ping\n\n"],
  ])("is read on for 30 seconds: %s %j after %j", async (method, headers, first) => {
    const { client, stop, say: send, hear: receive } = relayed(method, headers);
    const sent = send(first);
    expect(await receive()).toBe(first);
    await sent;
    client.abort();
    for (let secs = 0; secs < 29; secs += 1) {
      await vi.advanceTimersByTimeAsync(1000);
      await send("more");
    }
    expect(stop.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(stop.signal.aborted).toBe(true);
    await world.settled();
  });

  it.each([
    ["GET", EVENTS, "data: 1\n\n"],
    ["POST", EVENTS, "event: message\nid: 7\ndata: 1\n\n"],
  ])("is cancelled at once when the client can come back to it: %s %j after %j", async (method, headers, first) => {
    const { client, stop, say: send, hear: receive } = relayed(method, headers);
    const sent = send(first);
    expect(await receive()).toBe(first);
    await sent;
    client.abort();
    await settle();
    expect(stop.signal.aborted).toBe(true);
    await world.settled();
  });

  it("silently, while it does not read, is noticed too", async () => {
    const { reader, stop, server, say: send } = relayed("POST", EVENTS);
    await reader.cancel();
    // Writes fail now; the answer is still read to its end.
    for (let at = 0; at < 5; at += 1) await send(`data: ${at}\n\n`);
    await server.close();
    await world.settled();
    expect(stop.signal.aborted).toBe(false);
  });
});

describe("an answer", () => {
  it("is not read faster than its client takes it, and has no time limit", async () => {
    const { stop, say: send, hear: receive, server, reader } = relayed("POST", EVENTS);
    let written = 0;
    const saying = (async () => {
      for (let at = 0; at < 50; at += 1) {
        await send(`data: ${at}\n\n`);
        written += 1;
      }
    })();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(written).toBeLessThan(10);
    for (let at = 0; at < 50; at += 1) expect(await receive()).toBe(`data: ${at}\n\n`);
    await saying;
    await server.close();
    expect((await reader.read()).done).toBe(true);
    await world.settled();
    expect(stop.signal.aborted).toBe(false);
  });

  it("gives everybody else a turn after every 256 KiB", async () => {
    const { reader, say: send, server } = relayed("POST", EVENTS);
    for (let at = 0; at < 12; at += 1) {
      const sent = send("x".repeat(48 * 1024));
      await reader.read();
      await sent;
    }
    await server.close();
    await reader.read();
    await world.settled();
    expect(world.waits).toEqual([0, 0]);
  });

  it("that breaks off breaks off for its client", async () => {
    const { say: send, hear: receive, server, reader } = relayed("POST", EVENTS);
    const sent = send("data: 1\n\n");
    expect(await receive()).toBe("data: 1\n\n");
    await sent;
    const next = reader.read();
    await server.abort(new Error("cut"));
    await expect(next).rejects.toThrow();
    await world.settled();
  });
});
