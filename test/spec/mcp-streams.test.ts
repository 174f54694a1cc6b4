/**
 * The MCP reverse proxy: streams, clients that leave, counting (docs/rules/mcp.md#calls,
 * docs/rules/mcp.md#clients-that-leave).
 */
import { describe, expect, inject, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { type McpMinted, useMcp } from "../harness/mcp-fixture.ts";
import type { SeenMcpCall } from "../harness/mcp-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const mcp = useMcp(useGateway());

describe("an event stream", () => {
  it("arrives event by event, and ends when its server ends it", async () => {
    const minted = await mcp.mint("events");
    const response = await mcp.call(minted, `/${minted.mark}`, { method: "GET" });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    const seen = await mcp.seenOnce(minted.mark);
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    for (let at = 0; at < 5; at += 1) {
      seen.say(`id: ${at}\ndata: ${at}\n\n`);
      expect((await reader.read()).value).toBe(`id: ${at}\ndata: ${at}\n\n`);
    }
    seen.say(null);
    expect((await reader.read()).done).toBe(true);
    await reader.closed;
  });

  it("that its server cuts is cut for the client, too", async () => {
    const minted = await mcp.mint("cut");
    const response = await mcp.call(minted);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });
});

describe("a client that leaves", () => {
  /** Opens a stream, reads its first message, leaves, and lets the server continue. */
  async function leave(minted: McpMinted, method: string, first: string | null): Promise<SeenMcpCall> {
    const client = new AbortController();
    const answered = mcp.call(minted, `/${minted.mark}`, { method, signal: client.signal });
    const seen = await mcp.seenOnce(minted.mark);
    if (first !== null) {
      const reader = ((await answered).body as ReadableStream<Uint8Array>).getReader();
      seen.say(first);
      await reader.read();
      client.abort();
      await reader.closed.catch(() => undefined);
    } else {
      client.abort();
      await answered.catch(() => undefined);
    }
    return seen;
  }

  it.each([
    ["in the middle of an answer", "events", "data: 1\n\n"],
    ["before an answer has begun", "silent", null],
  ])("%s does not cancel its call", async (_when, behaviour, first) => {
    const minted = await mcp.mint(behaviour);
    const seen = await leave(minted, "POST", first);
    // A departure that happened later is noticed, so this one was noticed too.
    const later = await leave(await mcp.mint("events"), "GET", "data: 1\n\n");
    await waitFor(
      () => later,
      ({ cutOff }) => cutOff,
    );
    expect(seen.cutOff).toBe(false);
    seen.say("data: 2\n\n");
    seen.say(null);
    await waitFor(
      () => seen,
      ({ answered, cutOff }) => answered || cutOff,
    );
    expect({ answered: seen.answered, cutOff: seen.cutOff }).toEqual({ answered: true, cutOff: false });
  });

  it.each([
    ["a stream that it listened to", "GET", "data: 1\n\n"],
    ["an answer that can be resumed", "POST", "id: 1\ndata: 1\n\n"],
  ])("releases %s at once", async (_what, method, first) => {
    const seen = await leave(await mcp.mint("events"), method, first);
    await waitFor(
      () => seen,
      ({ cutOff }) => cutOff,
    );
  });
});

it("calls are counted by server and status class", async () => {
  const minted = await mcp.mint();
  const failing = await mcp.mint("status=503");
  await (await mcp.call(minted)).text();
  await (await mcp.call(minted)).text();
  await (await mcp.call(failing)).text();
  const samples = async (): Promise<readonly string[]> => {
    const text = await (await fetch(`${inject("metricsUrl")}/metrics`)).text();
    return text.split("\n").filter((line) => line.startsWith("gateway_mcp_requests_total{"));
  };
  const shown = await waitFor(samples, (lines) => lines.some((line) => line.includes(failing.mark)));
  expect(shown.filter((line) => line.includes(minted.mark) || line.includes(failing.mark)).sort()).toEqual(
    [
      `gateway_mcp_requests_total{server="${minted.mark}",status="2xx",cell="local"} 2`,
      `gateway_mcp_requests_total{server="${failing.mark}",status="5xx",cell="local"} 1`,
    ].sort(),
  );
});
