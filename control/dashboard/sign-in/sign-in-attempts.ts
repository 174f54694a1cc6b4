/**
 * How often the password may be guessed, and how many ask a provider at once (docs/rules/console.md#break-glass): after five
 * failures within 15 minutes a guesser (a browser, a user of this machine, an address) may try once in 30 seconds; after five of
 * all together, every guesser that has failed. Nobody is kept out for longer: otherwise anybody who can reach the console could
 * lock its admin out. Addresses cost nothing to somebody who has a network of them, so they share a number of failures as well;
 * known browsers and users of this machine are few, and share none.
 */
import ipaddr from "ipaddr.js";
import { LRUCache } from "lru-cache";
import { DashboardError } from "../dashboard-error.ts";
import { wholeBody } from "../live/whole-body.ts";
import { OpenCalls } from "../open-calls.ts";
import { isLoopbackAddress } from "./local-users.ts";

const FAILURES_MAX = 5;
const WINDOW_MS = 15 * 60_000;
const SPACING_MS = 30_000;
/**
 * A /56 and a /48 of IPv6, and how many failures they may have before they may try once in 30 seconds. One guesser makes some 35
 * in the 15 minutes: it must not slow the networks around its own.
 */
const WIDER_NETWORKS = [
  { bytes: 7, failuresMax: 50 },
  { bytes: 6, failuresMax: 100 },
];
/** All addresses: a /48 alone, which makes some 130, must not slow the others. */
const ALL_ADDRESSES = { name: "addresses", failuresMax: 300 };
/** More names than fail within 15 minutes; the one that failed longest ago is forgotten first. */
const NAMES_MAX = 10_000;
const BODY = { withinMs: 15_000, maxBytes: 16 * 1024 };
/** Bodies on their way; of one guesser no more than may fail. */
const BODIES_MAX = 512;
/** Stands for the account among the guessers. */
const ACCOUNT = "";

/** A name under which failures count, and how many it may have before it may try once in 30 seconds. */
interface Counter {
  readonly name: string;
  readonly failuresMax: number;
}

interface Failures {
  readonly count: number;
  /** Epoch milliseconds. */
  readonly firstMs: number;
  readonly lastMs: number;
}

export class SignInAttempts {
  readonly #failures = new LRUCache<string, Failures>({ max: NAMES_MAX });
  readonly #now: () => number;
  /** Bodies on their way, the oldest first, each with whose it is and what gives it up. */
  readonly #bodies = new Map<AbortController, string>();
  readonly #asking = new OpenCalls();

  /** `now`: epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** How long this guesser has to wait, in milliseconds; 0: it may try. */
  waitMs(guesser: string): number {
    const isAccountSlow = this.#within(ACCOUNT).count >= FAILURES_MAX;
    const [own, ...shared] = countersOf(guesser);
    const counters = [isAccountSlow ? { ...own, failuresMax: 1 } : own, ...shared];
    return Math.max(...counters.map((counter) => this.#waitOfMs(counter)));
  }

  /** Throws DashboardError 429 while this guesser may not try. */
  check(guesser: string): void {
    const waitMs = this.waitMs(guesser);
    if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000));
  }

  /**
   * The body of an attempt. Throws DashboardError 429 when this guesser may not make one or has too many bodies on their way,
   * GatewayError 408, 413. Of too many bodies of all, the one that has been on its way for longest is given up, so that slow ones
   * keep nobody out.
   */
  async bodyOf(guesser: string, { body }: Request): Promise<Uint8Array<ArrayBuffer>> {
    this.check(guesser);
    if (body === null) return new Uint8Array();
    const [{ name }] = countersOf(guesser);
    if ([...this.#bodies.values()].filter((whose) => whose === name).length >= FAILURES_MAX) throw tooMany(1);
    const [oldest] = this.#bodies.keys();
    if (this.#bodies.size >= BODIES_MAX) oldest?.abort();
    const giveUp = new AbortController();
    this.#bodies.set(giveUp, name);
    try {
      return await wholeBody(body, { ...BODY, givenUp: giveUp.signal });
    } finally {
      this.#bodies.delete(giveUp);
    }
  }

  /** Calls of a provider for this guesser. Throws DashboardError 429 while there are as many as there may be. */
  async asking<T>(guesser: string, ask: () => Promise<T>): Promise<T> {
    const [{ name }] = countersOf(guesser);
    const end = this.#asking.begin(name, null);
    try {
      return await ask();
    } finally {
      end();
    }
  }

  /** A wrong password was checked. */
  failed(guesser: string): void {
    for (const name of [...countersOf(guesser).map((counter) => counter.name), ACCOUNT]) {
      const { count, firstMs } = this.#within(name);
      this.#failures.set(name, { count: count + 1, firstMs, lastMs: this.#now() });
    }
  }

  succeeded(guesser: string): void {
    const [{ name }] = countersOf(guesser);
    this.#failures.delete(name);
  }

  #waitOfMs({ name, failuresMax }: Counter): number {
    const { count, lastMs } = this.#within(name);
    return count < failuresMax ? 0 : Math.max(0, lastMs + SPACING_MS - this.#now());
  }

  #within(name: string): Failures {
    const nowMs = this.#now();
    const found = this.#failures.get(name);
    // A clock that was set back must not keep anyone out for longer.
    const isCurrent = found !== undefined && nowMs >= found.lastMs && nowMs < found.firstMs + WINDOW_MS;
    return isCurrent ? found : { count: 0, firstMs: nowMs, lastMs: nowMs };
  }
}

function tooMany(waitSecs: number): DashboardError {
  return new DashboardError("too_many_sign_ins", { "retry-after": String(waitSecs) });
}

/**
 * What counts a guesser's failures, its own counter first. Somebody with one address of IPv6 has all 2^64 of its network, often
 * 65,536 such networks, and users of this machine have all of 127.0.0.0/8.
 */
function countersOf(guesser: string): readonly [Counter, ...Counter[]] {
  const own = { name: guesser, failuresMax: FAILURES_MAX };
  if (!ipaddr.isValid(guesser)) return [own];
  if (isLoopbackAddress(guesser)) return [{ ...own, name: "loopback" }];
  const address = ipaddr.process(guesser);
  if (address.kind() === "ipv4") return [{ ...own, name: address.toString() }, ALL_ADDRESSES];
  const prefix = (bytes: number): string => address.toByteArray().slice(0, bytes).join(".");
  const wider = WIDER_NETWORKS.map(({ bytes, failuresMax }) => ({ name: prefix(bytes), failuresMax }));
  return [{ ...own, name: prefix(8) }, ...wider, ALL_ADDRESSES];
}
