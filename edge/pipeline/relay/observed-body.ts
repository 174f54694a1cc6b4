/**
 * Observes a body that is piped natively, by copies that are read now and then. They also show whether the client takes bytes,
 * which the pipe does not show.
 *
 * A copy holds what the pipe has taken and was not read yet; a read of an empty copy would take bytes from the upstream
 * itself. To avoid that, each observation first reads a single byte of one copy: then the other copy holds that byte,
 * and everything that the pipe has taken since the last observation. When that byte is all, it is the observation's
 * own, and the pipe has taken nothing. Invariant: both copies have been read equally far.
 */
import { releaseStack } from "../call/release-stack.ts";

/** Most bytes of one observation. */
const LOOK_MAX_BYTES = 128 * 1024;
const LOOK_MIN_BYTES = 4 * 1024;
const PASS_BYTES = 64 * 1024;
const REST_BYTES = 32 * 1024;

/** The result of one observation. */
interface Observation {
  readonly bytes: Uint8Array;
  /** Whether the pipe has taken something since the last observation. */
  readonly taken: boolean;
  /** Whether there may be more to read at once. */
  readonly full: boolean;
}

export class ObservedBody {
  /** The bytes for the client. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #unread: ReadableStream<Uint8Array>;
  #copy: ReadableStreamBYOBReader | null = null;
  /** The other copy; made at the first observation, because many streams end before it. */
  #probe: ReadableStreamBYOBReader | null = null;
  #size = LOOK_MIN_BYTES;

  constructor(body: ReadableStream<Uint8Array>) {
    [this.body, this.#unread] = body.tee();
  }

  /** Waits until the upstream has sent something more. Null at the end; rejects when the body breaks off. */
  async observe(): Promise<Observation | null> {
    const { probe, copy } = this.#readers();
    const { done } = await probe.read(new Uint8Array(1));
    if (done) return null;
    const { done: isOver, value } = await copy.read(new Uint8Array(this.#size));
    if (isOver) return null;
    await passOver(probe, value.byteLength - 1);
    const full = value.byteLength === this.#size;
    if (full) this.#size = Math.min(this.#size * 2, LOOK_MAX_BYTES);
    return { bytes: value, taken: value.byteLength > 1, full };
  }

  /**
   * What no observation has read, up to `maxBytes`, of a body that has ended or whose upstream call has ended; each
   * piece is valid until `onBytes` has ended. False when there was more, or when the body broke off. Never rejects.
   */
  async rest(
    onBytes: (bytes: Uint8Array) => Promise<void> | undefined,
    maxBytes = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    const copy = this.#reader();
    try {
      let buffer = new ArrayBuffer(REST_BYTES);
      for (let found = 0; found < maxBytes; ) {
        const { done, value } = await copy.read(new Uint8Array(buffer));
        if (done) return true;
        const turn = onBytes(value);
        if (turn !== undefined) await turn;
        found += value.byteLength;
        const full = value.byteLength === value.buffer.byteLength;
        buffer = full ? new ArrayBuffer(Math.min(2 * value.byteLength, LOOK_MAX_BYTES)) : value.buffer;
      }
      return false;
    } catch (error) {
      releaseStack(error);
      return false;
    } finally {
      await this.#cancel();
    }
  }

  /** Ends an observation that waits. Never rejects. */
  async cancelObservation(): Promise<void> {
    await this.#probe?.cancel().catch(() => undefined);
  }

  async #cancel(): Promise<void> {
    await this.cancelObservation();
    await this.#copy?.cancel().catch(() => undefined);
    await this.body.cancel().catch(() => undefined);
  }

  #reader(): ReadableStreamBYOBReader {
    this.#copy ??= this.#unread.getReader({ mode: "byob" });
    return this.#copy;
  }

  /** The probe and the copy. When they are made, nothing has been read of either. */
  #readers(): { readonly probe: ReadableStreamBYOBReader; readonly copy: ReadableStreamBYOBReader } {
    if (this.#probe === null) {
      const [probe, copy] = this.#unread.tee();
      this.#probe = probe.getReader({ mode: "byob" });
      this.#copy = copy.getReader({ mode: "byob" });
    }
    return { probe: this.#probe, copy: this.#reader() };
  }
}

/** Reads the probe as far as the copy has been read: these bytes are there already, unless the observation is cancelled. */
async function passOver(probe: ReadableStreamBYOBReader, bytes: number): Promise<void> {
  for (let left = bytes; left > 0; ) {
    const { done, value } = await probe.read(new Uint8Array(Math.min(left, PASS_BYTES)));
    if (done) return;
    left -= value.byteLength;
  }
}
