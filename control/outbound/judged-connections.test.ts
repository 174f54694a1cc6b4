/** Connections of the pool are given up when they have not been used for as long as was said. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { askJson } from "./ask-json.ts";

let server: Server;

afterEach(() => {
  server.close();
});

it("closes a connection after the idle time of the policy", async () => {
  const sockets: Socket[] = [];
  server = createServer((_request, response) => response.end("{}"));
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const policy = { blockPrivate: false, allowedCidrs: [], poolIdleMs: 1_500, tcpKeepAliveMs: 30_000 };
  expect(await askJson({ url, timeoutMs: 5000, policy })).toEqual({});
  const [socket] = sockets;
  expect(socket).toBeDefined();
  if (socket !== undefined && !socket.closed) await once(socket, "close");
});
