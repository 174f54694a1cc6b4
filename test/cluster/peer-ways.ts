/**
 * The ways by which the instances of a cluster reach one another, which a test cuts for one of them: what it sends to the others,
 * and they to it, is then held, as by a network that drops packets and whose senders repeat them. Every instance gives an address
 * of these ways as its own. Who has opened a connection is found out by the process group that has its socket (Linux).
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { type Listening, listen } from "../../infra/local/http/listen.ts";
import { passOn } from "./held-bytes.ts";

/** The ways of one cluster. */
export class PeerWays {
  /** The groups that are cut off, and what waits for the end of that. */
  readonly #cut = new Map<number, PromiseWithResolvers<void>>();
  readonly #groups = new Set<number>();

  /** Opens the way to the instance that listens on this port of loopback. */
  async open(port: number) {
    const sockets = new Set<Socket>();
    let own: number | null = null;
    const server = createServer({ allowHalfOpen: true }, (peer) => {
      const from = groupOf(peer.remotePort ?? 0, this.#groups);
      const open = async (): Promise<void> => {
        for (const group of [from, own]) if (group !== null && from !== own) await this.#cut.get(group)?.promise;
      };
      const instance = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
      for (const [socket, other] of [
        [peer, instance],
        [instance, peer],
      ] as const) {
        socket.setNoDelay();
        sockets.add(socket);
        passOn(socket, other, { open, delayMs: () => 0, closed: () => void sockets.delete(socket) });
      }
    });
    const listening: Listening = await listen(server, "127.0.0.1", 0);
    return {
      /** The address at which the others reach it, as host:port. */
      address: new URL(listening.url).host,
      /** Names the process group of the instance, once it has one. */
      of: (group: number): void => {
        own = group;
        this.#groups.add(group);
      },
      /** Cuts the instance off from the others, in both directions. */
      cut: (): void => {
        if (own !== null) this.#cut.set(own, Promise.withResolvers());
      },
      /** Passes on what was held, and everything after it. */
      heal: (): void => {
        if (own === null) return;
        this.#cut.get(own)?.resolve();
        this.#cut.delete(own);
      },
      close: async (): Promise<void> => {
        for (const socket of sockets) socket.destroy();
        await listening.close();
      },
    };
  }
}

/** Which of the process groups has the socket on this port of loopback; null: none of them. */
function groupOf(port: number, groups: ReadonlySet<number>): number | null {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const line = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .find((each) => each.trim().split(/\s+/)[1] === local);
  const inode = line?.trim().split(/\s+/)[9];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      // After the name in parentheses: state, parent, group.
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const group = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
      if (!groups.has(group)) continue;
      const links = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
      if (links.includes(`socket:[${inode}]`)) return group;
    } catch {
      // The process, or its file, is gone.
    }
  }
  return null;
}
