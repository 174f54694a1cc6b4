/**
 * A tool server that a test writes by hand, over plain HTTP: it begins sessions as the protocol wants, lists what it is
 * told to, and answers calls in whatever way. It keeps all that it has received.
 */
import type { ServerResponse } from "node:http";
import { startHttpSink } from "./http-sink.ts";

/** Answers one call; `id` is that of its request. It may answer nothing. */
type ToolAnswer = (response: ServerResponse, id: unknown) => void;

export const resultOf =
  (result: unknown): ToolAnswer =>
  (response, id) =>
    void response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, result }));

/** Starts it on a free loopback port. `listed`: the entries of its list, beside a tool for each answer. */
export async function startHostileToolServer(
  answers: Readonly<Record<string, ToolAnswer>>,
  listed: readonly unknown[] = [],
) {
  let begun = 0;
  let ended = 0;
  const tools = [...listed, ...Object.keys(answers).map((name) => ({ name, inputSchema: { type: "object" } }))];
  const sink = await startHttpSink((asked) => (response) => {
    if (asked.method === "DELETE") {
      ended += 1;
      return response.writeHead(204).end();
    }
    const { id, method, params } = JSON.parse(asked.body) as {
      id?: unknown;
      method: string;
      params?: { name?: string };
    };
    if (method === "initialize") {
      begun += 1;
      response.setHeader("mcp-session-id", `session-${begun}`);
      return resultOf({ protocolVersion: "2025-03-26", capabilities: { tools: {} } })(response, id);
    }
    if (method === "tools/list") return resultOf({ tools })(response, id);
    if (method === "tools/call") return answers[String(params?.name)]?.(response, id);
    return response.writeHead(202).end();
  });
  return {
    url: `${sink.url}/mcp`,
    received: sink.asked,
    /** Sessions that were begun and not ended. */
    openSessions: () => begun - ended,
    close: sink.close,
  };
}
