/**
 * Which user of this machine holds the other end of a connection, as Linux says it (proc(5), /proc/net/tcp): to a server every
 * user of its machine has the same addresses.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import ipaddr from "ipaddr.js";
import { FreshReads } from "../../kernel/fresh-reads.ts";

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** For each read the kernel walks over every connection of the machine, however few of them are the console's. */
const PAUSE_MS = 100;
/** How often a connection of this machine is looked for. */
const LOOKS = 3;

/** The ends of a connection, as `net.Socket` has them. */
interface Ends {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/**
 * The number of the user who holds the other end. `none`: no socket of this machine does. `unknown`: one without a user, such as
 * one that is closed, or the tables cannot be read now. `untold`: the system has no tables.
 */
type Holder = number | "none" | "unknown" | "untold";

/** Holders by the ends of their connections, client first; or of every connection the same. */
type Holders = ReadonlyMap<string, Holder> | "unknown" | "untold";

export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === "loopback";
}

export class LocalUsers {
  /** A connection stays with who has made it. */
  readonly #known = new WeakMap<Ends, Holder>();
  readonly #reads = new FreshReads<Holders>();
  readonly #readTable: (path: string) => Promise<string>;
  #pause: Promise<unknown> = Promise.resolve();

  constructor(readTable = async (path: string): Promise<string> => await readFile(path, "latin1")) {
    this.#readTable = readTable;
  }

  /** Questions during a read share the next one. */
  async of(connection: Ends): Promise<Holder> {
    const known = this.#known.get(connection);
    if (known !== undefined) return known;
    const { remoteAddress, remotePort, localAddress, localPort } = connection;
    if (
      remoteAddress === undefined ||
      remotePort === undefined ||
      localAddress === undefined ||
      localPort === undefined
    )
      return "unknown";
    const ends = `${formOf(remoteAddress, remotePort)} ${formOf(localAddress, localPort)}`;
    const isHere = isLoopbackAddress(remoteAddress) || remoteAddress === localAddress;
    // the kernel may skip a connection in a table that changes while it is read
    for (let look = isHere ? 1 : LOOKS; ; look += 1) {
      const holders = await this.#reads.get(String(localPort), async () => await this.#holdersAt(localPort));
      if (typeof holders === "string") return holders;
      const holder = holders.get(ends) ?? "none";
      if (holder === "none" && look < LOOKS) continue;
      if (holder !== "unknown") this.#known.set(connection, holder);
      return holder;
    }
  }

  async #holdersAt(port: number): Promise<Holders> {
    await this.#pause;
    try {
      const tables: string[] = [];
      for (const path of TABLES) tables.push(...(await this.#readTable(path).then((text) => [text], noneIfMissing)));
      return tables.length === 0 ? "untold" : holdersIn(tables, port);
    } catch {
      // Any user can use up the file descriptors of this process, and must not pass for a system without tables by it.
      return "unknown";
    } finally {
      this.#pause = delay(PAUSE_MS, undefined, { ref: false });
    }
  }
}

function noneIfMissing(error: unknown): readonly string[] {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return [];
  throw error;
}

function holdersIn(tables: readonly string[], port: number): ReadonlyMap<string, Holder> {
  const holders = new Map<string, Holder>();
  const mark = `:${hexOf(port)}`;
  for (const line of tables.join("\n").split("\n")) {
    if (!line.includes(mark)) continue;
    const [, own = "", peer = "", , , , , user = "", , inode] = line.trim().split(/\s+/);
    if (!peer.endsWith(mark)) continue;
    // a socket that its process has closed is without an inode, and seems to be of the user 0
    const holder = inode === "0" ? "unknown" : Number(user);
    holders.set(`${own.replace(WITHIN_IPV6, "")} ${peer.replace(WITHIN_IPV6, "")}`, holder);
  }
  return holders;
}

/** How an address of IPv4 within IPv6 begins in the tables. */
const WITHIN_IPV6 = /^0{16}FFFF0000(?=.{8}:)/;

/** An end as the tables have it, IPv4 also within IPv6 as IPv4: words of four bytes, each with its last byte first. */
function formOf(address: string, port: number): string {
  const bytes = Buffer.from(ipaddr.process(address).toByteArray()).swap32();
  return `${bytes.toString("hex").toUpperCase()}:${hexOf(port)}`;
}

function hexOf(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}
