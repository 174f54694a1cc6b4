/**
 * Whose failures to sign in count together (docs/rules/console.md#break-glass). Every user of this machine can reach a console
 * that listens on loopback, past its front, and can write any `x-forwarded-for`: that header is believed there only of users
 * that run fronts.
 */
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { clientAddress, peerOf } from "../../api/client-address.ts";
import type { TrustedProxies } from "../../kernel/trusted-proxies.ts";
import { isLoopbackAddress, type LocalUsers } from "./local-users.ts";

/** Numbers below this one are those of services, and people have higher ones (login.defs(5), UID_MIN). */
const PEOPLE_FROM = 1000;
/** What systemd gives services without a user of their own (systemd.exec(5), DynamicUser). */
const DYNAMIC = { from: 61_184, to: 65_519 };

interface GuesserOptions {
  readonly proxies: TrustedProxies;
  /** The numbers of users that run fronts, besides root and the gateway's own; null: users of services. */
  readonly frontUsers: readonly number[] | null;
  /** The number of the gateway's own user. */
  readonly ownUser: number | undefined;
  readonly localUsers: Pick<LocalUsers, "of" | "canTell">;
}

interface Guesser {
  /** A user of this machine (`user 1000`), or an address. */
  readonly name: string;
  /** Where the connection comes from, or the client of a front that is believed. */
  readonly address: string;
}

export class Guessers {
  readonly #options: GuesserOptions;

  constructor(options: GuesserOptions) {
    this.#options = options;
  }

  async of(c: Context): Promise<Guesser> {
    const { proxies, localUsers } = this.#options;
    const [peer, client] = [peerOf(c) ?? "unknown", clientAddress(c, proxies) ?? "unknown"];
    const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
    if (!isLoopbackAddress(peer) || incoming === undefined) return { name: client, address: client };
    const user = await localUsers.of(incoming.socket);
    // A client that has closed its half of the connection has no user, and still gets its answer.
    const isFront = user === null ? !localUsers.canTell : this.#isFront(Number(user));
    const address = isFront ? client : peer;
    return { name: user === null || !isLoopbackAddress(address) ? address : `user ${user}`, address };
  }

  #isFront(user: number): boolean {
    const { frontUsers, ownUser } = this.#options;
    if (user === 0 || user === ownUser) return true;
    if (frontUsers !== null) return frontUsers.includes(user);
    return user < PEOPLE_FROM || (user >= DYNAMIC.from && user <= DYNAMIC.to);
  }
}
