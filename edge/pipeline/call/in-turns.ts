/**
 * Work of a call that its client can make long, in turns (docs/rules/request-bodies.md#work): the requests of an isolate share
 * one thread, and time does not pass for code that waits for nothing, so that turns are measured in units of work.
 */
import type { Steps } from "../../../shared/steps.ts";
import { ClientGone } from "./client-gone.ts";
import type { Call } from "./context.ts";

/** The result of the work. Throws ClientGone when the client leaves meanwhile, or the call is interrupted. */
export async function inTurns<T>(call: Call, work: Steps<T>): Promise<T> {
  const { clock, sleep } = call.ports;
  const signal = call.isBeside === true ? null : call.request.signal;
  const { turns } = call.memory;
  let [room, units] = [turns.unitsOf(work), 0];
  try {
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      room -= step.value;
      units += step.value;
      if (room > 0) continue;
      for (let waitMs = -1; waitMs !== 0; ) {
        waitMs = turns.had(work, call.request, units, clock());
        await sleep(waitMs, signal ?? new AbortController().signal);
        if (signal?.aborted === true || call.interruption.failure !== null) throw new ClientGone();
      }
      room = turns.unitsOf(work);
    }
  } finally {
    turns.end(work);
  }
}
