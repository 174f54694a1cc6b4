/**
 * Takes back what isolates hold that are not heard any more. A machine that lost its power, or is paused, closes no connection,
 * so the runtime disposes none of its permits. In a cluster each isolate with open requests calls for the Cell's life
 * (cell-lives.ts); one that was silent for longer than a request waits for an owner has left the cluster by then, because its
 * lease has ended.
 */
import type { AdmissionEntry } from "./admission-entry.ts";

interface SilentHoldersOptions {
  /** An isolate that was silent for longer is gone, ms. */
  readonly silentMs: number;
  readonly now: () => number;
  readonly entries: { all(): readonly AdmissionEntry[] };
  readonly abandon: (entry: AdmissionEntry) => void;
}

export class SilentHolders {
  readonly #options: SilentHoldersOptions;
  readonly #heardMs = new Map<string, number>();
  #sweptMs = 0;

  constructor(options: SilentHoldersOptions) {
    this.#options = options;
  }

  /** The isolate is alive. */
  heard(holder: string): void {
    this.#heardMs.set(holder, this.#options.now());
  }

  /** Ends the requests of silent isolates; call it every few seconds. An isolate that was never heard is left alone. */
  sweep(): void {
    const { silentMs, now, entries, abandon } = this.#options;
    const nowMs = now();
    // After a pause of this object itself, or a step of its clock, nobody is known to have been silent.
    const isLate = Math.abs(nowMs - this.#sweptMs) >= silentMs / 2;
    this.#sweptMs = nowMs;
    for (const [holder, heardMs] of this.#heardMs) {
      if (isLate) this.#heardMs.set(holder, nowMs);
      else if (nowMs - heardMs > silentMs) {
        this.#heardMs.delete(holder);
        for (const entry of entries.all()) if (entry.request.holder === holder) abandon(entry);
      }
    }
  }
}
