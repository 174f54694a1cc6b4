/**
 * The lease under which an isolate holds slots of a Cell in a cluster (docs/rules/admission.md#leases-of-isolates). Pure, and
 * without any clock: the runtime's clock is the machine's, which may be set; only its timers are steady. So a lease is a timer
 * that was started before a question was sent which the Cell has answered since, and the Cell counts the intervals between its
 * own timers. Invariant: a holder ends its requests before its Cell gives their slots to others, because the holder counts from
 * a moment before the Cell heard it, and the Cell counts only time that has surely passed, and `REGRANT_MARGIN_MS` more.
 */

/** A lease is never shorter, ms: a question takes a moment to be answered. */
const LEASE_MIN_MS = 5_000;
/** What a Cell waits beyond the lease before it takes slots back, ms. */
const REGRANT_MARGIN_MS = 5_000;
/** How long an isolate may keep slots since it last reached their Cell, ms. `patienceMs`: how long a request waits for an owner. */
export function holderLeaseMs(patienceMs: number): number {
  return Math.max(patienceMs, LEASE_MIN_MS);
}

/** After how much silence of an isolate its Cell takes slots back, ms. */
export function regrantAfterMs(patienceMs: number): number {
  return holderLeaseMs(patienceMs) + REGRANT_MARGIN_MS;
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

/** How long the isolates that a Cell knows have been silent, counted in intervals of the Cell's own timer. */
export class HolderSilence {
  readonly #intervals: number;
  readonly #heardAt = new Map<string, number>();
  readonly #takenBack = new Map<string, number>();
  #interval = 0;

  /** `everyMs`: the least time between two calls of `pass`. */
  constructor(silentMs: number, everyMs: number) {
    this.#intervals = Math.ceil(silentMs / everyMs);
  }

  /** A message of the isolate has arrived. True: it was unknown, or taken to be silent. */
  heard(holder: string): boolean {
    const isNew = !this.#heardAt.has(holder);
    this.#heardAt.set(holder, this.#interval);
    return isNew;
  }

  /** Whether the isolate may be cut off: a slot that it gets now may be used by nobody until it is taken back. */
  isQuiet(holder: string): boolean {
    return this.#interval - (this.#heardAt.get(holder) ?? this.#interval) >= QUIET_INTERVALS;
  }

  /**
   * An interval has passed. Returns the isolates that are taken to be silent now, and forgets them. The interval in which one was
   * heard does not count: only a part of it was silent.
   */
  pass(): readonly string[] {
    this.#interval += 1;
    const silent = [...this.#heardAt].filter(([, heardAt]) => this.#interval - heardAt > this.#intervals);
    for (const [holder] of silent) this.#heardAt.delete(holder);
    return silent.map(([holder]) => holder);
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
