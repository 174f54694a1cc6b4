/**
 * How long the isolates that a Cell knows have been silent (docs/rules/admission.md#leases-of-isolates). A machine that lost its
 * power, or is paused, closes no connection, so no session of it breaks. In a cluster each isolate with open requests asks for the
 * Cell's life (owner-watch.ts); one that was silent for longer than its lease has ended its requests itself, or is paused. No clock is
 * read: whole intervals of the Cell's own timer are counted, and then a margin.
 */
import { ADMISSION_PATIENCE_MAX_SECS } from "./holder-lease.ts";

const LEASE_MAX_MS = ADMISSION_PATIENCE_MAX_SECS * 1000;
/** How long a Cell waits beyond the lease before it takes slots back, ms. */
const REGRANT_MARGIN_MS = 5_000;
/** An isolate asks a few times in each second: after so many intervals without a message it may be cut off. */
const QUIET_INTERVALS = 2;

interface HeardMember {
  /** The interval in which it last reported. */
  heardAt: number;
  /** The longest lease that it has stated, and at least the Cell's own, ms. */
  leaseMs: number;
}

/** The Cell's port `Silence`. */
export class MemberSilence {
  readonly #leaseMs: number;
  readonly #everyMs: number;
  readonly #known = new Map<string, HeardMember>();
  #interval = 0;

  /**
   * `leaseMs`: the lease of an isolate that states none, or a shorter one. `everyMs`: the least time between two calls of
   * `pass`.
   */
  constructor(leaseMs: number, everyMs: number) {
    this.#leaseMs = leaseMs;
    this.#everyMs = everyMs;
  }

  /**
   * The longest lease of an isolate counts, because a message may be an old one; what no isolate can have counts as the longest
   * possible lease, or not at all.
   */
  heard(member: string, leaseMs?: number): boolean {
    const toldMs = leaseMs !== undefined && leaseMs > this.#leaseMs ? Math.min(leaseMs, LEASE_MAX_MS) : this.#leaseMs;
    const known = this.#known.get(member);
    this.#known.set(member, { heardAt: this.#interval, leaseMs: Math.max(known?.leaseMs ?? 0, toldMs) });
    return known === undefined;
  }

  isQuiet(member: string): boolean {
    const known = this.#known.get(member);
    return known !== undefined && this.#silentFor(known) >= QUIET_INTERVALS;
  }

  /** The interval of a report does not count: the isolate was silent in only a part of it. */
  pass(): { readonly quiet: readonly string[]; readonly gone: readonly string[] } {
    this.#interval += 1;
    const all = [...this.#known];
    const gone = all.filter(([, known]) => this.#silentFor(known) > this.#allowedFor(known)).map(([member]) => member);
    for (const member of gone) this.#known.delete(member);
    const quiet = all.filter(([, known]) => this.#silentFor(known) === QUIET_INTERVALS).map(([member]) => member);
    return { quiet, gone };
  }

  /** Intervals since the isolate reported. */
  #silentFor({ heardAt }: HeardMember): number {
    return this.#interval - heardAt;
  }

  /** Intervals of silence after which its slots are not taken back yet. */
  #allowedFor({ leaseMs }: HeardMember): number {
    return Math.ceil((leaseMs + REGRANT_MARGIN_MS) / this.#everyMs);
  }
}
