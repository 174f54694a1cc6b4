/**
 * A client that leaves before the upstream is called costs nothing, one that leaves later does; each has one row
 * (docs/rules/settlement-and-rows.md#clients-that-leave).
 */
import { describe, expect, it } from "vitest";
import { mcpServerOf, tenantOf } from "../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { runMcp } from "./mcp/run-mcp.ts";
import { run, runOther } from "./run.ts";

const JSON_BODY = { "content-type": "application/json", "content-length": "30" };
const OPEN_BODY = { "content-type": "application/json" };
const FORM_BODY = { "content-type": "multipart/form-data; boundary=b", "content-length": "300" };

/** A request whose body breaks off after its start. */
function cutOff(headers: Readonly<Record<string, string>>): RequestInit & { readonly duplex: "half" } {
  const start = headers === FORM_BODY ? "--b\r\nContent-Disp" : '{"model":"tiny"';
  const body = new ReadableStream({
    type: "bytes",
    start: (controller) => controller.enqueue(new TextEncoder().encode(start)),
    pull: (controller) => controller.error(new Error("the connection is gone")),
  });
  const common = { authorization: `Bearer ${SECRET}`, "x-session-id": "mine" };
  return { method: "POST", headers: { ...common, ...headers }, body, duplex: "half" };
}

describe("a client that leaves", () => {
  it.each([
    ["JSON", run, "/v1/chat/completions", JSON_BODY],
    ["JSON without a length", run, "/v1/chat/completions", OPEN_BODY],
    ["a form", run, "/v1/audio/transcriptions", FORM_BODY],
    ["an undocumented path", runOther, "/v1/rerank", JSON_BODY],
    ["a call of an MCP server", runMcp, "/mcp/tools", JSON_BODY],
  ] as const)("with half of %s sent has one row, and calls nobody", async (_, serve, path, headers) => {
    const world = new TestPipeline();
    world.mcpServer = mcpServerOf();
    const response = await serve(world.received(cutOff(headers), path), { server: "tools", rest: "" });
    await world.settled();
    expect(response.status).toBe(499);
    expect(world.recorded).toMatchObject([
      {
        tenant_id: tenantOf().id,
        status_code: 499,
        error_code: "client_gone",
        admission: "rejected",
        session_id: "mine",
        attempts: 0,
        total_tokens: 0,
        cost_usd: 0,
      },
    ]);
    const { upstreamCalls, requests, orphans, alerts } = world;
    expect({ upstreamCalls, requests, orphans, alerts }).toEqual({
      upstreamCalls: [],
      requests: [],
      orphans: [],
      alerts: [],
    });
  });

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
    expect({ recorded: world.recorded, orphans: world.orphans }).toEqual({ recorded: [], orphans: [] });
  });

  it("before its Cell answers is kept until the grant comes, and gives it back with its row", async () => {
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
