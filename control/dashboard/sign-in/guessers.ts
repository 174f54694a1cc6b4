/**
 * Whose failures to sign in count together (docs/rules/console.md#break-glass). Every user of this machine can reach a console
 * from an address that is a front's as well, past the front, and can write any `x-forwarded-for`: on connections of this machine
 * that header is believed only of users that run fronts.
 */
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { clientAddress, peerOf } from "../../api/client-address.ts";
import type { TrustedProxies } from "../../kernel/trusted-proxies.ts";
import { isLoopbackAddress, type LocalUsers } from "./local-users.ts";

/** Numbers below this one are those of services, and people have higher ones (login.defs(5), UID_MIN). */
const PEOPLE_FROM = 1000;
/**
 * Higher numbers belong to user namespaces and containers (subuid(5)). One user of the machine can have thousands of them, so all
 * count as one.
 */
const PEOPLE_TO = 65_535;
/** What systemd gives services without a user of their own (systemd.exec(5), DynamicUser). */
const DYNAMIC = { from: 61_184, to: 65_519 };

interface GuesserOptions {
  readonly proxies: TrustedProxies;
  /** The numbers of users that run fronts, besides root and the gateway's own; null: users of services. */
  readonly frontUsers: readonly number[] | null;
  /** The number of the gateway's own user. */
  readonly ownUser: number | undefined;
  readonly localUsers: Pick<LocalUsers, "of">;
}

interface Guesser {
  /** A user of this machine (`user 1000`), those of user namespaces together, or an address. */
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
    const isLoopback = isLoopbackAddress(peer);
    const isForwarded = client !== proxies.clientOf(peer, undefined);
    if (incoming === undefined || !(isLoopback || isForwarded)) return { name: client, address: client };
    const holder = await localUsers.of(incoming.socket);
    const isUser = typeof holder === "number";
    // Loopback has no clients from elsewhere: the tables have missed the socket, or it is gone.
    const isBelieved = isUser ? this.#isFront(holder) : holder === "untold" || (holder === "none" && !isLoopback);
    const address = isBelieved ? client : peer;
    const isHere = !isBelieved || isLoopbackAddress(client);
    return { name: isUser && isHere ? this.#nameOf(holder) : address, address };
  }

  #isFront(user: number): boolean {
    const { frontUsers, ownUser } = this.#options;
    if (user === 0 || user === ownUser) return true;
    if (frontUsers !== null) return frontUsers.includes(user);
    return user < PEOPLE_FROM || (user >= DYNAMIC.from && user <= DYNAMIC.to);
  }

  #nameOf(user: number): string {
    return user > PEOPLE_TO && user !== this.#options.ownUser ? `users above ${PEOPLE_TO}` : `user ${user}`;
  }
}
