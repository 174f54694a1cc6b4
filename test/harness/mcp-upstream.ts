/**
 * An HTTP server in the place of an MCP server, which a test controls. The first segment of the path below its base says
 * how it answers; it records every call. Like the gateway, it knows no JSON-RPC.
 */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { EVENT_STREAM, startHttpSink } from "./http-sink.ts";
import { sha256 } from "./upstream-routes.ts";

export interface SeenMcpCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly bodyBytes: number;
  readonly bodySha256: string;
  /** The connection was closed before the answer was complete. */
  cutOff: boolean;
  answered: boolean;
  readonly say: (text: string | null) => void;
}

export async function startMcpUpstream() {
  const calls: SeenMcpCall[] = [];
  const sink = await startHttpSink(({ method, url, headers, bytes }) => (response) => {
    const call: SeenMcpCall = {
      method,
      url,
      headers,
      bodyBytes: bytes.byteLength,
      bodySha256: sha256(bytes),
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
  return {
    url: `${sink.url}/mcp`,
    /** The calls whose URL contains this text, in order. */
    seen: (text: string): readonly SeenMcpCall[] => calls.filter((call) => call.url.includes(text)),
    close: sink.close,
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
      response.writeHead(200, EVENT_STREAM);
      response.flushHeaders();
      return;
    case "silent":
      return;
    case "cut":
      response.writeHead(200, EVENT_STREAM);
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
