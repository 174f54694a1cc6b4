/** What one run of the tool loop counts as, and where its warning is seen (docs/rules/metrics.md#boons). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { GatewayError } from "../../../../shared/errors.ts";
import { IdentityTransform } from "../../../../test/harness/edge/pipeline/identity-transform.ts";
import { calls, LoopWorld, type Reply, saying } from "../../../../test/harness/edge/pipeline/tool-loop-world.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const refuses: Reply = () => new Response("no", { status: 500 });
const breaks: Reply = async () => await Promise.reject(new TypeError("refused"));
const huge: Reply = () => new Response("x".repeat(5_000_000), { headers: { "content-type": "application/json" } });
const event = (choice: object) => `data: ${JSON.stringify({ id: "s", choices: [{ index: 0, ...choice }] })}\n\n`;
const STREAM = { headers: { "content-type": "text/event-stream" } };
const streamOf = (text: string): Response => new Response(text, STREAM);
/** Breaks off after this; a stream of bytes, as upstreams answer with. */
const brokenStreamOf = (text: string): Response => {
  let sent = false;
  const pull = (controller: ReadableByteStreamController): void => {
    if (sent) controller.error(new Error("broke off"));
    else controller.enqueue(new TextEncoder().encode(text));
    sent = true;
  };
  return new Response(new ReadableStream({ type: "bytes", pull }), STREAM);
};
const call = { index: 0, id: "c", type: "function", function: { name: "search", arguments: "{}" } };
const streamsCall: Reply = () =>
  streamOf(`${event({ delta: { tool_calls: [call] }, finish_reason: "tool_calls" })}data: [DONE]\n\n`);
const streamsText: Reply = () =>
  streamOf(`${event({ delta: { content: "done" }, finish_reason: "stop" })}data: [DONE]\n\n`);
const streamsHalf: Reply = () => brokenStreamOf(event({ delta: { content: "do" } }));
const streamsError: Reply = () => streamOf('data: {"error":{"message":"no"}}\n\n');

async function outcomeOf(replies: readonly Reply[], stream: boolean) {
  const world = new LoopWorld(replies);
  const response = await world.ask(stream ? { stream } : {}).catch(() => null);
  await response?.text().catch(() => undefined);
  await world.settled();
  const runs = world.events.filter(({ metric }) => metric === "gateway_boon_runs_total");
  const [line] = world.logged.filter(
    ({ name, parent_request_id: parent }) => name === "request" && parent === undefined,
  );
  return {
    counted: runs.map(({ labels, times }) => [...labels, times].join(" ")),
    header: response?.headers.get("x-gateway-boons-warning") ?? null,
    logged: line?.["boons_warning"],
  };
}

const DISPATCH = "tool_loop_dispatch_failed";

describe("one run of a tool loop", () => {
  it.each([
    ["that ends well", [calls("search"), saying("done")], false, "hit", null, undefined],
    ["that calls no tool", [saying("done")], false, "hit", null, undefined],
    ["whose first turn fails", [refuses], false, "hit", null, undefined],
    ["whose later turn is an error", [calls("search"), refuses], false, "failed", null, undefined],
    ["whose later turn has no answer", [calls("search"), breaks], false, "failed", null, undefined],
    ["whose answer is too large", [huge], false, "failed", "response_too_large", "response_too_large"],
    ["that streams", [streamsCall, streamsText], true, "hit", null, undefined],
    ["whose stream has no later turn", [streamsCall, refuses], true, "failed", null, DISPATCH],
    ["whose later turn breaks off", [streamsCall, streamsHalf], true, "failed", null, DISPATCH],
    ["whose later turn has an error in it", [streamsCall, streamsError], true, "failed", null, DISPATCH],
    ["whose first turn breaks off", [streamsHalf], true, "hit", null, undefined],
  ] satisfies readonly (readonly [string, readonly Reply[], boolean, string, string | null, string | undefined])[])(
    "%s",
    async (_, replies, stream, outcome, header, logged) => {
      expect(await outcomeOf(replies, stream)).toEqual({ counted: [`tool_loop ${outcome} 1`], header, logged });
    },
  );

  it.each([
    ["that cannot be had", refuses],
    ["that breaks off", streamsHalf],
    ["with an error in it", streamsError],
  ])(
    "that streams has the error of a later turn %s in its row, also when its client leaves there",
    async (_, later) => {
      for (const leaves of [false, true]) {
        const world = new LoopWorld([streamsCall, later]);
        const body = (await world.ask({ stream: true })).body as ReadableStream<Uint8Array>;
        const reader = body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        while (!text.includes('"error":')) text += (await reader.read()).value ?? "";
        if (leaves) world.client.abort();
        else while (!(await reader.read()).done);
        await world.settled();
        const row = world.permit.settlement?.row;
        expect({ leaves, status: row?.status_code, code: row?.error_code }).toEqual({
          leaves,
          status: 200,
          code: "upstream_stream_error",
        });
      }
    },
  );

  it("is no failure when its client leaves", async () => {
    const world = new LoopWorld([streamsCall, streamsText]);
    world.tool = async () => {
      world.client.abort();
      return await Promise.withResolvers<Response>().promise;
    };
    await (await world.ask({ stream: true })).text().catch(() => undefined);
    await world.settled();
    const runs = world.events.filter(({ metric }) => metric === "gateway_boon_runs_total");
    expect(runs.map(({ labels }) => labels)).toEqual([["tool_loop", "hit"]]);
  });
});

it("logs the server and the tool that gave no result, and never what the server said", async () => {
  const world = new LoopWorld([calls("search"), saying("done")]);
  world.tool = ({ id }) => new Response(JSON.stringify({ id, error: { code: 1, message: "a secret" } }));
  await (await world.ask()).text();
  await world.settled();
  const reported = world.logged.filter(({ name }) => name === "tool_failed");
  expect(reported).toMatchObject([{ mcp_server: world.mcpServer?.name, tool: "search", reason: "an error" }]);
  expect(JSON.stringify(world.logged)).not.toContain("a secret");
});

it.each(["initialize", "tools/list", "tools/call"])(
  "a tool loop ends at once if it is interrupted during %s",
  async (method) => {
    const world = new LoopWorld([calls("search"), saying("done")]);
    const { upstream } = world;
    world.upstream = async (call) => {
      const { url, body } = call;
      const asked = url.includes("mcp.test") && (await new Response(body as BodyInit).text()).includes(`"${method}"`);
      if (!asked) return await upstream(call);
      world.memory.interruption.interrupt(new GatewayError("gateway_stopping"));
      return await new Promise(() => undefined);
    };
    const askedMs = Date.now();
    const response = await world.ask();
    const { error } = (await response.json()) as { error?: unknown };
    expect({ soon: Date.now() - askedMs < 5_000, status: response.status, error }).toMatchObject({
      soon: true,
      status: 503,
      error: { code: "gateway_stopping" },
    });
    await world.settled();
    expect(world.rows).toMatchObject([{ request_type: "chat", status_code: 503, cost_usd: 0 }]);
  },
);
