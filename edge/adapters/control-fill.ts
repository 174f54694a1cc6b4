/**
 * Tells the control service that the key-value store was emptied, so that it fills it at once
 * (docs/rules/freshness.md#a-store-that-was-emptied). A call that fails is not repeated, because the control service also
 * checks on its own.
 */
import { FILL_PATH } from "../../shared/wire/internal.ts";
import type { Clock } from "../ports.ts";
import type { ControlCalls } from "./control-calls.ts";

/** Shortest time between two calls: all that is refused meanwhile is one piece of news. */
const EVERY_MS = 1000;

interface ControlFillOptions {
  readonly control: ControlCalls;
  readonly clock: Clock;
  /** Lets a call continue after the request that started it has ended. */
  readonly keepAlive: (work: Promise<unknown>) => void;
}

export class ControlFill {
  readonly #options: ControlFillOptions;
  #nextMs = 0;

  constructor(options: ControlFillOptions) {
    this.#options = options;
  }

  ask(): void {
    const { control, clock, keepAlive } = this.#options;
    if (clock() < this.#nextMs) return;
    this.#nextMs = clock() + EVERY_MS;
    const call = async (): Promise<void> => await (await control.post(FILL_PATH, {})).body?.cancel();
    keepAlive(call().catch(() => undefined));
  }
}
