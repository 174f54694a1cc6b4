/**
 * Connections of the pool are closed when they have not been used for the configured time.
 *
 * @module-tag check
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { INFRASTRUCTURE_POLICY } from "../../../shared/network/ssrf.ts";
import { sendMail } from "../../alerts/channels.ts";
import { readPower } from "../../energy/power-query.ts";
import { pingScheduler } from "../../provisioner/jobsched/scheduler-ping.ts";
import { fetchJson } from "./bounded-fetch.ts";
import { probeCompressor } from "./compressor-probe.ts";
import { BlockedAddressError, guardedSocket } from "./guarded-connections.ts";

let server: Server | undefined;

afterEach(() => {
  server?.close();
});

/** An HTTP server that records its connections; returns its port. */
async function listening(onConnection: (socket: Socket) => void): Promise<number> {
  server = createServer((_request, response) => response.end("{}"));
  server.keepAliveTimeout = 0;
  server.on("connection", onConnection);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

it("closes a connection after the idle time of the policy", async () => {
  const sockets: Socket[] = [];
  const port = await listening((socket) => sockets.push(socket));
  const url = `http://127.0.0.1:${port}/`;
  const policy = { blockPrivate: false, allowedCidrs: [], poolIdleMs: 1_500, tcpKeepAliveMs: 30_000 };
  expect(await fetchJson({ url, timeoutMs: 5000, policy })).toEqual({});
  const [socket] = sockets;
  expect(socket).toBeDefined();
  if (socket !== undefined && !socket.closed) await once(socket, "close");
});

it("checks what a name resolves to when the connection is made, whatever it resolved to before", async () => {
  let connections = 0;
  const port = await listening(() => {
    connections += 1;
  });
  const closed = { blockPrivate: true, allowedCidrs: [] };
  const url = `http://localhost:${port}/`;
  await expect(fetchJson({ url, timeoutMs: 5000, policy: closed })).rejects.toThrow("address blocked");
  await expect(guardedSocket({ host: "localhost", port }, closed, 5000)).rejects.toThrow(BlockedAddressError);
  expect(connections).toBe(0);
  const socket = await guardedSocket(
    { host: "localhost", port },
    { ...closed, allowedCidrs: ["127.0.0.0/8", "::1/128"] },
    5000,
  );
  socket.destroy();
  expect(socket.remotePort ?? port).toBe(port);
});

/** Forms of addresses that are always blocked; the system's resolver accepts the last three. */
const BLOCKED = [
  "169.254.169.254",
  "fe80::1",
  "fe80::1%lo",
  "::ffff:169.254.169.254",
  "2852039166",
  "0xa9.0xfea9fe",
  "0251.0376.1.1",
];

it.each(BLOCKED)("connects mail to no address that is always blocked, however it is written: %s", async (host) => {
  await expect(guardedSocket({ host, port: 25 }, INFRASTRUCTURE_POLICY, 5000)).rejects.toThrow(BlockedAddressError);
  const email = {
    smtp_host: host,
    smtp_port: 25,
    username: "",
    from_address: "a@b",
    recipients: ["c@d"],
    starttls: false,
  };
  expect(await sendMail(email, null, { issueKey: "k", title: "t", detail: "d", repeats: 0, consoleUrl: null })).toEqual(
    {
      ok: false,
      detail: "address blocked",
    },
  );
});

it.each(["169.254.169.254", "[fe80::1]", "100.100.100.200", "[64:ff9b::a9fe:a9fe]"])(
  "calls no metrics server, job scheduler or compressor at %s",
  async (host) => {
    const url = `http://${host}`;
    await expect(readPower(url, "watts")).rejects.toThrow("address blocked");
    expect(await pingScheduler({ url, api_version: "v1", user: "u", token: null })).toMatchObject({
      ok: false,
      error: "address blocked",
    });
    expect(await probeCompressor(url, 800)).toMatchObject({ reachable: false, error: "address blocked" });
  },
);
