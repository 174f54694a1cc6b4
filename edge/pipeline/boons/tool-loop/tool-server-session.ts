/**
 * The gateway as the client of one tool server, for one request (docs/rules/tool-loop.md#tool-servers): MCP over streamable
 * HTTP. A server gets the arguments of a call and its own stored credential, never a header, key or session of a client. All
 * its answers are read within bounds of size and time.
 */
import { LIMITS } from "../../../../shared/catalogues/limits.ts";
import { isUrlAllowed } from "../../../../shared/network/ssrf.ts";
import type { McpServerRecord } from "../../../../shared/records.ts";
import {
  INITIALIZE_PARAMS,
  protocolVersionOf,
  type RpcReply,
  receivedIn,
  rpcNotification,
  rpcRequest,
} from "../../../../shared/wire/json-rpc.ts";
import { mcpUrl } from "../../../domain/tools/mcp.ts";
import { type OfferedTool, toolPageOf } from "../../../domain/tools/tool-list.ts";
import type { JsonObject } from "../../../domain/wire/json/document.ts";
import { parsedInSteps } from "../../../domain/wire/json/parse-in-steps.ts";
import type { Call } from "../../call/context.ts";
import { inTurns } from "../../call/in-turns.ts";
import { type Deadline, withDeadline } from "./deadline.ts";
import { readReply } from "./reply-reader.ts";
import { ToolServerFailure } from "./tool-server-failure.ts";

/** Time for everything that precedes the first use of a server: session and list of tools. */
export const DISCOVERY_WITHIN_MS = LIMITS.toolDiscovery;
/** Time for work that nobody waits for: the end of a session, and answers to the server's requests. */
const ASIDE_WITHIN_MS = 5_000;
/** Most requests of a server that are answered while it works on one of ours. */
const ANSWERS_MAX = 16;
const PAGES_MAX = 50;
/** Most tools of one server that are kept; more than a request can have. */
const TOOLS_MAX = 256;
/** Longest text of a server's own error. */
const MESSAGE_MAX_CHARACTERS = 2000;

/** The session as the server has started it. */
interface Begun {
  /** The server's id of the session; null if it has none. */
  readonly id: string | null;
  /** Additional headers of later requests. */
  readonly headers: Readonly<Record<string, string>>;
}

export class ToolServerSession {
  readonly server: McpServerRecord;
  readonly #call: Call;
  #begun: Promise<Begun> | null = null;
  #authorization: Promise<string | null> | null = null;
  #lastId = 0;

  /** `call`: the request that the server works for. Nothing is sent before the first use. */
  constructor(call: Call, server: McpServerRecord) {
    this.#call = call;
    this.server = server;
  }

  /** Every tool of the server that can be offered. Throws ToolServerFailure, and what ends the deadline. */
  async listTools(deadline: Deadline): Promise<readonly OfferedTool[]> {
    const tools: OfferedTool[] = [];
    const cursors = new Set<string>();
    for (let page = 1; page <= PAGES_MAX && tools.length < TOOLS_MAX; page += 1) {
      const cursor = [...cursors].at(-1);
      const reply = await this.#ask("tools/list", cursor === undefined ? {} : { cursor }, deadline);
      // A server without tools need not know the method.
      if (reply.kind === "error" && reply.methodUnknown) break;
      const listed = reply.kind === "result" ? await inTurns(this.#call, toolPageOf(reply.result)) : null;
      if (listed === null) throw new ToolServerFailure("no list of tools");
      tools.push(...listed.tools);
      if (listed.nextCursor === null || cursors.has(listed.nextCursor)) break;
      cursors.add(listed.nextCursor);
    }
    return tools.slice(0, TOOLS_MAX);
  }

  /** The result of a tool. Throws ToolServerFailure, and what ends the deadline. */
  async callTool(name: string, args: JsonObject, deadline: Deadline): Promise<JsonObject> {
    const reply = await this.#ask("tools/call", { name, arguments: args }, deadline);
    if (reply.kind === "result") return reply.result;
    throw new ToolServerFailure("an error", { message: reply.message.slice(0, MESSAGE_MAX_CHARACTERS) });
  }

  /** Ends the session at the server, if it has one; never awaited, never throws. */
  close(): void {
    const begun = this.#begun;
    if (begun === null) return;
    this.#begun = null;
    this.#call.waitUntil(begun.then(async (known) => await this.#end(known)).catch(() => undefined));
  }

  /** Never throws. */
  async #end({ id, headers }: Begun): Promise<void> {
    if (id === null) return;
    await this.#sendAside("DELETE", null, headers);
  }

  /** Sends what wants no answer; never throws. */
  async #sendAside(
    method: "POST" | "DELETE",
    text: string | null,
    headers: Readonly<Record<string, string>>,
  ): Promise<void> {
    const sent = withDeadline(null, ASIDE_WITHIN_MS, async ({ signal }) => {
      const response = await this.#send(method, text === null ? null : encoded(text), headers, signal);
      await response.body?.cancel();
    });
    await sent.catch(() => undefined);
  }

  /** The reply to one request, in a session. A session that the server no longer knows is started again once. */
  async #ask(method: string, params: object, deadline: Deadline): Promise<RpcReply> {
    for (let again = false; ; again = true) {
      this.#begun ??= this.#begin();
      const begun = this.#begun;
      // A session that could not start is retried by the next call.
      begun.catch(() => {
        if (this.#begun === begun) this.#begun = null;
      });
      const { headers, id } = await deadline.until(begun);
      try {
        return (await this.#request(method, params, { headers, sessionId: id, deadline })).reply;
      } catch (error) {
        if (again || !(error instanceof ToolServerFailure) || !error.sessionLost) throw error;
        if (this.#begun === begun) this.#begun = null;
      }
    }
  }

  async #begin(): Promise<Begun> {
    return await withDeadline(this.#call, DISCOVERY_WITHIN_MS, async (deadline) => {
      const { reply, sessionId: id } = await this.#request("initialize", INITIALIZE_PARAMS, {
        headers: {},
        sessionId: null,
        deadline,
      });
      if (reply.kind === "error") throw new ToolServerFailure("no session");
      const version = protocolVersionOf(reply.result);
      const headers = {
        ...sessionOf(id),
        ...(version === null ? {} : { "mcp-protocol-version": version }),
      };
      try {
        const notification = encoded(rpcNotification("notifications/initialized"));
        const told = await this.#send("POST", notification, headers, deadline.signal);
        await told.body?.cancel();
        // Nobody would learn of a session that started too late, and nobody would end it.
        deadline.signal.throwIfAborted();
      } catch (error) {
        this.#call.waitUntil(this.#end({ id, headers }));
        throw error;
      }
      return { id, headers };
    });
  }

  async #request(
    method: string,
    params: object,
    {
      headers,
      sessionId,
      deadline,
    }: {
      readonly headers: Readonly<Record<string, string>>;
      readonly sessionId: string | null;
      readonly deadline: Deadline;
    },
  ): Promise<{ readonly reply: RpcReply; readonly sessionId: string | null }> {
    this.#lastId += 1;
    const id = this.#lastId;
    const response = await this.#send("POST", encoded(rpcRequest(id, method, params)), headers, deadline.signal);
    if (!response.ok) {
      await response.body?.cancel();
      throw new ToolServerFailure(`answered ${response.status}`, {
        sessionLost: response.status === 404 && sessionId !== null,
      });
    }
    const begun = response.headers.get("mcp-session-id");
    const memory = this.#call.memory.answerMemory.open();
    let answered = 0;
    const find = async (text: string): Promise<RpcReply | null> => {
      const { reply, answers } = receivedIn(await inTurns(this.#call, parsedInSteps(text)), id);
      const chosen = answers.slice(0, ANSWERS_MAX - answered);
      answered += chosen.length;
      for (const answer of chosen)
        this.#call.waitUntil(this.#sendAside("POST", answer, { ...sessionOf(begun), ...headers }));
      return reply;
    };
    try {
      const reply = await readReply(response, find, memory);
      if (reply === null) throw new ToolServerFailure("no reply to the request");
      return { reply, sessionId: begun };
    } finally {
      memory.close();
    }
  }

  async #send(
    method: "POST" | "DELETE",
    body: Uint8Array<ArrayBuffer> | null,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    const { server } = this;
    if (!isUrlAllowed(server.upstream_url, this.#call.config.ssrf)) throw new ToolServerFailure("address blocked");
    this.#authorization ??= this.#open();
    const authorization = await this.#authorization;
    signal.throwIfAborted();
    try {
      return await this.#call.ports.upstream.fetch({
        url: mcpUrl(server.upstream_url, "", ""),
        method,
        headers: {
          accept: "application/json, text/event-stream",
          ...(body === null ? {} : { "content-type": "application/json" }),
          ...headers,
          ...(authorization === null ? {} : { authorization }),
        },
        body,
        signal,
        trusted: false,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new ToolServerFailure("connection failed", { cause: error });
    }
  }

  async #open(): Promise<string | null> {
    const stored = this.server.auth_header;
    if (stored === null) return null;
    try {
      return await this.#call.ports.secrets.open(stored);
    } catch (error) {
      throw new ToolServerFailure("credential unreadable", { cause: error });
    }
  }
}

function sessionOf(id: string | null): Readonly<Record<string, string>> {
  return id === null ? {} : { "mcp-session-id": id };
}

function encoded(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new TextEncoder().encode(text));
}
