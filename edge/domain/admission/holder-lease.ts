/**
 * The lease under which an isolate holds slots of a Cell in a cluster (docs/rules/admission.md#leases-of-isolates). Pure, and
 * without any clock: the runtime's clock is the machine's, which may be set; only its timers are steady. So a lease is a timer
 * that was started before a question was sent which the Cell has answered since, and the Cell counts the intervals between its
 * own timers. Invariant: a holder ends its requests before its Cell gives their slots to others, because the holder counts from
 * a moment before the Cell heard it, and the Cell counts only time that has surely passed, and `REGRANT_MARGIN_MS` more.
 */

/**
 * The longest time for which a request may wait for an owner of its Cell, s: longer than any takeover, and short enough that clients
 * have not given up. No lease is longer.
 */
export const ADMISSION_PATIENCE_MAX_SECS = 300;
const LEASE_MAX_MS = ADMISSION_PATIENCE_MAX_SECS * 1000;
/** A lease is never shorter, ms: a question takes a moment to be answered. */
const LEASE_MIN_MS = 5_000;
/** What a Cell waits beyond the lease before it takes slots back, ms. */
const REGRANT_MARGIN_MS = 5_000;

/** How long an isolate may keep slots since it last reached their Cell, ms. `patienceMs`: how long a request waits for an owner. */
export function holderLeaseMs(patienceMs: number): number {
  return Math.max(patienceMs, LEASE_MIN_MS);
}

/** The questions of an isolate to a Cell, numbered from 1 in the order in which they are sent. */
interface Questions {
  /** How many were sent. */
  readonly asked: number;
  /** The last one that was answered; 0: none. */
  readonly answered: number;
}

/** Timers of the runtime, in the context of the caller. */
export interface LeaseTimers<Timer> {
  start(ms: number, run: () => void): Timer;
  cancel(timer: Timer): void;
}

interface Deadline<Timer> {
  readonly timer: Timer;
  /** How many questions were sent when it was started. */
  readonly asked: number;
}

/**
 * The lease of one request: of its slot, or its place in the queue. Up to two deadlines run. The first one counts; the second one
 * replaces it, and a new second one starts, as soon as a question is answered that was sent after the second one was started.
 */
export class HolderLease<Timer> {
  readonly #leaseMs: number;
  readonly #questions: Questions;
  readonly #timers: LeaseTimers<Timer>;
  #current: Deadline<Timer>;
  #next: Deadline<Timer> | null = null;
  #state: "held" | "ended" | "released" = "held";
  #onEnd: () => void = () => undefined;

  /** Begin it before the request is sent to the Cell. */
  constructor(leaseMs: number, questions: Questions, timers: LeaseTimers<Timer>) {
    this.#leaseMs = leaseMs;
    this.#questions = questions;
    this.#timers = timers;
    this.#current = this.#start();
  }

  /** The slot may be another's: nothing may be done with it any more. */
  get hasEnded(): boolean {
    return this.#state === "ended";
  }

  /** Calls `run` when it ends, at once when it has ended before. */
  atEnd(run: () => void): void {
    if (this.hasEnded) run();
    else this.#onEnd = run;
  }

  /** Looks at the answers; call it a few times in each second. */
  renew(): void {
    if (this.#state !== "held") return;
    if (this.#next !== null) {
      if (this.#questions.answered <= this.#next.asked) return;
      this.#timers.cancel(this.#current.timer);
      this.#current = this.#next;
    }
    this.#next = this.#start();
  }

  /** The slot was given back, or the place left. */
  release(): void {
    if (this.#state === "held") this.#over("released");
  }

  #start(): Deadline<Timer> {
    return { timer: this.#timers.start(this.#leaseMs, () => this.#end()), asked: this.#questions.asked };
  }

  #end(): void {
    if (this.#state !== "held") return;
    this.#over("ended");
    this.#onEnd();
  }

  #over(state: "ended" | "released"): void {
    this.#state = state;
    this.#timers.cancel(this.#current.timer);
    if (this.#next !== null) this.#timers.cancel(this.#next.timer);
  }
}

/** An isolate asks a few times in each second: after so many intervals without a message it may be cut off. */
const QUIET_INTERVALS = 2;

interface HeardMember {
  /** The interval in which it was heard last. */
  heardAt: number;
  /** The longest lease that it has told of, and the Cell's own at least, ms. */
  leaseMs: number;
}

/** How long the isolates that a Cell knows have been silent, counted in intervals of the Cell's own timer. */
export class MemberSilence {
  readonly #leaseMs: number;
  readonly #everyMs: number;
  readonly #known = new Map<string, HeardMember>();
  readonly #takenBack = new Map<string, number>();
  #interval = 0;

  /** `leaseMs`: the lease of an isolate that tells of none, or of a shorter one. `everyMs`: the least time between two calls of `pass`. */
  constructor(leaseMs: number, everyMs: number) {
    this.#leaseMs = leaseMs;
    this.#everyMs = everyMs;
  }

  /**
   * A message of the isolate has arrived. True: it was unknown, or taken to be silent. `leaseMs`: how long it keeps slots that it
   * cannot renew, as it says; undefined: it does not say. The longest of its leases counts, because a message may be an old one; what
   * no isolate can have counts as the longest possible lease, or not at all.
   */
  heard(holder: string, leaseMs?: number): boolean {
    const toldMs = leaseMs !== undefined && leaseMs > this.#leaseMs ? Math.min(leaseMs, LEASE_MAX_MS) : this.#leaseMs;
    const known = this.#known.get(holder);
    if (known === undefined) {
      this.#known.set(holder, { heardAt: this.#interval, leaseMs: toldMs });
      return true;
    }
    known.heardAt = this.#interval;
    known.leaseMs = Math.max(known.leaseMs, toldMs);
    return false;
  }

  /** Whether the isolate may be cut off: a slot that it gets now may be used by nobody until it is taken back. */
  isQuiet(holder: string): boolean {
    return this.#silentFor(this.#known.get(holder)) >= QUIET_INTERVALS;
  }

  /**
   * An interval has passed. Returns the isolates that are taken to be silent now, and forgets them. The interval in which one was
   * heard does not count: only a part of it was silent.
   */
  pass(): readonly string[] {
    this.#interval += 1;
    const silent = [...this.#known].filter(([, known]) => this.#silentFor(known) > this.#allowedFor(known));
    for (const [holder] of silent) this.#known.delete(holder);
    return silent.map(([holder]) => holder);
  }

  /** The isolates that have become quiet with the last interval. */
  newlyQuiet(): ReadonlySet<string> {
    const quiet = [...this.#known].filter(([, known]) => this.#silentFor(known) === QUIET_INTERVALS);
    return new Set(quiet.map(([holder]) => holder));
  }

  /** Intervals since the isolate was heard. */
  #silentFor(known: HeardMember | undefined): number {
    return known === undefined ? 0 : this.#interval - known.heardAt;
  }

  /** Intervals of silence after which its slots are not taken back yet. */
  #allowedFor({ leaseMs }: HeardMember): number {
    return Math.ceil((leaseMs + REGRANT_MARGIN_MS) / this.#everyMs);
  }

  /** Slots of the isolate were taken back. */
  tookBack(holder: string): void {
    this.#takenBack.set(holder, this.takenBack(holder) + 1);
    const [oldest = holder] = this.#takenBack.keys();
    if (this.#takenBack.size > KNOWN_MAX) this.#takenBack.delete(oldest);
  }

  /** How often slots of the isolate were taken back: it has to know that it lost them. */
  takenBack(holder: string): number {
    return this.#takenBack.get(holder) ?? 0;
  }
}

/** Isolates whose losses are remembered; one that was forgotten has not been heard since many others were lost. */
const KNOWN_MAX = 1_000;
