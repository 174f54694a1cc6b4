/**
 * The client's end of a relay: what is written, how it is closed, and how a break is told in-band (decisions §22.6). A write
 * never outlives its client.
 */
import { errorBody } from "../../shared/errors.ts";
import { errorEvent } from "../domain/sse.ts";
import { ClientGone } from "./context.ts";
import type { RelayJob } from "./relay-job.ts";

/** Ends a broken event stream with its in-band error, after `before`. False when the client cannot be told. */
export async function tellBreak(job: RelayJob, outlet: Outlet, before = ""): Promise<boolean> {
  if (!job.events) return false;
  try {
    await outlet.write(errorEvent(errorBody("upstream_stream_error"), before));
    await outlet.close();
    return true;
  } catch {
    return false;
  } finally {
    job.stop.abort();
  }
}

/** The way to the client. A write that fails, or a client that leaves while it is pending, is a client gone. */
export class Outlet {
  readonly #job: RelayJob;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #giveUp: ((reason: ClientGone) => void) | null = null;
  readonly #onAbort = (): void => {
    this.#giveUp?.(new ClientGone());
  };

  constructor(job: RelayJob, writer: WritableStreamDefaultWriter<Uint8Array>) {
    this.#job = job;
    this.#writer = writer;
    writer.closed.catch(() => undefined);
    job.stop.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Resolves once the client's connection has taken the bytes. Throws ClientGone. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#settledOrGone(this.#writer.write(bytes));
  }

  /** Writes bytes that only {@link close} follows: it tells when they have failed. */
  writeLast(bytes: Uint8Array): void {
    this.#writer.write(bytes).catch(() => undefined);
  }

  /** Throws ClientGone. */
  async close(): Promise<void> {
    await this.#settledOrGone(this.#writer.close());
  }

  /** Breaks the client's body off. Never rejects. */
  async abort(): Promise<void> {
    await this.#writer.abort(new Error("relay ended")).catch(() => undefined);
  }

  /** Leaves the way to another writer, who goes on where this one ended. */
  leave(): void {
    this.release();
    this.#writer.releaseLock();
  }

  /** Nothing more is written. */
  release(): void {
    this.#job.stop.signal.removeEventListener("abort", this.#onAbort);
  }

  async #settledOrGone(work: Promise<void>): Promise<void> {
    const { stop } = this.#job;
    await new Promise<void>((resolve, reject) => {
      this.#giveUp = reject;
      work.then(resolve, () => reject(new ClientGone()));
      if (stop.signal.aborted && stop.clientGone) reject(new ClientGone());
    });
    this.#giveUp = null;
  }
}
