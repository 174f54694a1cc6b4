/**
 * What becomes of the connection of a realtime session that has ended (docs/rules/realtime.md#limits-of-a-session).
 *
 * @module-tag check
 */
import { once } from "node:events";
import net from "node:net";
import { expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { startRealtimeUpstream } from "../harness/realtime-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useStarted(startRealtimeUpstream);

const HANDSHAKE = [
  "host: gateway",
  "connection: upgrade",
  "upgrade: websocket",
  "sec-websocket-version: 13",
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-extensions: permessage-deflate; client_max_window_bits",
];
/** A text message of one character, masked. */
const MESSAGE = Buffer.from([0x81, 0x81, 1, 2, 3, 4, 0x79]);

/** A client that never closes its side, and the head that it was answered. */
async function openRaw(words: string) {
  const { gateway } = fixture;
  const minted = await gateway.mint(upstream().url, words);
  const { hostname, port } = new URL(gateway.proxyUrl);
  const socket = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on("error", () => undefined);
  const path = `/v1/realtime?model=${minted.model.model_name}`;
  const lines = [`GET ${path} HTTP/1.1`, ...HANDSHAKE, `authorization: Bearer ${minted.secret}`, "", ""];
  socket.write(lines.join("\r\n"));
  const [head] = (await once(socket, "data")) as [Buffer];
  return { minted, socket, head: head.toString("latin1").toLowerCase() };
}

it("a client that does not close its side is cut off, and its session has its row", async () => {
  const { minted, socket, head } = await openRaw("plain,n=cut-1");
  expect(head).toContain(" 101 ");
  const ended = once(socket, "end");
  await fixture.gateway.must("DELETE", `/keys/${minted.key.id}`);
  await ended;
  socket.destroy();
  const rows = await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id),
    (found) => found.length > 0,
  );
  expect(rows.map(({ status_code: status }) => status)).toEqual([101]);
});

it("a client that sends on after its session has ended is cut off", async () => {
  const { socket } = await openRaw("plain,n=cut-2");
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.once("close", () => resolve());
  const flood = Buffer.concat(Array.from({ length: 1_000 }, () => MESSAGE));
  const sending = setInterval(() => socket.write(flood), 20);
  await closed;
  clearInterval(sending);
  expect(socket.destroyed).toBe(true);
});

it("compression is not negotiated", async () => {
  const { socket, head } = await openRaw("plain,n=cut-3");
  expect(head).toContain(" 101 ");
  expect(head).not.toContain("sec-websocket-extensions");
  socket.destroy();
});
