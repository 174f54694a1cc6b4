import { beforeEach, describe, expect, it, vi } from "vitest";
import type { McpServerRecord } from "../../../shared/records.ts";
import { callerOf, mcpServerOf, refusalOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { NOTHING_KNOWN } from "../call/known.ts";
import { accessMcpServer } from "./mcp-access.ts";
import { callMcpServer, type McpAnswer } from "./mcp-call.ts";

const target = { server: "tools", rest: "" };
let world: TestPipeline;

beforeEach(() => {
  world = new TestPipeline();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

const start = (server: McpServerRecord, init: RequestInit = {}): Promise<McpAnswer> =>
  callMcpServer(world.call(init, "/mcp/tools"), { ...callerOf(), server }, target);

/** Code and message of a refusal. */
async function refusal(work: Promise<unknown>): Promise<unknown> {
  return await work.then(() => null, refusalOf);
}

/** Makes the upstream answer only when the call is aborted. */
function neverAnswering(): void {
  world.upstream = async ({ signal }) =>
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
}

describe("a call to an MCP server", () => {
  it("is given 30 seconds to send headers, and then as long as it takes", async () => {
    neverAnswering();
    const late = refusal(start(mcpServerOf()));
    await vi.advanceTimersByTimeAsync(29_999);
    expect(world.alerts).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await late).toBe("mcp_upstream_failed");
    expect(world.alerts).toMatchObject([
      { issueKey: "mcp_upstream_request_failed:tools", detail: "tools: timed out before headers" },
    ]);
    world.upstream = async () => new Response("{}");
    const { stop } = await start(mcpServerOf());
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(stop.signal.aborted).toBe(false);
  });

  it("that fails or answers 5xx is an alert without any text of the server", async () => {
    world.upstream = async () => {
      throw new Error("connect ECONNREFUSED to a secret place");
    };
    expect(await refusal(start(mcpServerOf()))).toBe("mcp_upstream_failed");
    world.upstream = async () => new Response("secret", { status: 503 });
    expect((await start(mcpServerOf())).response.status).toBe(503);
    expect(world.alerts).toEqual([
      { issueKey: "mcp_upstream_request_failed:tools", title: "MCP server failed", detail: "tools: connection failed" },
      { issueKey: "mcp_upstream_5xx_response:tools", title: "MCP server failed", detail: "tools: answered 503" },
    ]);
  });

  it("never goes to a blocked address, even if it was registered", async () => {
    for (const host of ["169.254.169.254", "[fe80::1]", "0.0.0.0"]) {
      expect(await refusal(start(mcpServerOf({ upstream_url: `http://${host}/mcp` })))).toBe("mcp_upstream_failed");
    }
    expect(world.upstreamCalls).toEqual([]);
  });

  it("sends the opened credential, or nothing when it cannot be opened", async () => {
    await start(mcpServerOf({ auth_header: "sealed" }));
    expect(world.upstreamCalls[0]?.headers["authorization"]).toBe("opened sealed");
    world.open = async () => {
      throw new Error("another key");
    };
    expect(await refusal(start(mcpServerOf({ auth_header: "sealed" })))).toBe("mcp_upstream_failed");
    expect(world.upstreamCalls).toHaveLength(1);
  });

  it("continues without its client, unless the client only listened", async () => {
    neverAnswering();
    const outcomes = ["POST", "DELETE", "GET"].map((method) => {
      const client = new AbortController();
      const body = method === "POST" ? { body: "{}" } : { body: null };
      const work = refusal(start(mcpServerOf(), { method, signal: client.signal, ...body }));
      return { client, work };
    });
    await vi.advanceTimersByTimeAsync(1);
    for (const { client } of outcomes) client.abort();
    await vi.advanceTimersByTimeAsync(1);
    const ended = world.upstreamCalls.map(({ method, signal }) => [method, signal.aborted]);
    expect(Object.fromEntries(ended)).toEqual({ POST: false, DELETE: false, GET: true });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await Promise.all(outcomes.map(({ work }) => work))).toEqual([
      "mcp_upstream_failed",
      "mcp_upstream_failed",
      "ClientGone",
    ]);
  });
});

describe("access to an MCP server", () => {
  const access = async (): Promise<string> =>
    (await accessMcpServer(world.call({}, "/mcp/tools"), NOTHING_KNOWN, "tools")).server.name;

  it("compares the revisions of key, tenant and server with the Cell, and reads stale ones again", async () => {
    world.mcpServer = mcpServerOf({ rev: 4 });
    const asked: string[][] = [];
    world.stale = (items) => {
      asked.push(items.map(({ kind, id, rev }) => `${kind} ${id} ${rev}`));
      world.mcpServer = mcpServerOf({ rev: 5 });
      return [{ kind: "mcp", id: "tools", rev: 5 }];
    };
    expect(await access()).toBe("tools");
    expect(world.forgotten).toEqual(["mcp tools"]);
    const tenant = world.key?.tenant?.id;
    expect(asked).toEqual([["key hash 1", `tenant ${tenant} 1`, "all * 0", "group default 1", "mcp tools 4"]]);
  });

  it("is refused rather than granted when a record stays stale", async () => {
    world.mcpServer = mcpServerOf();
    world.stale = () => [{ kind: "mcp", id: "tools", rev: 5 }];
    expect(await refusal(access())).toBe("key_store_unavailable");
  });
});
