/**
 * Takes back what isolates hold that are not heard any more. A machine that lost its power, or is paused, closes no connection,
 * so no session of it ends. In a cluster each isolate with open requests calls for the Cell's life (cell-life-watch.ts); one that
 * was silent for longer than its lease has ended its requests itself, or cannot go on with them
 * (docs/rules/admission.md#leases-of-isolates). No clock is read: one that is set changes nothing.
 */
import type { AdmissionMachine } from "../../domain/admission/admission-machine.ts";
import { MemberSilence } from "../../domain/admission/holder-lease.ts";

/** A cut that lasts longer, ms, is taken to be the end of the isolate: its clients have given up long before. */
const AWAITED_MS = 300_000;

interface SilentMembersOptions {
  /** The lease of an isolate that does not tell of a longer one, ms. */
  readonly leaseMs: number;
  /** The least time between two sweeps, ms. */
  readonly everyMs: number;
  readonly admission: Pick<AdmissionMachine, "liveOf" | "giveUp" | "quiet">;
  readonly later: (delayMs: number, run: () => void) => void;
}

export class SilentMembers {
  readonly #options: SilentMembersOptions;
  readonly #silence: MemberSilence;
  /** What is to be done about the requests of a silent isolate once it is heard again. */
  readonly #awaited = new Map<string, (() => void)[]>();

  constructor(options: SilentMembersOptions) {
    this.#options = options;
    this.#silence = new MemberSilence(options.leaseMs, options.everyMs);
  }

  /** The isolate is alive. `leaseMs`: how long it keeps slots that it cannot renew; undefined: it needs no lease, or does not say. */
  heard(member: string, leaseMs: number | undefined): void {
    if (!this.#silence.heard(member, leaseMs)) return;
    const lapses = this.#awaited.get(member);
    this.#awaited.delete(member);
    for (const lapse of lapses ?? []) lapse();
  }

  /** Whether nothing was heard of the isolate for some seconds. */
  isQuiet(member: string): boolean {
    return this.#silence.isQuiet(member);
  }

  /**
   * The Cell's life as the isolate has to see it: another one after its slots were taken back, so that it asks again for what it still
   * takes to be its own.
   */
  lifeFor(member: string, life: string): string {
    const losses = this.#silence.takenBack(member);
    return losses === 0 ? life : `${life}/${losses}`;
  }

  /** Gives up the requests of silent isolates; call it when the interval has passed, and never earlier. */
  sweep(): void {
    const { admission } = this.#options;
    for (const member of this.#silence.pass()) {
      const held = admission.liveOf(member);
      if (held.length > 0) this.#silence.tookBack(member);
      const lapses: (() => void)[] = [];
      for (const entry of held) admission.giveUp(entry, (lapse) => lapses.push(lapse));
      this.#await(member, lapses);
    }
    for (const member of this.#silence.newlyQuiet()) admission.quiet(member);
  }

  /** The rows of its requests wait until it is heard: it may come back and ask again. */
  #await(member: string, lapses: readonly (() => void)[]): void {
    const all = [...(this.#awaited.get(member) ?? []), ...lapses];
    if (all.length === 0) return;
    this.#awaited.set(member, all);
    this.#options.later(AWAITED_MS, () => {
      if (this.#awaited.get(member) !== all) return;
      this.#awaited.delete(member);
      for (const lapse of all) lapse();
    });
  }
}
