/** A name server for one program under test: every name has the same addresses, in turn in another order (RFC 1035). */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

const HEADER_BYTES = 12;
const TYPE_A = 1;
/** An answer without an error, to a query that may be recursive. */
const ANSWERED = 0x81_80;

/** Starts it on a port of loopback. */
export async function startNameServer(addresses: readonly string[]) {
  const socket = createSocket("udp4");
  let turn = 0;
  socket.on("message", (query, { port, address }) => {
    const end = query.indexOf(0, HEADER_BYTES) + 5;
    const first = turn % addresses.length;
    turn += 1;
    const all = [...addresses.slice(first), ...addresses.slice(0, first)];
    const records = (query.readUInt16BE(end - 4) === TYPE_A ? all : []).map((each) =>
      // the name of the question, type A, class IN, a life of 0 s, four bytes
      Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...each.split(".").map(Number)]),
    );
    const header = Buffer.alloc(HEADER_BYTES);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(ANSWERED, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([header, query.subarray(HEADER_BYTES, end), ...records]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, close: () => socket.close() };
}
