/**
 * The client's side of a relay: how bytes are written, how the stream is closed, and how a break is reported in-band
 * (docs/rules/streams.md#broken-streams). A write ends when the client leaves, or when the client takes nothing for too
 * long (docs/rules/streams.md#stalled-readers).
 */
import { brokenStreamBody } from "../../../shared/errors.ts";
import { errorEvent } from "../../domain/wire/error-form.ts";
import { ClientGone } from "../call/client-gone.ts";
import { StallWatch } from "../call/stall-watch.ts";
import type { RelayJob } from "./relay-job.ts";

/** How long a client may take for the event that reports a break, regardless of its limit for the stream itself. */
const REPORT_WITHIN_MS = 60_000;

/** Ends a broken event stream with its in-band error, after `before`. False when the client does not get it. */
export async function writeStreamError(job: RelayJob, client: ClientWriter, before = ""): Promise<boolean> {
  if (!job.events) return false;
  client.limitWriteTime(REPORT_WITHIN_MS);
  try {
    const told = job.cancellation.interrupted?.body ?? brokenStreamBody(job.fault?.() ?? null);
    await client.write(errorEvent(told, job, before));
    await client.close();
    return true;
  } catch {
    return false;
  } finally {
    job.cancellation.abort();
  }
}

/**
 * Writes to the client. When a write fails, or the client leaves or is cut off while it is pending, the client counts as gone.
 * Any other end of the attempt ends a pending write too, with its own reason: the client is still there.
 */
export class ClientWriter {
  readonly #job: RelayJob;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #watch: StallWatch;
  #giveUp: ((reason: unknown) => void) | null = null;
  readonly #onEnd = (): void => {
    const { clientGone, isFinished, signal } = this.#job.cancellation;
    if (clientGone) this.#giveUp?.(new ClientGone());
    else if (!isFinished) this.#giveUp?.(signal.reason);
  };

  constructor(job: RelayJob, writer: WritableStreamDefaultWriter<Uint8Array>) {
    this.#job = job;
    this.#writer = writer;
    this.#watch = new StallWatch(job.timer, job.clock, job.stalledReaderMs, () => {
      job.cancellation.cutOffReader();
      this.#onEnd();
    });
    writer.closed.catch(() => undefined);
    for (const signal of [job.cancellation.signal, job.cancellation.client])
      signal.addEventListener("abort", this.#onEnd, { once: true });
  }

  /** Sets the longest time that the client may take for a write from now on, ms. */
  limitWriteTime(withinMs: number): void {
    this.#watch.tighten(withinMs);
  }

  /** Resolves once the client's connection has taken the bytes. Throws ClientGone, or why the attempt has ended. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#settledOrGone(this.#writer.write(bytes));
  }

  /** Writes the last bytes; only {@link close} may follow, which rejects when they have failed. */
  writeLast(bytes: Uint8Array): void {
    this.#writer.write(bytes).catch(() => undefined);
  }

  /** Throws what {@link write} throws. */
  async close(): Promise<void> {
    await this.#settledOrGone(this.#writer.close());
  }

  /** Breaks off the client's body. Never rejects. */
  async abort(): Promise<void> {
    await this.#writer.abort(new Error("relay ended")).catch(() => undefined);
  }

  /** Releases the writer: nothing more is written. */
  release(): void {
    this.#watch.end();
    this.#job.cancellation.signal.removeEventListener("abort", this.#onEnd);
    this.#job.cancellation.client.removeEventListener("abort", this.#onEnd);
  }

  async #settledOrGone(work: Promise<void>): Promise<void> {
    const { cancellation } = this.#job;
    this.#watch.begin();
    try {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.#giveUp = reject;
      work.then(resolve, () => reject(new ClientGone()));
      if (cancellation.clientGone) reject(new ClientGone());
      await promise;
    } finally {
      this.#watch.done();
      this.#giveUp = null;
    }
  }
}
