/**
 * The lease under which a request holds a slot of a Cell in a cluster (docs/rules/admission.md#leases-of-isolates). Pure, and
 * without any clock: the runtime's clock is the machine's, which may be set; only its timers are steady. So a lease is a timer
 * that was started before a question was sent, and the Cell has answered that question since. Invariant: a holder ends its
 * requests before its Cell gives their slots to others (member-silence.ts), because it counts from a moment before the Cell
 * received the question.
 */

/**
 * The longest time for which a request may wait for an owner of its Cell, s: longer than any takeover, and short enough that clients
 * have not given up. No lease is longer.
 */
export const ADMISSION_PATIENCE_MAX_SECS = 300;
/** A lease is never shorter, ms: a question takes a moment to be answered. */
const LEASE_MIN_MS = 5_000;

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

/** Starts a timer, and returns what cancels it. */
type After = (ms: number, run: () => void) => () => void;

interface Deadline {
  readonly cancel: () => void;
  /** How many questions were sent when it was started. */
  readonly asked: number;
}

/**
 * The lease of one request: of its slot, or its place in the queue. Up to two deadlines run. The first one counts; the second one
 * replaces it, and a new second one starts, as soon as a question is answered that was sent after the second one was started.
 */
export class HolderLease {
  readonly #leaseMs: number;
  readonly #questions: Questions;
  readonly #after: After;
  readonly #onEnd: () => void;
  #current: Deadline;
  #next: Deadline | null = null;
  #state: "held" | "ended" | "released" = "held";

  /** Start it before the request is sent to the Cell. */
  constructor(leaseMs: number, questions: Questions, after: After, onEnd: () => void) {
    this.#leaseMs = leaseMs;
    this.#questions = questions;
    this.#after = after;
    this.#onEnd = onEnd;
    this.#current = this.#start();
  }

  /** The slot may be another's: nothing may be done with it any more. */
  get hasEnded(): boolean {
    return this.#state === "ended";
  }

  /** Looks at the answers; call it a few times in each second. */
  renew(): void {
    if (this.#state !== "held") return;
    if (this.#next !== null) {
      if (this.#questions.answered <= this.#next.asked) return;
      this.#current.cancel();
      this.#current = this.#next;
    }
    this.#next = this.#start();
  }

  /** The slot was returned, or the place left. */
  release(): void {
    if (this.#state === "held") this.#over("released");
  }

  #start(): Deadline {
    return { cancel: this.#after(this.#leaseMs, () => this.#end()), asked: this.#questions.asked };
  }

  #end(): void {
    if (this.#state !== "held") return;
    this.#over("ended");
    this.#onEnd();
  }

  #over(state: "ended" | "released"): void {
    this.#state = state;
    this.#current.cancel();
    this.#next?.cancel();
  }
}
