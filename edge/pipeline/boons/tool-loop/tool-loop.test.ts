/** A request with a tool loop, from the client's call to its rows (docs/rules/tool-loop.md). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../../test/harness/edge/pipeline/identity-transform.ts";
import { mcpServerOf } from "../../../../test/harness/edge/pipeline/records.ts";
import { calls, LoopWorld, type Reply, saying, USAGE } from "../../../../test/harness/edge/pipeline/tool-loop-world.ts";
import type { JsonObject } from "../../../domain/wire/json/document.ts";
import type { UpstreamCall } from "../../../ports.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const bodyOf = async (response: Response) => (await response.json()) as JsonObject;
const results = (body: JsonObject | undefined) =>
  ((body?.["messages"] ?? []) as readonly JsonObject[])
    .filter(({ role }) => role === "tool")
    .map(({ content }) => content);
const toolNames = (body: JsonObject | undefined) =>
  (body?.["tools"] as readonly { function: JsonObject }[] | undefined)?.map((tool) => tool.function["name"]);

describe("a tool loop", () => {
  it("runs tools and answers with the last turn, under the first one's id and with all usage", async () => {
    const world = new LoopWorld([calls("search"), saying("done")]);
    const response = await world.ask({ temperature: 0.5 });
    expect(response.headers.get("x-gateway-boons")).toBe("tool_loop");
    expect(await bodyOf(response)).toEqual({
      id: "first",
      created: 1,
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "done" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 6, completion_tokens: 4, total_tokens: 10 },
    });
    await world.settled();
    expect(toolNames(world.asked[0])).toEqual(["search"]);
    expect(world.asked[0]?.["messages"]).toEqual([
      { role: "system", content: expect.stringMatching(/^Tools are available/) as string },
      { role: "user", content: "hello" },
    ]);
    expect(world.asked[1]).toMatchObject({ temperature: 0.5, model: "tiny-upstream" });
    expect(results(world.asked[1])).toEqual(['result of {"name":"search","arguments":{"q":1}}']);
    expect(world.rows).toMatchObject([
      { request_type: "chat", admission: "fast", status_code: 200, input_tokens: 3, output_tokens: 2 },
      { request_type: "tool_loop", admission: "boon", status_code: 200, input_tokens: 3, output_tokens: 2 },
    ]);
    expect(world.sessions).toEqual({ begun: 2, ended: 2 });
    for (const headers of world.serverHeaders) {
      expect(headers["authorization"]).toBe("opened sealed");
      expect(Object.keys(headers).join()).toMatch(
        /^accept,(content-type,)?(mcp-session-id,)?(mcp-protocol-version,)?authorization$/,
      );
    }
    expect(world.memory.answerMemory.usedBytes).toBe(0);
  });

  it("leaves an answer without tools as it is", async () => {
    const world = new LoopWorld([saying("at once")]);
    const response = await world.ask();
    expect(await response.text()).toBe(await (await saying("at once")({}, {} as UpstreamCall)).text());
    await world.settled();
    expect(world.rows).toHaveLength(1);
  });

  it("lists the tools of a server once in ten minutes, all pages", async () => {
    const world = new LoopWorld([saying("a")]);
    world.lists = [
      { tools: [{ name: "one" }], nextCursor: "1" },
      { tools: [{ name: "two" }], nextCursor: "1" },
    ];
    await (await world.ask()).text();
    await (await world.ask()).text();
    expect(toolNames(world.asked[1])).toEqual(["one", "two"]);
    const listed = () => world.served.filter(({ method }) => method === "tools/list").length;
    expect(listed()).toBe(2);
    world.nowMs += 600_000;
    await (await world.ask()).text();
    expect(listed()).toBe(4);
    world.mcpServer = mcpServerOf({ rev: 2, auth_header: "sealed" });
    await (await world.ask()).text();
    expect(listed()).toBe(6);
  });

  it("does not touch requests that it could not serve", async () => {
    const cases: readonly JsonObject[] = [
      { n: 2 },
      { functions: [{ name: "f" }] },
      { tool_choice: "none" },
      { tools: "x" },
      { messages: "x" },
    ];
    for (const body of cases) {
      const world = new LoopWorld([saying("a")]);
      const response = await world.ask(body);
      expect({ "x-gateway-boons": response.headers.get("x-gateway-boons"), served: world.served }).toEqual({
        "x-gateway-boons": null,
        served: [],
      });
    }
    const off = new LoopWorld([saying("a")]);
    expect((await off.ask({}, { "x-gateway-boons": "off" })).headers.get("x-gateway-boons")).toBeNull();
    const disabled = new LoopWorld([saying("a")], { tool_loop_enabled: false });
    expect((await disabled.ask()).headers.get("x-gateway-boons")).toBeNull();
  });

  it("keeps the client's tools first, and sends no nudge then", async () => {
    const world = new LoopWorld([saying("a")]);
    const mine = { type: "function", function: { name: "mine" } };
    await (await world.ask({ tools: [mine] })).text();
    expect(toolNames(world.asked[0])).toEqual(["mine", "search"]);
    expect(world.asked[0]?.["messages"]).toEqual([{ role: "user", content: "hello" }]);
  });

  it("returns a turn with a call of the client's tools to the client", async () => {
    const world = new LoopWorld([calls("search", "mine")]);
    const body = await bodyOf(await world.ask({ tools: [{ type: "function", function: { name: "mine" } }] }));
    expect(body["choices"]).toMatchObject([{ message: { tool_calls: [{ id: "c1" }] }, finish_reason: "tool_calls" }]);
    expect(world.asked).toHaveLength(1);
  });

  it("asks without its tools after the last turn", async () => {
    const world = new LoopWorld([calls("search"), calls("search"), calls("search")], { tool_loop_max_turns: 2 });
    const body = await bodyOf(await world.ask({ tool_choice: "required" }));
    expect(world.asked.map(toolNames)).toEqual([["search"], ["search"], undefined]);
    expect(world.asked.map(({ tool_choice: choice }) => choice)).toEqual(["required", undefined, undefined]);
    expect(body["choices"]).toMatchObject([{ message: { role: "assistant", content: null }, finish_reason: "stop" }]);
    expect(JSON.stringify(body)).not.toContain("tool_calls");
  });

  it.each([
    [
      "answers 500",
      () => new Response("x", { status: 500 }),
      /^error: the tool server did not give a result \(answered 500\)/,
    ],
    ["is no JSON", () => new Response("{", { headers: { "content-type": "text/plain" } }), /no reply to the request/],
    [
      "has another id",
      () => new Response('{"id":99,"result":{}}', { headers: { "content-type": "text/plain" } }),
      /no reply/,
    ],
    [
      "redirects",
      () => new Response(null, { status: 307, headers: { location: "http://elsewhere.test/" } }),
      /answered 307/,
    ],
    ["is too large", () => new Response("x".repeat(10_000_000)), /answer too large/],
    [
      "fails",
      () => Response.json({ isError: true, content: [{ type: "text", text: "no such city" }] }),
      /^error: no such city$/,
    ],
    ["never comes", async () => await Promise.withResolvers<Response>().promise, /timed out/],
    [
      "comes as an event",
      (message: JsonObject) =>
        new Response(
          `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\ndata: ${JSON.stringify({ id: message["id"], result: { content: [{ type: "text", text: "streamed" }] } })}\n\n`,
          { headers: { "content-type": "text/event-stream" } },
        ),
      /^streamed$/,
    ],
    [
      "is an endless stream",
      () =>
        new Response(
          new ReadableStream({
            pull: (controller) => controller.enqueue(new TextEncoder().encode(`data: ${"x".repeat(1000)}\n\n`)),
          }),
          {
            headers: { "content-type": "text/event-stream" },
          },
        ),
      /answer too large/,
    ],
    [
      "is an error of the protocol",
      (message: JsonObject) =>
        new Response(JSON.stringify({ id: message["id"], error: { code: -32602, message: "bad q" } }), {
          headers: { "content-type": "text/plain" },
        }),
      /^error: bad q$/,
    ],
  ] satisfies readonly (readonly [string, Reply, RegExp])[])(
    "continues when a result %s",
    async (_, tool, expected) => {
      const world = new LoopWorld([calls("search"), saying("done")], { tool_loop_tool_timeout_ms: 50 });
      world.tool = tool;
      expect(await (await world.ask()).text()).toContain("done");
      expect(results(world.asked[1])).toEqual([expect.stringMatching(expected)]);
      await world.settled();
      expect(world.memory.answerMemory.usedBytes).toBe(0);
      expect(world.sessions.ended).toBe(world.sessions.begun);
    },
  );

  it("restarts a session that its server has forgotten", async () => {
    const world = new LoopWorld([calls("search"), saying("done")]);
    let asked = 0;
    world.tool = () => {
      asked += 1;
      return asked === 1
        ? new Response(null, { status: 404 })
        : Response.json({ content: [{ type: "text", text: "again" }] });
    };
    await (await world.ask()).text();
    expect(results(world.asked[1])).toEqual(["again"]);
  });

  it("ends a session that broke off as it started", async () => {
    const world = new LoopWorld([saying("done")]);
    world.welcome = async () => await Promise.reject(new Error("broke off"));
    expect(await (await world.ask()).text()).toContain("done");
    await world.settled();
    expect(world.sessions).toEqual({ begun: 1, ended: 1 });
  });

  it("continues without failed servers, raises an alert, and does not retry them at once", async () => {
    const world = new LoopWorld([saying("a")]);
    world.lists = [{ tools: "x" }];
    expect((await world.ask()).headers.get("x-gateway-boons")).toBeNull();
    expect(world.alerts).toMatchObject([
      { issueKey: "mcp_tool_discovery_failed:tools", detail: "tools: no list of tools" },
    ]);
    const asked = world.served.length;
    await world.ask();
    expect(world.served.length).toBe(asked);
  });

  it.each([
    [429, 429],
    [500, 502],
  ])("answers with the %i of a later turn, and charges nothing", async (status, expected) => {
    const world = new LoopWorld([calls("search"), () => new Response("upstream says no", { status })]);
    const response = await world.ask();
    expect({ status: response.status, body: await response.text() }).toEqual({
      status: expected,
      body: "upstream says no",
    });
    await world.settled();
    expect(world.rows).toMatchObject([
      { status_code: expected, total_tokens: 5, cost_usd: 0 },
      { request_type: "tool_loop", status_code: expected, cost_usd: 0 },
    ]);
    expect(world.permit.settlement?.actualTokens).toBe(0);
  });

  it("answers 502 when a later turn has no answer", async () => {
    const world = new LoopWorld([calls("search"), async () => await Promise.reject(new TypeError("refused"))]);
    const response = await world.ask();
    expect({ status: response.status, error: (await bodyOf(response))["error"] }).toMatchObject({
      status: 502,
      error: { code: "upstream_failed" },
    });
    await world.settled();
    expect(world.rows).toHaveLength(2);
  });

  it("passes on when the client may ask again, if a later turn is 429", async () => {
    const refuses: Reply = () => new Response("slow down", { status: 429, headers: { "retry-after": "7" } });
    const response = await new LoopWorld([calls("search"), refuses]).ask();
    expect({
      status: response.status,
      "retry-after": response.headers.get("retry-after"),
      body: await response.text(),
    }).toEqual({ status: 429, "retry-after": "7", body: "slow down" });
  });

  it("keeps its status when a later turn has no body", async () => {
    const world = new LoopWorld([calls("search"), () => new Response(null, { status: 204 })]);
    const response = await world.ask();
    expect({ status: response.status, body: await response.text() }).toEqual({ status: 200, body: "" });
    await world.settled();
    expect(world.rows.map(({ status_code: status }) => status)).toEqual([200, 204]);
  });

  it("ends with the client, whose rows are written, and holds nothing", async () => {
    const world = new LoopWorld([calls("search"), saying("done")]);
    world.tool = async () => {
      world.client.abort();
      return await Promise.withResolvers<Response>().promise;
    };
    await world.ask().catch(() => undefined);
    await world.settled();
    expect(world.rows).toMatchObject([{ status_code: 499, total_tokens: 5 }]);
    expect(world.memory.answerMemory.usedBytes).toBe(0);
    expect(world.permit.settlement?.row.status_code).toBe(499);
    expect(world.sessions.ended).toBe(world.sessions.begun);
  });
});

const events = (...chunks: readonly JsonObject[]): Response =>
  new Response([...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), "data: [DONE]\n\n"].join(""), {
    headers: { "content-type": "text/event-stream" },
  });
const chunk = (delta: JsonObject, finish: string | null = null) => ({
  id: "s",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const streamsCall: Reply = () =>
  events(
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "let me see" }),
    chunk({ tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "search", arguments: "{}" } }] }),
    chunk({}, "tool_calls"),
    { id: "s", choices: [], usage: USAGE },
  );
const streamsText: Reply = () =>
  events(chunk({ role: "assistant", content: "done" }), chunk({}, "stop"), { id: "t", choices: [], usage: USAGE });
const dataOf = (text: string) =>
  text
    .split("\n\n")
    .flatMap((event) => (event.startsWith("data: {") ? [JSON.parse(event.slice(6)) as JsonObject] : []));

describe("a streamed tool loop", () => {
  it("passes deltas on, announces tools, and ends once", async () => {
    const world = new LoopWorld([streamsCall, streamsText]);
    const response = await world.ask({ stream: true, stream_options: { include_usage: true } });
    const text = await response.text();
    expect(dataOf(text).map((event) => (event["choices"] as JsonObject[])[0]?.["delta"] ?? event["usage"])).toEqual([
      { role: "assistant", content: "" },
      { content: "let me see" },
      { reasoning_content: "[tool: search]" },
      { content: "done" },
      {},
      { prompt_tokens: 6, completion_tokens: 4, total_tokens: 10 },
    ]);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    await world.settled();
    expect(world.rows).toMatchObject([{ total_tokens: 5 }, { request_type: "tool_loop", total_tokens: 5 }]);
    expect(world.asked[1]).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it("leaves a report that cannot be true out of the usage, as out of the bill", async () => {
    const huge = { prompt_tokens: 9e15, completion_tokens: 9e15, total_tokens: 18e15 };
    const lying: Reply = () => events(chunk({ content: "done" }), chunk({}, "stop"), { choices: [], usage: huge });
    const whole: Reply = () =>
      Response.json({ choices: [{ index: 0, message: { content: "done" }, finish_reason: "stop" }], usage: huge });
    const streamed = new LoopWorld([streamsCall, lying]);
    const text = await (await streamed.ask({ stream: true, stream_options: { include_usage: true } })).text();
    const plain = new LoopWorld([calls("search"), whole]);
    const { usage } = (await (await plain.ask()).json()) as JsonObject;
    expect({ streamed: dataOf(text).at(-1)?.["usage"], plain: usage }).toEqual({ streamed: USAGE, plain: USAGE });
  });

  it("shows no usage that was not asked for, and still bills later turns by it", async () => {
    const world = new LoopWorld([streamsCall, streamsText]);
    const text = await (await world.ask({ stream: true })).text();
    expect(text).not.toContain("usage");
    await world.settled();
    expect(world.rows).toMatchObject([{ total_tokens: 5 }, { total_tokens: 5 }]);
  });

  it("asks an upstream that refuses the option for usage again without it, and remembers that", async () => {
    const refuses =
      (reply: Reply): Reply =>
      (body, call) =>
        body["stream_options"] === undefined
          ? reply(body, call)
          : new Response("unknown field: stream_options", { status: 400 });
    const world = new LoopWorld([streamsCall, refuses(streamsCall), refuses(streamsCall), refuses(streamsText)]);
    const text = await (await world.ask({ stream: true })).text();
    expect(dataOf(text).map((event) => (event["choices"] as JsonObject[])[0]?.["delta"])).toContainEqual({
      content: "done",
    });
    await world.settled();
    const options = { include_usage: true };
    expect(world.asked.map((body) => body["stream_options"])).toEqual([options, options, undefined, undefined]);
    expect(world.rows.map(({ status_code: status }) => status)).toEqual([200, 200, 200]);
  });

  it("breaks off visibly when a later turn has no answer", async () => {
    const world = new LoopWorld([streamsCall, () => new Response("no", { status: 500 })]);
    const text = await (await world.ask({ stream: true })).text();
    expect(dataOf(text).at(-1)).toMatchObject({ error: { code: "upstream_stream_error" } });
    expect(text).not.toContain("[DONE]");
    await world.settled();
    expect(world.rows.map(({ status_code: status }) => status)).toEqual([200, 502]);
  });

  it("ends with a client that leaves while a tool runs", async () => {
    const world = new LoopWorld([streamsCall, streamsText]);
    const began = Promise.withResolvers<void>();
    world.tool = async () => {
      began.resolve();
      return await Promise.withResolvers<Response>().promise;
    };
    const reader = ((await world.ask({ stream: true })).body as ReadableStream<Uint8Array>).getReader();
    const reading = (async () => {
      while (!(await reader.read()).done);
    })().catch(() => undefined);
    await began.promise;
    world.client.abort();
    await reading;
    await world.settled();
    expect(world.rows).toMatchObject([{ status_code: 499 }]);
    expect(world.memory.answerMemory.usedBytes).toBe(0);
    expect(world.sessions.ended).toBe(world.sessions.begun);
  });
});
