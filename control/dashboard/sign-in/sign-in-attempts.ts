/**
 * How often an address may guess the password (docs/rules/console.md#break-glass): five failures within 15 minutes close
 * the door for that address until the 15 minutes since the first of them are over.
 */
import ipaddr from "ipaddr.js";
import { LRUCache } from "lru-cache";

const FAILURES_MAX = 5;
const WINDOW_MS = 15 * 60_000;
/** Addresses that are remembered; the one that tried longest ago is forgotten first. */
const ADDRESSES_MAX = 10_000;

interface Failures {
  readonly count: number;
  /** Epoch milliseconds. */
  readonly firstMs: number;
}

export class SignInAttempts {
  readonly #failures = new LRUCache<string, Failures>({ max: ADDRESSES_MAX });
  readonly #now: () => number;

  /** `now`: epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** How long this address has to wait, in milliseconds; 0: it may try. */
  waitMs(address: string): number {
    const { count, firstMs } = this.#within(address);
    return count < FAILURES_MAX ? 0 : Math.max(1, firstMs + WINDOW_MS - this.#now());
  }

  failed(address: string): void {
    const { count, firstMs } = this.#within(address);
    this.#failures.set(networkOf(address), { count: count + 1, firstMs });
  }

  succeeded(address: string): void {
    this.#failures.delete(networkOf(address));
  }

  #within(address: string): Failures {
    const nowMs = this.#now();
    const found = this.#failures.get(networkOf(address));
    // A clock that was set back must not keep anyone out for longer.
    const isCurrent = found !== undefined && nowMs >= found.firstMs && nowMs < found.firstMs + WINDOW_MS;
    return isCurrent ? found : { count: 0, firstMs: nowMs };
  }
}

/** Whoever has one address of IPv6 has all 2^64 of its network. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === "ipv6" ? parsed.toByteArray().slice(0, 8).join(".") : parsed.toString();
}
