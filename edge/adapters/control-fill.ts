/**
 * Tells the control service that the key-value store was emptied, so that it fills it at once
 * (docs/rules/freshness.md#a-store-that-was-emptied). It looks by itself too: a call that fails is not repeated.
 */
import { FILL_PATH } from "../../shared/wire/internal.ts";
import type { Clock } from "../ports.ts";

/** Shortest time between two calls: all that is refused meanwhile is one piece of news. */
const EVERY_MS = 1000;
const TIMEOUT_MS = 5000;

interface ControlFillOptions {
  /** Base URL of the control service. */
  readonly baseUrl: string;
  /** Undefined: no internal token is configured. */
  readonly internalToken: () => Promise<string | undefined>;
  readonly clock: Clock;
  /** Lets a call continue after the request that began it has ended. */
  readonly keepAlive: (work: Promise<unknown>) => void;
}

export class ControlFill {
  readonly #options: ControlFillOptions;
  #nextMs = 0;

  constructor(options: ControlFillOptions) {
    this.#options = options;
  }

  ask(): void {
    const { clock, keepAlive } = this.#options;
    if (clock() < this.#nextMs) return;
    this.#nextMs = clock() + EVERY_MS;
    keepAlive(this.#call().catch(() => undefined));
  }

  async #call(): Promise<void> {
    const { baseUrl, internalToken } = this.#options;
    const response = await fetch(new URL(FILL_PATH, baseUrl), {
      method: "POST",
      headers: { authorization: `Bearer ${(await internalToken()) ?? ""}` },
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
  }
}
