/**
 * The gateway as a client of MCP over streamable HTTP, against a server written by hand: what it sends, and how it reads every
 * kind of answer (docs/rules/tool-loop.md#tool-servers).
 */
import { describe, expect, it } from "vitest";
import { dataEvent } from "../../../../shared/wire/event-reader.ts";
import { mcpServerOf } from "../../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../../test/harness/edge/pipeline/world.ts";
import type { JsonObject } from "../../../domain/wire/json/document.ts";
import type { UpstreamCall } from "../../../ports.ts";
import { withDeadline } from "./deadline.ts";
import { ToolServerSession } from "./tool-server-session.ts";

interface Seen {
  readonly method: string;
  readonly headers: UpstreamCall["headers"];
  readonly message: JsonObject;
}
type Answer = (seen: Seen) => Response | Promise<Response>;

const OK = { content: [{ type: "text", text: "ok" }] };
const reply =
  (result: unknown): Answer =>
  ({ message }) =>
    Response.json({ jsonrpc: "2.0", id: message["id"], result });
const events = (text: string): Response => new Response(text, { headers: { "content-type": "text/event-stream" } });
const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

/** The method of a message, `DELETE`, or `answer` for an answer to a request of the server. */
const nameOf = ({ method, message }: Seen): string =>
  method === "DELETE" ? method : ((message["method"] as string | undefined) ?? "answer");

/** A server whose answers to single methods a test sets. */
class RawServer {
  readonly seen: Seen[] = [];
  readonly world = new TestPipeline();
  readonly session: ToolServerSession;
  #sessions = 0;

  constructor(
    answers: Readonly<Record<string, Answer>> = {},
    begun: { readonly id?: boolean; readonly version?: unknown } = {},
  ) {
    const { id: hasId = true, version = "2025-03-26" } = begun;
    const usual: Readonly<Record<string, Answer>> = {
      initialize: ({ message }) => {
        this.#sessions += 1;
        return Response.json(
          { jsonrpc: "2.0", id: message["id"], result: { protocolVersion: version, capabilities: {} } },
          hasId ? { headers: { "mcp-session-id": `s${this.#sessions}` } } : {},
        );
      },
      "notifications/initialized": () => new Response(null, { status: 202 }),
      "tools/call": reply(OK),
      DELETE: () => new Response(null, { status: 204 }),
      answer: () => new Response(null, { status: 202 }),
    };
    this.world.upstream = async ({ method, headers, body }) => {
      const text = await new Response(body as Uint8Array<ArrayBuffer> | null).text();
      const message = (text === "" ? {} : JSON.parse(text)) as JsonObject;
      const seen = { method, headers, message };
      this.seen.push(seen);
      const name = nameOf(seen);
      const answer = answers[name] ?? usual[name];
      if (answer === undefined) throw new Error(`${name} was not expected`);
      return await answer(seen);
    };
    this.session = new ToolServerSession(this.world.call(), mcpServerOf());
  }

  async call(): Promise<string> {
    const called = withDeadline(null, 5_000, async (deadline) => await this.session.callTool("t", { a: 1 }, deadline));
    return await called.then(JSON.stringify, (error: Error) => `${error.name}: ${error.message}`);
  }

  async tools(): Promise<readonly string[]> {
    const tools = await withDeadline(null, 5_000, async (deadline) => await this.session.listTools(deadline));
    return tools.map(({ name }) => name);
  }

  /** The sent messages, in short. */
  get order(): readonly string[] {
    return this.seen.map(nameOf);
  }

  async end(): Promise<void> {
    this.session.close();
    await this.world.settled();
  }
}

const DONE = JSON.stringify(OK);

describe("a session", () => {
  it("starts with initialize and initialized, gives each request its id, and ends with DELETE", async () => {
    const server = new RawServer();
    expect({ first: await server.call(), second: await server.call() }).toEqual({ first: DONE, second: DONE });
    await server.end();
    expect(server.order).toEqual(["initialize", "notifications/initialized", "tools/call", "tools/call", "DELETE"]);
    const [initialize, initialized, first, second, end] = server.seen;
    expect(initialize?.message).toEqual({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "gateway", version: "1" } },
    });
    expect(initialize?.headers["mcp-session-id"]).toBeUndefined();
    expect(initialized?.message).toEqual({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect({ firstId: first?.message["id"], secondId: second?.message["id"] }).toEqual({ firstId: 2, secondId: 3 });
    expect(first?.message["params"]).toEqual({ name: "t", arguments: { a: 1 } });
    for (const { headers } of [initialized, first, second, end].flatMap((one) => one ?? []))
      expect(headers).toMatchObject({ "mcp-session-id": "s1", "mcp-protocol-version": "2025-03-26" });
    for (const { headers } of server.seen) expect(headers["accept"]).toBe("application/json, text/event-stream");
  });

  it.each([
    ["an older revision", "2024-11-05", "2024-11-05"],
    ["a newer revision", "2025-11-25", "2025-11-25"],
    ["no revision", null, undefined],
    ["a malformed revision", "1\r\nx: y", undefined],
    ["a revision that is no text", 20250326, undefined],
  ])("continues with what the server chose: %s", async (_, version, header) => {
    const server = new RawServer({}, { version });
    expect(await server.call()).toBe(DONE);
    expect(server.seen.at(-1)?.headers["mcp-protocol-version"]).toBe(header);
  });

  it("of a server without session ids has none, and needs no end", async () => {
    const server = new RawServer({}, { id: false });
    expect(await server.call()).toBe(DONE);
    await server.end();
    expect(server.order).toEqual(["initialize", "notifications/initialized", "tools/call"]);
    expect(server.seen.map(({ headers }) => headers["mcp-session-id"])).toEqual([undefined, undefined, undefined]);
  });

  it("that the server has lost is restarted once", async () => {
    const lost: Answer = () => new Response(null, { status: 404 });
    const once = new RawServer({
      "tools/call": async (seen) =>
        seen.headers["mcp-session-id"] === "s1" ? await lost(seen) : await reply(OK)(seen),
    });
    expect(await once.call()).toBe(DONE);
    expect(once.order.filter((name) => name === "initialize")).toHaveLength(2);
    const always = new RawServer({ "tools/call": lost });
    expect(await always.call()).toBe("ToolServerFailure: answered 404");
    expect(always.order.filter((name) => name === "initialize")).toHaveLength(2);
    const without = new RawServer({ "tools/call": lost }, { id: false });
    expect(await without.call()).toBe("ToolServerFailure: answered 404");
    expect(without.order.filter((name) => name === "initialize")).toHaveLength(1);
  });

  it.each([
    [
      "an error",
      ({ message }: Seen) =>
        Response.json({ id: message["id"], error: { code: -32_602, message: "unsupported version" } }),
      "no session",
    ],
    ["a status", () => new Response(null, { status: 401 }), "answered 401"],
    ["nothing", () => new Response(null, { status: 202 }), "no reply to the request"],
  ] satisfies readonly (readonly [string, Answer, string])[])(
    "that starts with %s is no session",
    async (_, answer, reason) => {
      const server = new RawServer({ initialize: answer });
      expect(await server.call()).toBe(`ToolServerFailure: ${reason}`);
      await server.end();
      expect(server.order).toEqual(["initialize"]);
    },
  );

  it("ends quietly when the server refuses or fails DELETE", async () => {
    for (const answer of [
      () => new Response(null, { status: 405 }),
      async () => await Promise.reject(new Error("gone")),
    ]) {
      const server = new RawServer({ DELETE: answer });
      await server.call();
      await server.end();
      expect(server.order.at(-1)).toBe("DELETE");
    }
  });
});

describe("a list of tools", () => {
  const page = (tools: readonly string[], nextCursor?: unknown) => ({
    tools: tools.map((name) => ({ name })),
    nextCursor,
  });
  it.each([
    ["one page", [page(["a"])], ["a"]],
    ["several pages", [page(["a"], "1"), page([], "2"), page(["b"])], ["a", "b"]],
    ["a cursor that repeats", [page(["a"], "1"), page(["b"], "1")], ["a", "b"]],
    ["a cursor that is empty, or no text", [page(["a"], "")], ["a"]],
    ["pages without end", Array.from({ length: 60 }, (_, at) => page([`t${at}`], String(at + 1))), undefined],
  ] satisfies readonly (readonly [string, readonly object[], readonly string[] | undefined])[])(
    "is read by its cursors: %s",
    async (_, pages, expected) => {
      const server = new RawServer({
        "tools/list": async (seen) => {
          const { cursor } = seen.message["params"] as { readonly cursor?: string };
          return await reply(pages[Number(cursor ?? 0)])(seen);
        },
      });
      expect(await server.tools()).toEqual(expected ?? Array.from({ length: 50 }, (_unused, at) => `t${at}`));
    },
  );

  it("of a server that does not know the method is empty", async () => {
    const unknown: Answer = ({ message }) =>
      Response.json({ id: message["id"], error: { code: -32_601, message: "?" } });
    expect(await new RawServer({ "tools/list": unknown }).tools()).toEqual([]);
  });
});

const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } };
const log = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } };

describe("a reply", () => {
  const to =
    (build: (own: object, id: unknown) => Response): Answer =>
    ({ message }) =>
      build({ jsonrpc: "2.0", id: message["id"], result: OK }, message["id"]);
  const NONE = "ToolServerFailure: no reply to the request";
  it.each([
    ["as JSON", to((own) => Response.json(own)), DONE],
    ["in a list", to((own) => Response.json([progress, { jsonrpc: "2.0", id: 99, result: {} }, own])), DONE],
    ["as an event", to((own) => events(event(own))), DONE],
    ["in a list as an event", to((own) => events(event([log, own]))), DONE],
    ["after progress and logs", to((own) => events(`${event(progress)}${event(log)}${event(own)}`)), DONE],
    [
      "in CRLF, with ids, comments and a retry",
      to((own) => events(`: c\r\nid: 1\r\nretry: 5\r\nevent: message\r\n${event(own).trim()}\r\n\r\n`)),
      DONE,
    ],
    ["after an event without data", to((own) => events(`id: 1\ndata:\n\n${event(own)}`)), DONE],
    ["in a stream that lacks its last blank line", to((own) => events(event(own).trim())), DONE],
    ["on several lines of one event", to((own) => events(dataEvent(JSON.stringify(own, null, 1)))), DONE],
    ["twice", to((own) => events(`${event(own)}${event({ ...own, result: { content: [] } })}`)), DONE],
    ["with another id", to((own) => Response.json({ ...own, id: 99 })), NONE],
    ["with its id as a text", to((own, id) => Response.json({ ...own, id: String(id) })), NONE],
    ["with no id", to((own) => Response.json({ ...own, id: null })), NONE],
    ["in a stream that ends before it", to(() => events(event(progress))), NONE],
    ["that is no JSON", to(() => new Response("<html>")), NONE],
    ["without a body", to(() => new Response(null, { status: 202 })), NONE],
    [
      "that is an error",
      to((_, id) => Response.json({ id, error: { code: -32_602, message: "x".repeat(5_000) } })),
      "ToolServerFailure: an error",
    ],
    [
      "that is an error of the tool",
      to((own) => Response.json({ ...own, result: { isError: true, content: [] } })),
      '{"isError":true,"content":[]}',
    ],
  ] satisfies readonly (readonly [string, Answer, string])[])("%s", async (_, answer, expected) => {
    const server = new RawServer({ "tools/call": answer });
    expect(await server.call()).toBe(expected);
    await server.end();
    expect(server.world.memory.answerMemory.usedBytes).toBe(0);
  });
});

describe("a server that asks while it works", () => {
  /** Its reply waits until each of these was answered. */
  const asking = (...requests: readonly JsonObject[]) => {
    const answered: JsonObject[] = [];
    const all = Promise.withResolvers<void>();
    const server = new RawServer({
      "tools/call": ({ message }) =>
        new Response(
          new ReadableStream<Uint8Array>({
            start: (controller) => {
              for (const request of requests) controller.enqueue(new TextEncoder().encode(event(request)));
            },
            pull: async (controller) => {
              await all.promise;
              controller.enqueue(new TextEncoder().encode(event({ jsonrpc: "2.0", id: message["id"], result: OK })));
              controller.close();
            },
          }),
          { headers: { "content-type": "text/event-stream" } },
        ),
      answer: ({ message }) => {
        answered.push(message);
        if (answered.length === Math.min(requests.length, 16)) all.resolve();
        return new Response(null, { status: 202 });
      },
    });
    return { server, answered };
  };

  it("gets its ping answered, and everything else refused, in the same session", async () => {
    const { server, answered } = asking(
      { jsonrpc: "2.0", id: "p", method: "ping" },
      { jsonrpc: "2.0", id: 2, method: "sampling/createMessage", params: { messages: [] } },
    );
    expect(await server.call()).toBe(DONE);
    expect(answered).toEqual([
      { jsonrpc: "2.0", id: "p", result: {} },
      { jsonrpc: "2.0", id: 2, error: { code: -32_601, message: "Method not found" } },
    ]);
    const headers = server.seen.filter(({ message }) => message["method"] === undefined).map((one) => one.headers);
    for (const one of headers)
      expect(one).toMatchObject({ "mcp-session-id": "s1", "mcp-protocol-version": "2025-03-26" });
    await server.end();
  });

  it("without end gets sixteen answers", async () => {
    const { server, answered } = asking(...Array.from({ length: 100 }, (_, id) => ({ id, method: "ping" })));
    expect(await server.call()).toBe(DONE);
    await server.end();
    expect(answered).toHaveLength(16);
  });

  it("while the session starts is answered in that session", async () => {
    const server = new RawServer({
      initialize: ({ message }) =>
        new Response(
          `${event({ id: 5, method: "ping" })}${event({ id: message["id"], result: { protocolVersion: "2025-03-26" } })}`,
          {
            headers: { "content-type": "text/event-stream", "mcp-session-id": "s1" },
          },
        ),
    });
    expect(await server.call()).toBe(DONE);
    await server.end();
    expect(server.seen.find(({ message }) => message["id"] === 5)?.headers["mcp-session-id"]).toBe("s1");
  });
});
