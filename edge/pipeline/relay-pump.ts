/**
 * The relay whose bytes pass through JavaScript: for bodies that are scanned whole or from which the usage event is
 * withheld. Back-pressured: nothing is read before the client has taken what came before. It always closes or aborts its
 * writer (design §3 law 5 b).
 */
import { errorBody } from "../../shared/errors.ts";
import { errorEvent, isUsageEvent, SseSplitter } from "../domain/sse.ts";
import { ClientGone } from "./context.ts";
import type { BodyEnd, Relay, RelayJob } from "./relay-job.ts";

/** Starts pumping. */
export function relayPump(job: RelayJob): Relay {
  const { readable, writable } = new IdentityTransformStream();
  return { readable, ended: pump(job, writable.getWriter()) };
}

async function pump(job: RelayJob, writer: WritableStreamDefaultWriter<Uint8Array>): Promise<BodyEnd> {
  const reader = job.body.getReader();
  // Whole events only: after half an event the in-band error of a break could not be read.
  const splitter = job.events ? new SseSplitter() : null;
  writer.closed.catch(() => undefined);
  const write = async (chunk: Uint8Array): Promise<void> => {
    if (chunk.byteLength === 0) return;
    job.onClient(chunk);
    await settledOrGone(writer.write(chunk), job);
  };
  const writeEvents = async (events: readonly Uint8Array[]): Promise<void> => {
    for (const event of events) if (!job.withholdUsage || !isUsageEvent(event)) await write(event);
  };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      job.onUpstream(value);
      if (splitter === null) await write(value);
      else await writeEvents(splitter.push(value));
    }
    if (splitter !== null) await writeEvents([splitter.finish()]);
    await settledOrGone(writer.close(), job);
    return "complete";
  } catch (error) {
    const gone = error instanceof ClientGone || job.stop.clientGone;
    if (!gone && (await tellBreak(job, writer))) return "broken";
    job.stop.abort();
    await reader.cancel().catch(() => undefined);
    await writer.abort(new Error("relay ended")).catch(() => undefined);
    return gone ? "gone" : "broken";
  }
}

/** Ends a broken event stream with its in-band error, after `before`. False when the client cannot be told. */
export async function tellBreak(
  job: RelayJob,
  writer: WritableStreamDefaultWriter<Uint8Array>,
  before = "",
): Promise<boolean> {
  if (!job.events) return false;
  try {
    await settledOrGone(writer.write(errorEvent(errorBody("upstream_stream_error"), before)), job);
    await settledOrGone(writer.close(), job);
    return true;
  } catch {
    return false;
  } finally {
    job.stop.abort();
  }
}

/** A write that fails, or a client that leaves while it is pending, is a client gone. */
async function settledOrGone(work: Promise<void>, job: RelayJob): Promise<void> {
  const left = Promise.withResolvers<never>();
  const leave = (): void => left.reject(new ClientGone());
  if (job.stop.signal.aborted && job.stop.clientGone) leave();
  job.stop.signal.addEventListener("abort", leave, { once: true });
  work.catch(() => undefined);
  try {
    await Promise.race([work, left.promise]);
  } catch {
    throw new ClientGone();
  } finally {
    job.stop.signal.removeEventListener("abort", leave);
  }
}
