/**
 * Work of a call that its client can make long, in turns (docs/rules/request-bodies.md#work): the requests of an isolate share
 * one thread, and time does not pass for code that waits for nothing, so that turns are measured in units of work.
 */
import type { Steps } from "../../../shared/steps.ts";
import { ClientGone } from "./client-gone.ts";
import type { Call } from "./context.ts";

/** The work of one turn, in units; several calls that work share it. */
const TURN_UNITS = 32 * 1024;
const TURN_UNITS_MIN = 1024;
/** A call that has had no turn for so long has ended without notice. */
const FORGOTTEN_AFTER_MS = 10_000;

/** The work of an isolate that is done in turns, and when each part of it had its last one, epoch ms. */
export class Turns {
  readonly #lastMs = new Map<object, number>();

  /** How long a turn of this work may be, in units: whoever waits for the turns of all waits about as long as for one. */
  unitsOf(work: object): number {
    const sharing = this.#lastMs.size + (this.#lastMs.has(work) ? 0 : 1);
    return Math.max(TURN_UNITS / sharing, TURN_UNITS_MIN);
  }

  had(work: object, nowMs: number): void {
    // those that had their turn last come last
    this.#lastMs.delete(work);
    for (const [other, lastMs] of this.#lastMs) {
      if (nowMs - lastMs < FORGOTTEN_AFTER_MS) break;
      this.#lastMs.delete(other);
    }
    this.#lastMs.set(work, nowMs);
  }

  end(work: object): void {
    this.#lastMs.delete(work);
  }
}

/** The result of the work. Throws ClientGone when the client leaves meanwhile, or the call is interrupted. */
export async function inTurns<T>(call: Call, work: Steps<T>): Promise<T> {
  const { clock, sleep } = call.ports;
  const { signal } = call.request;
  const { turns } = call.memory;
  let room = turns.unitsOf(work);
  try {
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      room -= step.value;
      if (room > 0) continue;
      turns.had(work, clock());
      await sleep(0, signal);
      if (signal.aborted || call.interruption.failure !== null) throw new ClientGone();
      room = turns.unitsOf(work);
    }
  } finally {
    turns.end(work);
  }
}
