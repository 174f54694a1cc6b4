/**
 * The relay of a stream that is the client's as it is (design §3 law 5 a). Its first pieces tell how it comes: while they come
 * fast it is gathered, which takes fewer writes than a pipe; once it is calm its bytes never pass through JavaScript any
 * more: a tee, one branch piped natively, the other drained now and then for the usage report. The pipe's rejection tells
 * that the client is gone; then the other branch is cancelled, or the upstream would run on.
 */

import { GatheringIntake } from "./relay-intake.ts";
import type { BodyEnd, Relay, RelayJob } from "./relay-job.ts";
import { Outlet, tellBreak } from "./relay-outlet.ts";
import { pump } from "./relay-pump.ts";

/** How long the branch is left alone: what it holds is memory, and to look at it costs more than to pipe many pieces. */
const DRAIN_FIRST_MS = 500;
const DRAIN_EVERY_MIN_MS = 200;
const DRAIN_EVERY_MAX_MS = 2000;
/** What a drain should find. */
const DRAIN_BYTES = 16 * 1024;
const DRAIN_MIN_BYTES = 4 * 1024;
const REST_BYTES = 32 * 1024;
const DRAIN_MAX_BYTES = 1024 * 1024;

/** After so many calm reads in a row a stream is piped; a single one may be its end. */
const CALM_READS = 2;

/** Starts with the first pieces: they tell whether the stream is one to pipe or one to gather. */
export function relayNative(job: RelayJob): Relay {
  const { readable, writable } = new IdentityTransformStream();
  return { readable, ended: begin(job, writable) };
}

/** Gathers the stream while it comes fast, to its end if it never turns calm; never goes back from the pipe. */
async function begin(job: RelayJob, writable: WritableStream<Uint8Array>): Promise<BodyEnd> {
  const intake = new GatheringIntake(job.body, job.clock);
  const outlet = new Outlet(job, writable.getWriter());
  const end = await pump(job, intake, outlet, { sieve: null, enough: () => intake.calm >= CALM_READS });
  if (end !== null) {
    outlet.release();
    return end;
  }
  outlet.leave();
  return await pipe(job, intake.release(), writable);
}

async function pipe(
  job: RelayJob,
  body: ReadableStream<Uint8Array>,
  writable: WritableStream<Uint8Array>,
): Promise<BodyEnd> {
  const [toClient, toScan] = body.tee();
  // The writable stays open at both ends of the pipe, so that an in-band error can still be written.
  const piped = toClient.pipeTo(writable, { preventAbort: true, preventClose: true }).then(
    () => true,
    () => false,
  );
  return await carry(job, toScan, piped, writable);
}

async function carry(
  job: RelayJob,
  toScan: ReadableStream<Uint8Array>,
  piped: Promise<boolean>,
  writable: WritableStream<Uint8Array>,
): Promise<BodyEnd> {
  const reader = toScan.getReader({ mode: "byob" });
  const drained = drain(job, reader, piped);
  const whole = await piped;
  if (!whole) await reader.cancel().catch(() => undefined);
  await drained;
  const outlet = new Outlet(job, writable.getWriter());
  try {
    if (whole && (await takeRest(job, reader))) {
      await outlet.close().catch(() => undefined);
      return job.stop.clientGone ? "gone" : "complete";
    }
    // The client may hold half an event: blank lines end it, and are nothing to one who holds none.
    if (!job.stop.clientGone && (await tellBreak(job, outlet, "\n\n"))) return "broken";
    job.stop.abort();
    await outlet.abort();
    return "gone";
  } finally {
    outlet.release();
  }
}

/** Reads the scan branch now and then until the pipe has ended. Never rejects. */
async function drain(job: RelayJob, reader: ReadableStreamBYOBReader, piped: Promise<boolean>): Promise<void> {
  let size = DRAIN_MIN_BYTES;
  let everyMs = DRAIN_FIRST_MS;
  let paused = false;
  let found = 0;
  let over = false;
  let wake: (() => void) | null = null;
  void piped.then(() => {
    over = true;
    wake?.();
  });
  /** A while, or until the pipe has ended. */
  const pause = async (ms: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
  };
  try {
    while (!over) {
      const { done, value } = await reader.read(new Uint8Array(size));
      if (done) return;
      tell(job, value);
      found += value.byteLength;
      if (value.byteLength === size) {
        size = Math.min(size * 2, DRAIN_MAX_BYTES);
        continue;
      }
      if (paused) everyMs = everyMsFor(found, everyMs);
      found = 0;
      paused = true;
      if (!over) await pause(everyMs);
    }
  } catch {
    // It broke off; the pipe tells.
  }
}

/** When the branch will hold what a drain should find, as it has filled within the last `everyMs`. */
function everyMsFor(bytes: number, everyMs: number): number {
  return Math.min(Math.max((everyMs * DRAIN_BYTES) / Math.max(bytes, 1), DRAIN_EVERY_MIN_MS), DRAIN_EVERY_MAX_MS);
}

/** What came since the last drain, all of it. False when the branch broke off. */
async function takeRest(job: RelayJob, reader: ReadableStreamBYOBReader): Promise<boolean> {
  try {
    for (let size = REST_BYTES; ; size = Math.min(size * 2, DRAIN_MAX_BYTES)) {
      const { value } = await reader.readAtLeast(size, new Uint8Array(size));
      if (value !== undefined) tell(job, value);
      // Nothing more will come: less than was asked for is the end.
      if (value === undefined || value.byteLength < size) return true;
    }
  } catch {
    return false;
  }
}

function tell(job: RelayJob, bytes: Uint8Array): void {
  if (bytes.byteLength === 0) return;
  job.onUpstream(bytes);
  job.onClient(bytes);
}
