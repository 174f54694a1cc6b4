/**
 * Bytes that pass through JavaScript on their way: bodies that are scanned whole, or from which the usage event is withheld.
 * Back-pressured: nothing is read before the client has taken what came before. It always closes or aborts its writer
 * (design §3 law 5 b).
 */
import { SseFilter } from "../../domain/sse/sse-filter.ts";
import { ClientGone } from "../call/context.ts";
import { BatchingBodyReader, type BodyReader, PlainBodyReader } from "./body-reader.ts";
import { ClientWriter, writeStreamError } from "./client-writer.ts";
import type { BodyEnd, RelayedBody, RelayJob } from "./relay-job.ts";

/** Starts pumping; `begun` is the body when it has been read from before. */
export function relayPump(job: RelayJob, begun: BodyReader | null = null): RelayedBody {
  const { readable, writable } = new IdentityTransformStream();
  const outlet = new ClientWriter(job, writable.getWriter());
  const intake =
    begun ?? (job.withholdUsage ? new BatchingBodyReader(job.body, job.clock) : new PlainBodyReader(job.body));
  // Whole events only: after half an event the in-band error of a break could not be read.
  const sieve = job.events ? new SseFilter(job.withholdUsage) : null;
  return { readable, ended: pump(job, intake, outlet, sieve).finally(() => outlet.release()) };
}

/** Moves the body to the client. Never rejects. */
async function pump(
  job: RelayJob,
  intake: BodyReader,
  outlet: ClientWriter,
  sieve: SseFilter | null,
): Promise<BodyEnd> {
  const write = async (bytes: Uint8Array): Promise<void> => {
    if (bytes.byteLength === 0) return;
    job.onClient(bytes);
    // Before the last piece there is nothing more to read, so that only the close is waited for.
    if (intake.ended) outlet.writeLast(bytes);
    else await outlet.write(bytes);
  };
  try {
    for (let bytes = await intake.next(); bytes !== null; bytes = await intake.next()) {
      job.onUpstream(bytes);
      await write(sieve === null ? bytes : sieve.push(bytes));
    }
    if (sieve !== null) await write(sieve.finish());
    await outlet.close();
    return "complete";
  } catch (error) {
    const gone = error instanceof ClientGone || job.stop.clientGone;
    if (!gone && (await writeStreamError(job, outlet))) return "broken";
    job.stop.abort();
    await intake.cancel();
    await outlet.abort();
    return gone ? "gone" : "broken";
  }
}
