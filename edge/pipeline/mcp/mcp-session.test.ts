/** Each session of an MCP server belongs to one tenant (docs/rules/mcp.md#sessions). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { keyOf, mcpServerOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { runMcp } from "./run-mcp.ts";

// The runtime has its own class; Node's does not differ in anything that matters here.
beforeEach(() => void vi.stubGlobal("IdentityTransformStream", TransformStream));

const OWN = tenantOf().id;
const OTHER = "00000000-0000-4000-8000-00000000000b";

const target = { server: "tools", rest: "" };
let world: TestPipeline;
beforeEach(() => {
  world = new TestPipeline();
  world.mcpServer = mcpServerOf();
});

/** The status of a call with these headers, when its server gives this answer. */
async function call(method: string, sessionId: string | null, answer: ResponseInit = {}): Promise<number> {
  world.upstream = async () => new Response("{}", answer);
  const headers = { authorization: `Bearer ${SECRET}`, ...(sessionId === null ? {} : { "mcp-session-id": sessionId }) };
  const init = { method, headers, body: method === "POST" ? "{}" : null };
  const response = await runMcp(world.received(init, "/mcp/tools"), target);
  await response.text();
  await world.settled();
  return response.status;
}

const giving = (id: string): ResponseInit => ({ headers: { "mcp-session-id": id } });

describe("a session", () => {
  it("belongs to the tenant to whom its server gave it", async () => {
    expect(await call("POST", null, giving("s"))).toBe(200);
    expect([...world.mcpSessions.known]).toEqual([["s", OWN]]);
    expect({ status: await call("POST", "s"), renewed: world.mcpSessions.renewed }).toEqual({
      status: 200,
      renewed: ["s"],
    });
  });

  it.each(["GET", "POST", "DELETE", "PATCH"])("of another tenant is unknown to a %s", async (method) => {
    world.mcpSessions.known.set("s", OTHER);
    expect({
      singleStatus: await call(method, "s"),
      listedStatus: await call(method, "own, s"),
      upstreamCalls: world.upstreamCalls,
    }).toEqual({ singleStatus: 404, listedStatus: 404, upstreamCalls: [] });
    expect({ known: [...world.mcpSessions.known], renewed: world.mcpSessions.renewed }).toEqual({
      known: [["s", OTHER]],
      renewed: [],
    });
  });

  it("without a known tenant passes, and belongs to no tenant afterwards", async () => {
    expect({ status: await call("POST", "s"), upstreamCallCount: world.upstreamCalls.length }).toEqual({
      status: 200,
      upstreamCallCount: 1,
    });
    expect({ known: [...world.mcpSessions.known], renewed: world.mcpSessions.renewed }).toEqual({
      known: [],
      renewed: [],
    });
  });

  it("that a client made up, and its server repeats, belongs to no tenant", async () => {
    expect(await call("POST", "made-up", giving("made-up"))).toBe(200);
    expect([...world.mcpSessions.known]).toEqual([]);
  });

  it("is not served while nobody can say whose it is", async () => {
    world.mcpSessions.owners = async () => await Promise.reject(new Error("away"));
    expect({ status: await call("POST", "s"), upstreamCalls: world.upstreamCalls }).toEqual({
      status: 503,
      upstreamCalls: [],
    });
  });

  it("that its server gives to another tenant too stays its first owner's", async () => {
    world.mcpSessions.known.set("s", OTHER);
    await call("POST", null, giving("s"));
    expect(await call("POST", "s")).toBe(404);
    world.key = keyOf({ tenant: tenantOf({ id: OTHER }) });
    expect(await call("POST", "s")).toBe(200);
  });

  it.each(["region=eu;sid=", '"eu";', "eu,"])("may begin as another tenant's does: %s", async (start) => {
    await call("POST", null, giving(`${start}1`));
    world.key = keyOf({ tenant: tenantOf({ id: OTHER }) });
    await call("POST", null, giving(`${start}2`));
    expect({
      own: await call("POST", `${start}2`),
      others: await call("POST", `${start}1`),
      quoted: await call("POST", `"${start}1"`),
    }).toEqual({ own: 200, others: 404, quoted: 404 });
  });

  it.each([
    [204, []],
    [404, [["s", OWN]]],
    [405, [["s", OWN]]],
    [500, [["s", OWN]]],
  ])("whose DELETE is answered %i is known as %j afterwards", async (status, known) => {
    world.mcpSessions.known.set("s", OWN);
    world.upstream = async () => new Response(null, { status });
    const headers = { authorization: `Bearer ${SECRET}`, "mcp-session-id": "s" };
    await runMcp(world.received({ method: "DELETE", headers, body: null }, "/mcp/tools"), target);
    expect([...world.mcpSessions.known]).toEqual(known);
  });

  it.each([
    ["POST", 400],
    ["POST", 503],
    ["GET", 404],
    ["DELETE", 200],
    ["DELETE", 405],
  ])("belongs to the tenant that gets its id in the answer to a %s, with the status %i", async (method, status) => {
    world.mcpSessions.known.set("ended", OWN);
    expect(await call(method, "ended", { status, ...giving("s") })).toBe(status);
    expect(world.mcpSessions.known.get("s")).toBe(OWN);
  });

  it("is not owned again when its server names it in the answer that ends it", async () => {
    world.mcpSessions.known.set("s", OWN);
    expect(await call("DELETE", "s", giving("s"))).toBe(200);
    expect([...world.mcpSessions.known]).toEqual([]);
  });
});
