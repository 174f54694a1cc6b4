/**
 * What the gateway sees of a body that is piped natively: copies that are looked at now and then. They also tell whether the
 * client takes anything, which the pipe does not.
 *
 * A copy holds what the pipe has taken and nobody has read; a read of an empty one takes from the upstream itself. So that no
 * look does, a single byte is read of one copy first: then the other holds that byte, and whatever the pipe has taken since
 * the last look. A byte alone is the look's own: the pipe has taken nothing. Invariant: both copies are read equally far.
 */

/** Most bytes of a look. */
const LOOK_MAX_BYTES = 1024 * 1024;
const LOOK_MIN_BYTES = 4 * 1024;
const PASS_BYTES = 64 * 1024;
const REST_BYTES = 32 * 1024;
/** What came of an answer that ended early is read up to here; a client that left has taken no more meanwhile. */
const LEFT_MAX_BYTES = 64 * 1024 * 1024;

/** What one look found. */
export interface Look {
  readonly bytes: Uint8Array;
  /** The pipe has taken something since the last look. */
  readonly taken: boolean;
  /** There may be more where this came from. */
  readonly full: boolean;
}

export class RelayCopy {
  /** What goes to the client. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #probe: ReadableStreamBYOBReader;
  readonly #copy: ReadableStreamBYOBReader;
  #size = LOOK_MIN_BYTES;

  constructor(body: ReadableStream<Uint8Array>) {
    const [shared, copy] = body.tee();
    const [toClient, probe] = shared.tee();
    this.body = toClient;
    this.#probe = probe.getReader({ mode: "byob" });
    this.#copy = copy.getReader({ mode: "byob" });
  }

  /** Waits until the upstream has sent something more. Null at the end; rejects when the body breaks off. */
  async look(): Promise<Look | null> {
    const { done } = await this.#probe.read(new Uint8Array(1));
    if (done) return null;
    const { value } = await this.#copy.read(new Uint8Array(this.#size));
    if (value === undefined) return null;
    await this.#pass(value.byteLength - 1);
    const full = value.byteLength === this.#size;
    if (full) this.#size = Math.min(this.#size * 2, LOOK_MAX_BYTES);
    return { bytes: value, taken: value.byteLength > 1, full };
  }

  /** Everything that no look has found, of a body that has ended well. False when it broke off after all. */
  async rest(onBytes: (bytes: Uint8Array) => void): Promise<boolean> {
    try {
      for (let size = REST_BYTES; ; size = Math.min(size * 2, LOOK_MAX_BYTES)) {
        const { value } = await this.#copy.readAtLeast(size, new Uint8Array(size));
        if (value !== undefined) onBytes(value);
        // Nothing more will come: less than was asked for is the end.
        if (value === undefined || value.byteLength < size) return true;
      }
    } catch {
      return false;
    } finally {
      await this.#cancel();
    }
  }

  /** The same of a body whose upstream call has been ended, as far as it came. Never rejects. */
  async left(onBytes: (bytes: Uint8Array) => void): Promise<void> {
    try {
      for (let found = 0; found < LEFT_MAX_BYTES; ) {
        const { value } = await this.#copy.read(new Uint8Array(REST_BYTES));
        if (value === undefined) break;
        onBytes(value);
        found += value.byteLength;
      }
    } catch {
      // It broke off here: what had come has been read before.
    }
    await this.#cancel();
  }

  /** Ends a look that waits. Never rejects. */
  async endLook(): Promise<void> {
    await this.#probe.cancel().catch(() => undefined);
  }

  async #cancel(): Promise<void> {
    await this.endLook();
    await this.#copy.cancel().catch(() => undefined);
    await this.body.cancel().catch(() => undefined);
  }

  /** Reads the probe as far as the copy: what it passes over is there. */
  async #pass(bytes: number): Promise<void> {
    for (let left = bytes; left > 0; ) {
      const { value } = await this.#probe.read(new Uint8Array(Math.min(left, PASS_BYTES)));
      if (value === undefined) return;
      left -= value.byteLength;
    }
  }
}
