/**
 * Which user of this machine holds the other end of a loopback connection, as Linux says it (proc(5), /proc/net/tcp): to a
 * server every user of its machine has the same address.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import ipaddr from "ipaddr.js";
import { FreshReads } from "../../kernel/fresh-reads.ts";

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
const ESTABLISHED = "01";
/** For each read the kernel walks over every connection of the machine, however few of them are the console's. */
const PAUSE_MS = 100;

/** The ends of a connection, as `net.Socket` has them. */
interface Ends {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/** Users by the ends of their connections, client first. */
type Users = ReadonlyMap<string, string>;

export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === "loopback";
}

export class LocalUsers {
  /** A connection stays with the user who has made it. */
  readonly #known = new WeakMap<Ends, string>();
  readonly #reads = new FreshReads<Users>();
  readonly #readTable: (path: string) => Promise<string>;
  #pause: Promise<unknown> = Promise.resolve();
  #canTell = true;

  constructor(readTable = async (path: string): Promise<string> => await readFile(path, "latin1")) {
    this.#readTable = readTable;
  }

  /** False once the system had no tables: then it tells the user of no connection. */
  get canTell(): boolean {
    return this.#canTell;
  }

  /** The number of the user; null: nobody knows. Questions during a read share the next one. */
  async of(connection: Ends): Promise<string | null> {
    const known = this.#known.get(connection);
    if (known !== undefined) return known;
    const { remoteAddress, remotePort, localAddress, localPort } = connection;
    if (
      remoteAddress === undefined ||
      remotePort === undefined ||
      localAddress === undefined ||
      localPort === undefined
    )
      return null;
    const users = await this.#reads.get(String(localPort), async () => await this.#usersAt(localPort));
    const user = users.get(`${formOf(remoteAddress, remotePort)} ${formOf(localAddress, localPort)}`);
    if (user !== undefined) this.#known.set(connection, user);
    return user ?? null;
  }

  async #usersAt(port: number): Promise<Users> {
    await this.#pause;
    let text = "";
    for (const path of TABLES) text += await this.#readTable(path).catch(() => "");
    this.#canTell = text !== "";
    this.#pause = delay(PAUSE_MS, undefined, { ref: false });
    return usersIn(text, port);
  }
}

function usersIn(tables: string, port: number): Users {
  const users = new Map<string, string>();
  const mark = `:${hexOf(port)} ${ESTABLISHED} `;
  for (const line of tables.split("\n")) {
    if (!line.includes(mark)) continue;
    const [, own = "", peer = "", , , , , user = "", , inode] = line.trim().split(/\s+/);
    // a socket that its process has closed is without an inode, and seems to be of the user 0
    if (inode !== "0") users.set(`${own.replace(WITHIN_IPV6, "")} ${peer.replace(WITHIN_IPV6, "")}`, user);
  }
  return users;
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
