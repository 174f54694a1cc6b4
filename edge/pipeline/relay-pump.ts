/**
 * Bytes that pass through JavaScript on their way: bodies that are scanned whole, from which the usage event is withheld, or
 * that come in so many small pieces that to gather them costs less than to pipe each. Back-pressured: nothing is read before
 * the client has taken what came before. It always closes or aborts its writer (design §3 law 5 b).
 */
import { EventSieve } from "../domain/event-sieve.ts";
import { ClientGone } from "./context.ts";
import { GatheringIntake, type Intake, PlainIntake } from "./relay-intake.ts";
import type { BodyEnd, Relay, RelayJob } from "./relay-job.ts";
import { Outlet, tellBreak } from "./relay-outlet.ts";

/** What is done to the bytes. */
export interface Pumping {
  /** Null: nothing, they pass as they come. */
  readonly sieve: EventSieve | null;
  /** Asked after each piece: the rest is to be left where it is. */
  readonly enough: () => boolean;
}

/** Starts pumping; `begun` is the body when it has been read from before. */
export function relayPump(job: RelayJob, begun: Intake | null = null): Relay {
  const { readable, writable } = new IdentityTransformStream();
  const outlet = new Outlet(job, writable.getWriter());
  const intake = begun ?? (job.withholdUsage ? new GatheringIntake(job.body, job.clock) : new PlainIntake(job.body));
  // Whole events only: after half an event the in-band error of a break could not be read.
  const sieve = job.events ? new EventSieve(job.withholdUsage) : null;
  const ended = pump(job, intake, outlet, { sieve, enough: () => false });
  return { readable, ended: ended.then((end) => end ?? "complete").finally(() => outlet.release()) };
}

/** Moves the body to the client; null when it was told that it is enough. Never rejects. */
export async function pump(
  job: RelayJob,
  intake: Intake,
  outlet: Outlet,
  { sieve, enough }: Pumping,
): Promise<BodyEnd | null> {
  const write = async (bytes: Uint8Array): Promise<void> => {
    if (bytes.byteLength === 0) return;
    job.onClient(bytes);
    // Before the last piece there is nothing more to read, so that only the close is waited for.
    if (intake.over) outlet.writeLast(bytes);
    else await outlet.write(bytes);
  };
  try {
    for (let bytes = await intake.next(); bytes !== null; bytes = await intake.next()) {
      job.onUpstream(bytes);
      await write(sieve === null ? bytes : sieve.push(bytes));
      if (enough()) return null;
    }
    if (sieve !== null) await write(sieve.finish());
    await outlet.close();
    return "complete";
  } catch (error) {
    const gone = error instanceof ClientGone || job.stop.clientGone;
    // Without a sieve the client may hold half an event: blank lines end it, and are nothing to one who holds none.
    if (!gone && (await tellBreak(job, outlet, sieve === null ? "\n\n" : ""))) return "broken";
    job.stop.abort();
    await intake.cancel();
    await outlet.abort();
    return gone ? "gone" : "broken";
  }
}
