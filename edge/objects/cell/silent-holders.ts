/**
 * Takes back what isolates hold that are not heard any more. A machine that lost its power, or is paused, closes no connection,
 * so the runtime disposes none of its permits. In a cluster each isolate with open requests calls for the Cell's life
 * (cell-life-watch.ts); one that was silent for longer than its lease has ended its requests itself, or cannot go on with them
 * (docs/rules/admission.md#leases-of-isolates). No clock is read: one that is set changes nothing.
 */
import { HolderSilence } from "../../domain/admission/holder-lease.ts";
import type { AdmissionEntry } from "./admission-entry.ts";

interface SilentHoldersOptions {
  /** The lease of an isolate that does not tell of a longer one, ms. */
  readonly leaseMs: number;
  /** The least time between two sweeps, ms. */
  readonly everyMs: number;
  readonly entries: { all(): readonly AdmissionEntry[] };
  /** Takes back what a silent isolate holds. */
  readonly takeBack: (entry: AdmissionEntry) => void;
  /** Called when an isolate is heard for the first time, or for the first time since it was silent. */
  readonly isBack: (holder: string) => void;
  /** Called for each entry of an isolate that has become quiet. */
  readonly unheard: (entry: AdmissionEntry) => void;
}

export class SilentHolders {
  readonly #silence: HolderSilence;
  readonly #entries: SilentHoldersOptions["entries"];
  readonly #takeBack: SilentHoldersOptions["takeBack"];
  readonly #isBack: SilentHoldersOptions["isBack"];
  readonly #unheard: SilentHoldersOptions["unheard"];

  constructor({ leaseMs, everyMs, entries, takeBack, isBack, unheard }: SilentHoldersOptions) {
    this.#silence = new HolderSilence(leaseMs, everyMs);
    this.#entries = entries;
    this.#takeBack = takeBack;
    this.#isBack = isBack;
    this.#unheard = unheard;
  }

  /**
   * The isolate is alive. Undefined: the request's isolate needs no lease. `leaseMs`: how long it keeps slots that it cannot renew;
   * undefined: it does not say.
   */
  heard(holder: string | undefined, leaseMs?: number): void {
    if (holder !== undefined && this.#silence.heard(holder, leaseMs)) this.#isBack(holder);
  }

  /** Whether nothing was heard of the isolate for some seconds. Undefined: it need not be heard. */
  isQuiet(holder: string | undefined): boolean {
    return holder !== undefined && this.#silence.isQuiet(holder);
  }

  /**
   * The Cell's life as the isolate has to see it: another one after its slots were taken back, so that it queues and claims again
   * what it still takes to be its own.
   */
  lifeFor(holder: string, life: string): string {
    const losses = this.#silence.takenBack(holder);
    return losses === 0 ? life : `${life}/${losses}`;
  }

  /** Ends the requests of silent isolates, and tells of those that have become quiet; call it when the interval has passed, and never earlier. */
  sweep(): void {
    for (const holder of this.#silence.pass()) {
      const held = this.#entries.all().filter(({ request }) => request.holder === holder);
      if (held.length > 0) this.#silence.tookBack(holder);
      // Those that wait come first, so that no slot that comes back is granted to one of them.
      for (const entry of held) if (entry.slot === null) this.#takeBack(entry);
      for (const entry of held) this.#takeBack(entry);
    }
    const quiet = this.#silence.newlyQuiet();
    if (quiet.size === 0) return;
    for (const entry of this.#entries.all()) if (quiet.has(entry.request.holder ?? "")) this.#unheard(entry);
  }
}
