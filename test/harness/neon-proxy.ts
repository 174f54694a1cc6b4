/**
 * What stands between the Neon driver and a plain PostgreSQL: each WebSocket is one TCP connection, bytes go through as
 * they are. The address that the driver asks for is not looked at: there is one server behind it.
 */
import { createServer } from "node:http";
import { connect } from "node:net";
import { neonConfig } from "@neondatabase/serverless";
import { WebSocketServer } from "ws";
import { type Listening, listen } from "../../infra/local/http/listen.ts";
import type { Postgres } from "./postgres.ts";

/** Listens on a free port of this machine. */
export async function startNeonProxy(server: Pick<Postgres, "host" | "port">): Promise<Listening> {
  const front = createServer((_request, response) => void response.writeHead(426).end());
  const sockets = new WebSocketServer({ server: front, perMessageDeflate: false });
  sockets.on("connection", (socket) => {
    const upstream = connect(server.port, server.host).setNoDelay(true);
    socket.on("message", (data: Buffer) => upstream.write(data));
    socket.on("close", () => upstream.end());
    socket.on("error", () => upstream.destroy());
    upstream.on("data", (data: Buffer) => socket.send(data));
    upstream.on("close", () => socket.close());
    upstream.on("error", () => socket.close());
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

/** Sends this process's Neon connections through a proxy; no TLS and no shortened handshake, which need Neon's own. */
export function useNeonProxy(port: number): void {
  neonConfig.wsProxy = () => `127.0.0.1:${port}/`;
  neonConfig.useSecureWebSocket = false;
  neonConfig.pipelineTLS = false;
  neonConfig.pipelineConnect = false;
}
