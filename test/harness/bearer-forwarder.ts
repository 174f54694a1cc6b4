/**
 * Adds a credential to every request that passes through, for programs that cannot send one. Bytes are forwarded unchanged,
 * and so is the end of either side.
 */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";

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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
