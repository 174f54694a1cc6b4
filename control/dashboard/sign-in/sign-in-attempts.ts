/**
 * How often the password may be guessed, and how many ask a provider at once (docs/rules/console.md#break-glass): after five failures within 15 minutes a guesser (a
 * browser, a user of this machine, an address) may try once in 30 seconds; after five of all together, every guesser that has
 * failed. Nobody is kept out for longer: otherwise anybody who can reach the console could lock its admin out.
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
/** Guessers that are remembered; the one that tried longest ago is forgotten first. */
const ADDRESSES_MAX = 10_000;
const BODY = { withinMs: 15_000, maxBytes: 16 * 1024 };
/** Bodies on their way; of one guesser no more than may fail. */
const BODIES_MAX = 512;
/** Stands for the account among the guessers. */
const ACCOUNT = "";

interface Failures {
  readonly count: number;
  /** Epoch milliseconds. */
  readonly firstMs: number;
  readonly lastMs: number;
}

export class SignInAttempts {
  readonly #failures = new LRUCache<string, Failures>({ max: ADDRESSES_MAX });
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
    const { count, lastMs } = this.#within(networkOf(guesser));
    const isAccountSlow = this.#within(ACCOUNT).count >= FAILURES_MAX;
    return count < (isAccountSlow ? 1 : FAILURES_MAX) ? 0 : Math.max(0, lastMs + SPACING_MS - this.#now());
  }

  /**
   * The body of an attempt. Throws DashboardError 429 when this guesser may not make one or has too many bodies on their way,
   * GatewayError 408, 413. Of too many bodies of all, the one that has been on its way for longest is given up, so that slow ones
   * keep nobody out.
   */
  async bodyOf(guesser: string, { body }: Request): Promise<Uint8Array<ArrayBuffer>> {
    const waitMs = this.waitMs(guesser);
    if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000));
    if (body === null) return new Uint8Array();
    const network = networkOf(guesser);
    if ([...this.#bodies.values()].filter((whose) => whose === network).length >= FAILURES_MAX) throw tooMany(1);
    const [oldest] = this.#bodies.keys();
    if (this.#bodies.size >= BODIES_MAX) oldest?.abort();
    const giveUp = new AbortController();
    this.#bodies.set(giveUp, network);
    try {
      return await wholeBody(body, { ...BODY, givenUp: giveUp.signal });
    } finally {
      this.#bodies.delete(giveUp);
    }
  }

  /** Calls of a provider for this guesser. Throws DashboardError 429 while there are as many as there may be. */
  async asking<T>(guesser: string, ask: () => Promise<T>): Promise<T> {
    const end = this.#asking.begin(networkOf(guesser), null);
    try {
      return await ask();
    } finally {
      end();
    }
  }

  failed(guesser: string): void {
    for (const name of [networkOf(guesser), ACCOUNT]) {
      const { count, firstMs } = this.#within(name);
      this.#failures.set(name, { count: count + 1, firstMs, lastMs: this.#now() });
    }
  }

  succeeded(guesser: string): void {
    this.#failures.delete(networkOf(guesser));
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

/** Somebody with one address of IPv6 has all 2^64 of its network, and users of this machine have all of 127.0.0.0/8. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  if (isLoopbackAddress(address)) return "loopback";
  const parsed = ipaddr.process(address);
  return parsed.kind() === "ipv6" ? parsed.toByteArray().slice(0, 8).join(".") : parsed.toString();
}
