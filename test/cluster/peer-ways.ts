/**
 * The ways by which the instances of a cluster reach one another, which a test cuts for one of them: what it sends to the others,
 * and they to it, is then held, as by a network that drops packets and whose senders repeat them. Every instance gives an address
 * of these ways as its own. Who has opened a connection is found out by the process that has its socket (process-family.ts).
 */
import { openHeldWay } from "./held-bytes.ts";
import { launcherOf } from "./process-family.ts";

export class PeerWays {
  /** The launchers of instances that are cut off, and what waits for the end of that. */
  readonly #cut = new Map<number, PromiseWithResolvers<void>>();
  readonly #launchers = new Set<number>();

  /** Opens the way to the instance that listens on this port of loopback. */
  async open(port: number) {
    let own: number | null = null;
    const way = await openHeldWay(port, (peer) => {
      const from = launcherOf(peer.remotePort ?? 0, this.#launchers);
      const open = async (): Promise<void> => {
        for (const launcher of [from, own])
          if (launcher !== null && from !== own) await this.#cut.get(launcher)?.promise;
      };
      return { open, delayMs: () => 0 };
    });
    return {
      /** The address at which the others reach it, as host:port. */
      address: new URL(way.url).host,
      /** Names the launcher of the instance, once it has one. */
      of: (launcher: number): void => {
        own = launcher;
        this.#launchers.add(launcher);
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
      close: way.close,
    };
  }
}
