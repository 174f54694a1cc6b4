/**
 * Adds a credential to every request that passes through, for programs that cannot send one. Bytes are forwarded unchanged,
 * and so is the end of either side.
 */
import { createServer, request } from "node:http";
import { pipeline } from "node:stream";
import { listen } from "../../infra/local/http/listen.ts";

interface Forwarder {
  readonly url: string;
  close(): Promise<void>;
}

/** Listens on a free loopback port and forwards to `target`, an origin. */
export async function startBearerForwarder(target: string, secret: string): Promise<Forwarder> {
  const server = createServer((incoming, response) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${secret}` };
    const outgoing = request(target, { method: incoming.method, path: incoming.url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      pipeline(answer, response, () => undefined);
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    pipeline(incoming, outgoing, () => undefined);
  });
  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: listening.url,
    close: async () => await listening.close(),
  };
}
