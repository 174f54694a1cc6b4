/**
 * A tool server that a test writes by hand, over plain HTTP: it begins sessions as the protocol wants, lists what it is
 * told to, and answers calls in whatever way. It keeps all that it has received.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { listen } from "../../infra/local/http/listen.ts";

interface ReceivedMessage {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Answers one call; `id` is that of its request. It may answer nothing. */
type ToolAnswer = (response: ServerResponse, id: unknown) => void;

interface HostileToolServer {
  readonly url: string;
  readonly received: readonly ReceivedMessage[];
  /** Sessions that were begun and not ended. */
  readonly openSessions: () => number;
  close(): Promise<void>;
}

/** Answers with this result. */
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
): Promise<HostileToolServer> {
  const received: ReceivedMessage[] = [];
  let begun = 0;
  let ended = 0;
  const tools = [...listed, ...Object.keys(answers).map((name) => ({ name, inputSchema: { type: "object" } }))];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      received.push({ method: request.method ?? "", headers: request.headers, text });
      if (request.method === "DELETE") {
        ended += 1;
        return void response.writeHead(204).end();
      }
      const { id, method, params } = JSON.parse(text) as { id?: unknown; method: string; params?: { name?: string } };
      if (method === "initialize") {
        begun += 1;
        response.setHeader("mcp-session-id", `session-${begun}`);
        return resultOf({ protocolVersion: "2025-03-26", capabilities: { tools: {} } })(response, id);
      }
      if (method === "tools/list") return resultOf({ tools })(response, id);
      if (method === "tools/call") return answers[String(params?.name)]?.(response, id);
      return void response.writeHead(202).end();
    });
  });
  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: `${listening.url}/mcp`,
    received,
    openSessions: () => begun - ended,
    close: async () => await listening.close(),
  };
}
