/**
 * The relay of a stream that reaches the client unchanged (docs/rules/streams.md#two-relays). Its bytes never pass through
 * JavaScript: they are piped natively from the first one on, and a copy is read now and then to find the usage. The pipe
 * rejects when the client is gone; the copy shows when the client takes nothing. Then the upstream call is ended, and the part
 * received so far is read.
 */

import { CUT_OFF } from "../../domain/wire/sse/events.ts";
import { releaseStack } from "../call/release-stack.ts";
import type { SharedTimer } from "../call/shared-timer.ts";
import { ClientWriter, writeStreamError } from "./client-writer.ts";
import { ObservedBody } from "./observed-body.ts";
import type { BodyEnd, RelayedBody, RelayJob } from "./relay-job.ts";

/**
 * Time before the first reading of the copy. What the copy holds uses memory, and reading it costs more than piping
 * many pieces.
 */
const LOOK_FIRST_MS = 200;
const LOOK_EVERY_MIN_MS = 20;
const LOOK_EVERY_MAX_MS = 1000;
/** Bytes that one reading of the copy should find. */
const LOOK_BYTES = 32 * 1024;
/** How often a client that has stalled is checked before it is cut off. */
const LOOKS_BEFORE_CUT = 4;
/**
 * When bytes are there for the client, this many single bytes are read one after another in less than this time, ms;
 * when it takes longer, they are only now coming.
 */
const THERE_BYTES = 8;
const THERE_MS = 250;
/** Of an answer that ended early, at most this much is read; a client that left has taken no more by then. */
const LEFT_MAX_BYTES = 64 * 1024 * 1024;

/** Starts piping. */
export function relayNative(job: RelayJob): RelayedBody {
  const { readable, writable } = new IdentityTransformStream();
  return { readable, ended: pipe(job, writable) };
}

async function pipe(job: RelayJob, writable: WritableStream<Uint8Array>): Promise<BodyEnd> {
  const copy = new ObservedBody(job.body);
  const isBegun = await writeHead(job, writable);
  // The writable stays open at both ends of the pipe, so that an in-band error can still be written. A pipe that waits
  // for its client does not notice that its upstream ended: the signal ends it, unless nothing is missing.
  const stop = new AbortController();
  const { signal } = job.cancellation;
  const end = (): void => {
    if (!job.cancellation.isFinished) stop.abort();
  };
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  const options = { preventAbort: true, preventClose: true, preventCancel: true, signal: stop.signal };
  const piped = !isBegun
    ? Promise.resolve(false)
    : copy.body.pipeTo(writable, options).then(
        () => true,
        () => false,
      );
  const looking = readCopyAtIntervals(job, copy, piped);
  const whole = await piped;
  if (!whole) await copy.cancelObservation();
  await looking;
  const client = new ClientWriter(job, writable.getWriter());
  try {
    return await conclude(job, copy, client, whole);
  } finally {
    client.release();
  }
}

/** Writes the read part of the body; the pipe needs the writable after it. False: the client has left. */
async function writeHead(job: RelayJob, writable: WritableStream<Uint8Array>): Promise<boolean> {
  if (job.head.byteLength === 0) return true;
  void observe(job, job.head);
  const writer = writable.getWriter();
  const client = new ClientWriter(job, writer);
  try {
    await client.write(job.head);
    return true;
  } catch {
    return false;
  } finally {
    client.release();
    writer.releaseLock();
  }
}

/** Reads the unread part of the copy, and ends the client's body. */
async function conclude(job: RelayJob, copy: ObservedBody, client: ClientWriter, piped: boolean): Promise<BodyEnd> {
  if (piped && (await copy.rest((bytes) => observe(job, bytes)))) {
    // The client has got everything: if it leaves now, before it sees the end, it has lost nothing.
    await client.close().catch(() => undefined);
    return job.cancellation.clientGone ? "gone" : "complete";
  }
  job.cancellation.abort();
  if (!piped) await copy.rest((bytes) => observe(job, bytes), LEFT_MAX_BYTES);
  if (job.isWhole() && !job.cancellation.clientGone) {
    await client.close().catch(() => undefined);
    return "complete";
  }
  // The client may have half an event.
  if (!job.cancellation.clientGone && (await writeStreamError(job, client, CUT_OFF))) return "broken";
  await client.abort();
  return "gone";
}

/** Reads the copy at intervals until the pipe has ended; cuts off a client that takes nothing. Never rejects. */
async function readCopyAtIntervals(job: RelayJob, copy: ObservedBody, piped: Promise<boolean>): Promise<void> {
  const { stalledReaderMs } = job;
  const everyMaxMs = stalledReaderMs === 0 ? LOOK_EVERY_MAX_MS : stalledReaderMs / LOOKS_BEFORE_CUT;
  let everyMs = Math.min(LOOK_FIRST_MS, everyMaxMs);
  /** Since when the client has left its waiting data unread, epoch ms. */
  let stalledSinceMs: number | null = null;
  const pausing = new Pausing(job.timer, piped);
  try {
    while (await pausing.pause(everyMs)) {
      const { foundBytes, left, ended } = await readCopy(job, copy);
      if (ended) {
        // The rest is on its way to the client, and the copy cannot show whether the client takes it.
        if (stalledReaderMs !== 0 && (await pausing.pause(stalledReaderMs))) job.cancellation.cutOffReader();
        return;
      }
      everyMs = Math.min(everyMsFor(foundBytes, everyMs), everyMaxMs);
      if (!left) stalledSinceMs = null;
      else stalledSinceMs ??= job.clock();
      if (stalledReaderMs === 0 || stalledSinceMs === null) continue;
      if (job.clock() - stalledSinceMs >= stalledReaderMs) return job.cancellation.cutOffReader();
    }
  } catch (error) {
    releaseStack(error);
    // The body broke off; the pipe rejects as well, once its client has taken the received part.
  }
}

/** Reads everything that the copy holds. `left`: data waits for the client that it does not take; `ended`: no more comes. */
async function readCopy(
  job: RelayJob,
  copy: ObservedBody,
): Promise<{ readonly foundBytes: number; readonly left: boolean; readonly ended: boolean }> {
  const startedMs = job.clock();
  let foundBytes = 0;
  for (let untaken = 0; untaken < THERE_BYTES; ) {
    job.cancellation.idle.begin();
    const found = await copy.observe().finally(() => job.cancellation.idle.done());
    if (found === null) return { foundBytes, left: false, ended: true };
    const turn = observe(job, found.bytes);
    if (turn !== undefined) await turn;
    foundBytes += found.bytes.byteLength;
    // A piece of one byte looks as if it was not taken. When the client really leaves bytes, more of them are there at
    // once.
    untaken = found.taken ? 0 : untaken + 1;
    if (untaken === 0 && !found.full) return { foundBytes, left: false, ended: false };
    if (untaken > 0 && job.clock() - startedMs >= THERE_MS) return { foundBytes, left: false, ended: false };
  }
  return { foundBytes, left: true, ended: false };
}

/** Pauses that end early when the pipe ends. */
class Pausing {
  readonly #waits: SharedTimer;
  #over = false;
  #wake: (() => void) | null = null;

  constructor(waits: SharedTimer, piped: Promise<boolean>) {
    this.#waits = waits;
    void piped.then(() => {
      this.#over = true;
      this.#wake?.();
    });
  }

  /** False when the pipe has ended. */
  async pause(ms: number): Promise<boolean> {
    if (this.#over) return false;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const callOff = this.#waits.after(ms, resolve);
    await promise;
    callOff();
    return !this.#over;
  }
}

/** After how long the copy will hold LOOK_BYTES, at the rate of the last `everyMs`. */
function everyMsFor(bytes: number, everyMs: number): number {
  return Math.min(Math.max((everyMs * LOOK_BYTES) / Math.max(bytes, 1), LOOK_EVERY_MIN_MS), LOOK_EVERY_MAX_MS);
}

/** Undefined: more can be observed in the same turn. */
function observe(job: RelayJob, bytes: Uint8Array): Promise<void> | undefined {
  if (bytes.byteLength === 0) return undefined;
  void job.onUpstream(bytes);
  job.onClient(bytes);
  return job.turns.after(bytes.byteLength);
}
