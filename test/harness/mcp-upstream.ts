/**
 * An HTTP server in the place of an MCP server, which a test controls. The first segment of the path below its base says
 * how it answers; it records every call. Like the gateway, it knows no JSON-RPC.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../../infra/local/http/listen.ts";

export interface SeenMcpCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly bodyBytes: number;
  readonly bodySha256: string;
  /** The connection was closed before the answer was complete. */
  cutOff: boolean;
  answered: boolean;
  readonly say: (text: string | null) => void;
}

export async function startMcpUpstream() {
  const calls: SeenMcpCall[] = [];
  const server = createServer((request, response) => {
    const hash = createHash("sha256");
    let bodyBytes = 0;
    request.on("data", (chunk: Buffer) => {
      hash.update(chunk);
      bodyBytes += chunk.byteLength;
    });
    request.on("end", () => {
      const call: SeenMcpCall = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        bodyBytes,
        bodySha256: hash.digest("hex"),
        cutOff: false,
        answered: false,
        say: (text) => void (text === null ? response.end() : response.write(text)),
      };
      calls.push(call);
      response.on("finish", () => {
        call.answered = true;
      });
      response.on("close", () => {
        call.cutOff = !call.answered;
      });
      answer(call, response);
    });
  });
  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: `${listening.url}/mcp`,
    /** The calls whose URL contains this text, in order. */
    seen: (text: string): readonly SeenMcpCall[] => calls.filter((call) => call.url.includes(text)),
    close: async (): Promise<void> => await listening.close(),
  };
}

function answer(call: SeenMcpCall, response: ServerResponse): void {
  const [, word = "", value = ""] = /^\/mcp\/([a-z]+)(?:=([^/?]*))?/.exec(call.url) ?? [];
  switch (word) {
    case "status":
      response.writeHead(Number(value), { "content-type": "text/plain", "mcp-session-id": "s" });
      response.end(Number(value) === 204 ? undefined : `status ${value}`);
      return;
    case "redirect":
      response.writeHead(307, { location: "/mcp/redirected", "content-type": "text/plain" });
      response.end("elsewhere");
      return;
    case "session":
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": decodeURIComponent(value) });
      response.end("{}");
      return;
    case "events":
      // The test decides what is written.
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      return;
    case "silent":
      return;
    case "cut":
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n", () => response.destroy());
      return;
    default:
      response.writeHead(200, {
        "content-type": "application/json",
        "mcp-session-id": "session-1",
        "mcp-protocol-version": "2025-06-18",
        "set-cookie": "a=b",
        "x-of-the-server": "1",
      });
      response.end('{"jsonrpc":"2.0","id":1,"result":{}}');
  }
}
