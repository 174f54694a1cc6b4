/**
 * The relay whose bytes never pass through JavaScript on their way to the client: a tee, one branch piped natively, the
 * other drained a few times a second for the usage report (design §3 law 5 a). The pipe's rejection tells that the client
 * is gone; then the other branch is cancelled, or the upstream would run on.
 */

import type { BodyEnd, Relay, RelayJob } from "./relay-job.ts";
import { tellBreak } from "./relay-pump.ts";

const DRAIN_EVERY_MS = 200;
const DRAIN_MIN_BYTES = 64 * 1024;
const DRAIN_MAX_BYTES = 1024 * 1024;

/** Starts the pipe and the drain. */
export function relayNative(job: RelayJob): Relay {
  const [toClient, toScan] = job.body.tee();
  const { readable, writable } = new IdentityTransformStream();
  // The writable stays open at both ends of the pipe, so that an in-band error can still be written.
  const piped = toClient.pipeTo(writable, { preventAbort: true, preventClose: true }).then(
    () => true,
    () => false,
  );
  return { readable, ended: carry(job, toScan.getReader({ mode: "byob" }), piped, writable) };
}

async function carry(
  job: RelayJob,
  reader: ReadableStreamBYOBReader,
  piped: Promise<boolean>,
  writable: WritableStream<Uint8Array>,
): Promise<BodyEnd> {
  const drained = drain(job, reader, piped);
  const whole = await piped;
  if (!whole) await reader.cancel().catch(() => undefined);
  const sourceEnded = await drained;
  const writer = writable.getWriter();
  writer.closed.catch(() => undefined);
  if (whole && sourceEnded) {
    await writer.close().catch(() => undefined);
    return job.stop.clientGone ? "gone" : "complete";
  }
  // The client may hold half an event: blank lines end it, and are nothing to one who holds none.
  if (!job.stop.clientGone && (await tellBreak(job, writer, "\n\n"))) return "broken";
  job.stop.abort();
  await writer.abort(new Error("relay ended")).catch(() => undefined);
  return "gone";
}

/** Reads the scan branch until it ends. True when it ended as a whole body does. */
async function drain(job: RelayJob, reader: ReadableStreamBYOBReader, piped: Promise<boolean>): Promise<boolean> {
  let size = DRAIN_MIN_BYTES;
  let over = false;
  void piped.then(() => {
    over = true;
  });
  try {
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(size));
      if (value !== undefined && value.byteLength > 0) {
        job.onUpstream(value);
        job.onClient(value);
      }
      if (done) return true;
      if (value.byteLength === size) size = Math.min(size * 2, DRAIN_MAX_BYTES);
      else if (!over) await Promise.race([piped, scheduler.wait(DRAIN_EVERY_MS)]);
    }
  } catch {
    return false;
  }
}
