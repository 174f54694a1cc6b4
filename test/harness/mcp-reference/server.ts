/**
 * A reference MCP server on the official SDK, over streamable HTTP: sessions, resumable streams, and what the conformance
 * suite requires. It accepts only requests with an origin of this machine, as a local server must.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { type EventStore, StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { listen } from "../../../infra/local/http/listen.ts";
import { registerData } from "./data.ts";
import { registerTools } from "./tools.ts";

export type ReferenceServer = Awaited<ReturnType<typeof startReferenceServer>>;

/** Starts it on a free loopback port; with `jsonReplies` it replies as JSON instead of in event streams. */
export async function startReferenceServer({ jsonReplies = false } = {}) {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const sessions = new Set<string>();
  const begin = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: jsonReplies,
      eventStore: new KeptEvents(),
      retryInterval: 50,
      onsessioninitialized: (id) => {
        transports.set(id, transport);
        sessions.add(id);
      },
      onsessionclosed: (id) => {
        transports.delete(id);
        sessions.delete(id);
      },
    });
    await newServer().connect(transport as Transport);
    return transport;
  };
  const http = createServer((request, response) => {
    const handle = async (): Promise<void> => {
      if (!isLocal(request)) return void response.writeHead(403).end("{}");
      const id = request.headers["mcp-session-id"];
      const known = typeof id === "string" ? transports.get(id) : await begin();
      if (known === undefined) return void response.writeHead(404).end("{}");
      await known.handleRequest(request, response);
    };
    handle().catch(() => response.destroy());
  });
  const listening = await listen(http, "127.0.0.1", 0);
  return {
    url: `${listening.url}/mcp`,
    /** Sessions that were begun and that their client has not ended. */
    sessions: sessions as ReadonlySet<string>,
    close: async (): Promise<void> => {
      await Promise.all([...transports.values()].map(async (transport) => await transport.close()));
      await listening.close();
    },
  };
}

function newServer(): Server {
  const server = new Server(
    { name: "reference", version: "1.0.0" },
    { capabilities: { tools: {}, logging: {}, completions: {}, prompts: {}, resources: { subscribe: true } } },
  );
  registerTools(server);
  registerData(server);
  return server;
}

/** A page of another origin must not reach a server on the machine of a person who visits the page. */
function isLocal(request: IncomingMessage): boolean {
  const { origin } = request.headers;
  return origin === undefined || ["localhost", "127.0.0.1", "[::1]"].includes(new URL(origin).hostname);
}

/** The events of a session, kept for clients that resume a stream (`Last-Event-ID`). */
class KeptEvents implements EventStore {
  readonly #events: { readonly id: string; readonly stream: string; readonly message: JSONRPCMessage }[] = [];

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = `${stream}/${this.#events.length}`;
    this.#events.push({ id, stream, message });
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.find((event) => event.id === id)?.stream;
  }

  async replayEventsAfter(
    lastId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const at = this.#events.findIndex((event) => event.id === lastId);
    const stream = this.#events[at]?.stream ?? "";
    // A priming event has an id and no content.
    const missed = this.#events.slice(at + 1).filter((event) => event.stream === stream && "jsonrpc" in event.message);
    for (const { id, message } of missed) await send(id, message);
    return stream;
  }
}
