/**
 * A proxy between the Neon driver and a plain PostgreSQL: each WebSocket becomes one TCP connection, and bytes are
 * forwarded unchanged. The address in the driver's request is ignored, because there is only one server.
 */
import { createServer } from "node:http";
import { connect } from "node:net";
import { pipeline } from "node:stream";
import { neonConfig } from "@neondatabase/serverless";
import { createWebSocketStream, WebSocketServer } from "ws";
import { type Listening, listen } from "../../infra/local/http/listen.ts";
import type { Postgres } from "./postgres.ts";

export async function startNeonProxy(server: Pick<Postgres, "host" | "port">): Promise<Listening> {
  const front = createServer((_request, response) => void response.writeHead(426).end());
  const sockets = new WebSocketServer({ server: front, perMessageDeflate: false });
  sockets.on("connection", (socket) => {
    const upstream = connect(server.port, server.host).setNoDelay(true);
    pipeline(upstream, createWebSocketStream(socket), upstream, () => undefined);
  });
  const listening = await listen(front, "127.0.0.1", 0);
  return {
    ...listening,
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      await listening.close();
    },
  };
}

/**
 * Sends this process's Neon connections through the proxy, without TLS and without the shortened handshake, which only
 * Neon's own proxy supports.
 */
export function useNeonProxy(port: number): void {
  neonConfig.wsProxy = () => `127.0.0.1:${port}/`;
  neonConfig.useSecureWebSocket = false;
  neonConfig.pipelineTLS = false;
  neonConfig.pipelineConnect = false;
}
