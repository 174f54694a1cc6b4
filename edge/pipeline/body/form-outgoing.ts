/**
 * A form on its way upstream: the client's bytes with another `model`, the file streaming through as it arrives
 * (docs/rules/request-bodies.md#forms). While no more has left than is kept, it can be sent anew on a fresh connection;
 * then what was sent is let go.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { MemberEdit } from "../../domain/transform/transform.ts";
import type { UpstreamBody } from "../../ports.ts";
import type { OutgoingBody } from "../call/client-body.ts";
import { ClientGone } from "../call/client-gone.ts";
import { pulledStream } from "./body-stream.ts";
import { type FormReader, MODEL_PLACEHOLDER } from "./form-reader.ts";

/** Most that is kept of what has been sent. */
const KEPT_BYTES = 256 * 1024;

export class FormOutgoing implements OutgoingBody {
  readonly form = true;
  readonly clientBytes = null;
  readonly #form: FormReader;
  readonly #onSent: () => void;
  #fault: GatewayError | ClientGone | null = null;
  #opened = 0;
  #sentBytes = 0;
  /** The segment that is sent next or was sent last, and how much of it has been sent. */
  #next = 0;
  #nextSentBytes = 0;
  #kept = true;

  /** `onSent` is called when the whole form has left. */
  constructor(form: FormReader, onSent: () => void) {
    this.#form = form;
    this.#onSent = onSent;
  }

  get resendable(): boolean {
    return this.#kept;
  }

  get fault(): GatewayError | ClientGone | null {
    return this.#fault;
  }

  open(upstreamModel: string, _edits: readonly MemberEdit[], onFault: () => void): UpstreamBody {
    if (!this.#kept) throw new Error("the form has been sent");
    const model = new TextEncoder().encode(upstreamModel);
    const { source, modelBytes } = this.#form;
    const clientBytes = source.ended ? source.readBytes : source.declaredBytes;
    const size = clientBytes === null ? null : clientBytes - (modelBytes ?? 0) + model.byteLength;
    this.#opened += 1;
    this.#next = 0;
    this.#nextSentBytes = 0;
    this.#sentBytes = 0;
    const attempt = this.#opened;
    return pulledStream(size, {
      pull: async (controller) => {
        if (attempt !== this.#opened) throw new Error("another attempt has taken over");
        const bytes = await this.#take(model, onFault);
        if (bytes !== null) return controller.enqueue(bytes);
        if (!this.#kept) this.#onSent();
        controller.close();
      },
    });
  }

  release(): void {
    this.#dropKept();
  }

  /** Nothing of it is left to be read. */
  get ended(): boolean {
    return this.#form.source.ended;
  }

  /** Reads away what the client still sends, also from an upstream that takes it. Never rejects. */
  async discard(): Promise<void> {
    this.#opened += 1;
    await this.#form.source.discard();
  }

  get readRest(): (() => Promise<void>) | null {
    return this.ended ? null : async () => await this.discard();
  }

  /** The next bytes that are not empty; null at the end. */
  async #take(model: Uint8Array, onFault: () => void): Promise<Uint8Array | null> {
    for (;;) {
      const bytes = this.#takeRead(model);
      this.#sentBytes += bytes.byteLength;
      if (this.#sentBytes > KEPT_BYTES) this.#dropKept();
      if (bytes.byteLength > 0) return bytes;
      if (!(await this.#readOn(onFault))) return null;
    }
  }

  /** The next bytes of those that have been read; none when all of them have been taken. */
  #takeRead(model: Uint8Array): Uint8Array {
    const { segments } = this.#form;
    let bytes = new Uint8Array(0) as Uint8Array;
    for (; this.#next < segments.length && bytes.byteLength === 0; this.#next += 1, this.#nextSentBytes = 0) {
      const segment = segments[this.#next] ?? MODEL_PLACEHOLDER;
      bytes = segment === MODEL_PLACEHOLDER ? model.subarray(this.#nextSentBytes) : segment.bytes(this.#nextSentBytes);
      // what is last may grow
      if (this.#kept && this.#next === segments.length - 1) {
        this.#nextSentBytes += bytes.byteLength;
        return bytes;
      }
    }
    if (!this.#kept) this.#dropSent();
    return bytes;
  }

  async #readOn(onFault: () => void): Promise<boolean> {
    try {
      return await this.#form.readMore();
    } catch (error) {
      this.#fault = error instanceof GatewayError ? error : new ClientGone("the form broke off", { cause: error });
      onFault();
      throw error;
    }
  }

  /** Forgets what has been sent. */
  #dropKept(): void {
    if (!this.#kept) return;
    this.#kept = false;
    this.#dropSent();
  }

  #dropSent(): void {
    this.#form.segments.splice(0, this.#next);
    this.#next = 0;
  }
}
