/**
 * Decides which failures of a part are logged, so that an outage takes a few lines, however often the part is called: its first
 * failure, then one line a minute while it lasts, and one when the part answers again. A part that answers some calls and fails
 * others is still failing. Pure; time is an argument.
 */

const LINE_EVERY_MS = 60_000;
/** A part answers again when its last failure is this long ago. */
const QUIET_MS = 5_000;

/** What a line says of an outage: its failures, and how long it has lasted from the first to the last of them. */
export interface OutageFacts {
  readonly failures: number;
  readonly for_secs: number;
}

export class OutageLines {
  #failures = 0;
  #sinceMs = 0;
  #lineMs = 0;
  #failedMs = 0;

  /** Counts a failure; null: no line is due. */
  failed(nowMs: number): OutageFacts | null {
    const isFirst = this.#failures === 0;
    if (isFirst) this.#sinceMs = nowMs;
    this.#failures += 1;
    this.#failedMs = nowMs;
    if (!isFirst && nowMs - this.#lineMs < LINE_EVERY_MS) return null;
    this.#lineMs = nowMs;
    return this.#facts();
  }

  /** Notes an answer; null: no line is due. */
  answered(nowMs: number): OutageFacts | null {
    if (this.#failures === 0 || nowMs - this.#failedMs < QUIET_MS) return null;
    const facts = this.#facts();
    this.#failures = 0;
    return facts;
  }

  #facts(): OutageFacts {
    return { failures: this.#failures, for_secs: Math.round((this.#failedMs - this.#sinceMs) / 1_000) };
  }
}
