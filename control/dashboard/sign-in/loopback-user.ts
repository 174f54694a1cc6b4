/**
 * Which user of this machine holds the other end of a loopback connection, as Linux says it (proc(5), /proc/net/tcp): to a
 * server every user of its machine has the same address.
 */
import { readFile } from "node:fs/promises";
import ipaddr from "ipaddr.js";

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
const ESTABLISHED = "01";

/** The ends of a connection, as `net.Socket` has them. */
interface Ends {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === "loopback";
}

/** The number of the user; null: nobody knows. */
export async function loopbackUser(ends: Ends): Promise<string | null> {
  const { remoteAddress, remotePort, localAddress, localPort } = ends;
  if (remoteAddress === undefined || remotePort === undefined || localAddress === undefined || localPort === undefined)
    return null;
  const [from, to] = [formsOf(remoteAddress, remotePort), formsOf(localAddress, localPort)];
  const tables = await Promise.all(TABLES.map(async (path) => await readFile(path, "utf8").catch(() => "")));
  for (const line of tables.join("\n").split("\n")) {
    const [, own = "", peer = "", state, , , , user, , inode] = line.trim().split(/\s+/);
    // a socket that its process has closed is without an inode, and seems to be of the user 0
    if (state === ESTABLISHED && inode !== "0" && from.has(own) && to.has(peer)) return user ?? null;
  }
  return null;
}

/** An end as the tables have it, IPv4 also within IPv6: words of four bytes, each with its last byte first. */
function formsOf(address: string, port: number): ReadonlySet<string> {
  const parsed = ipaddr.process(address);
  const forms = parsed instanceof ipaddr.IPv4 ? [parsed, parsed.toIPv4MappedAddress()] : [parsed];
  return new Set(
    forms.map((form) => {
      const bytes = Buffer.from(form.toByteArray()).swap32();
      return `${bytes.toString("hex")}:${Buffer.from([port >> 8, port & 255]).toString("hex")}`.toUpperCase();
    }),
  );
}
