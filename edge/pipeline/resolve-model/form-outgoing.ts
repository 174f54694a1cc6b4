/**
 * A form on its way upstream: the client's bytes with another `model`; the file is forwarded as it arrives
 * (docs/rules/request-bodies.md#forms). While all sent bytes are still kept, the form can be sent again on a fresh connection;
 * beyond that size, sent bytes are dropped.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { FormPart } from "../../domain/request/form/form-head.ts";
import type { MemberEdits } from "../../domain/upstream/transform.ts";
import type { GrowingBytes } from "../../domain/wire/bytes/growing-bytes.ts";
import { printable } from "../../domain/wire/text/printable.ts";
import type { UpstreamBody } from "../../ports.ts";
import { pulledStream } from "../call/body-stream.ts";
import type { OutgoingBody } from "../call/client-body.ts";
import { ClientGone } from "../call/client-gone.ts";
import { fieldError } from "./field-error.ts";
import { type FormReader, MODEL_PLACEHOLDER } from "./form-reader.ts";
import type { BodyMemoryUse } from "./read-body.ts";

/** Most sent bytes that are kept. */
const KEPT_BYTES = 256 * 1024;
/** The longest name in an error, in characters. */
const NAME_MAX = 64;

export class FormOutgoing implements OutgoingBody {
  readonly form = true;
  readonly clientBytes = null;
  readonly member = null;
  readonly #form: FormReader;
  readonly #memory: Pick<BodyMemoryUse, "reserveRead" | "release">;
  readonly #isLikeAscii: boolean;
  /** The replacement of a field that guardrails examine. */
  readonly #replaced = new Map<unknown, Uint8Array>();
  #fault: GatewayError | ClientGone | null = null;
  #opened = 0;
  #sentBytes = 0;
  /** Index of the segment that is sent next or was sent last; below, how much of it has been sent. */
  #next = 0;
  #nextSentBytes = 0;
  #kept = true;

  /**
   * `memory` counts the read part of the form, and is freed when the whole form has left; `isLikeAscii`: the form declares that
   * its texts are not UTF-8 beyond ASCII.
   */
  constructor(form: FormReader, memory: Pick<BodyMemoryUse, "reserveRead" | "release">, isLikeAscii = false) {
    this.#form = form;
    this.#isLikeAscii = isLikeAscii;
    this.#memory = memory;
  }

  /**
   * The fields that guardrails examine, as far as they have been read. Text that is not UTF-8 has marks in place of its bytes.
   */
  textsSoFar(): readonly string[] {
    return this.#form.prompts.map((prompt) => new TextDecoder().decode(prompt.bytes()));
  }

  /**
   * All of them: reads the form to its end, as far as there is memory for it. Throws as {@link
   * FormReader.readMore}, and 400 `validation_failed` for a field that an upstream could read as another text.
   */
  async readTexts(): Promise<readonly string[]> {
    while (await this.#form.readMore()) await this.#memory.reserveRead();
    for (const [nth, prompt] of this.#form.prompts.entries()) {
      const part = this.#form.promptParts[nth];
      if (
        part !== undefined &&
        !isReadAlike(this.#isLikeAscii && part.written !== null ? "ascii" : part.written, prompt)
      )
        throw fieldError({ param: printable(part.name, NAME_MAX), message: "the field must be text in UTF-8" });
    }
    return this.textsSoFar();
  }

  /**
   * Sets the replacement of each of them; the form must not have been sent yet. Without replacements, the client's own values
   * are sent.
   */
  replaceTexts(texts: readonly string[]): void {
    this.#replaced.clear();
    const given = this.textsSoFar();
    for (const [nth, prompt] of this.#form.prompts.entries()) {
      const text = texts[nth];
      if (text !== undefined && text !== given[nth]) this.#replaced.set(prompt, new TextEncoder().encode(text));
    }
  }

  get resendable(): boolean {
    return this.#kept;
  }

  get fault(): GatewayError | ClientGone | null {
    return this.#fault;
  }

  open(upstreamModel: string, _edits: MemberEdits, onFault: () => void): UpstreamBody {
    if (!this.#kept) throw new Error("the form has been sent");
    const model = new TextEncoder().encode(upstreamModel);
    const { source, modelBytes } = this.#form;
    const clientBytes = source.ended ? source.readBytes : source.declaredBytes;
    const added = this.#form.prompts.reduce(
      (sum, prompt) => {
        const replaced = this.#replaced.get(prompt);
        return replaced === undefined ? sum : sum + replaced.byteLength - prompt.byteLength;
      },
      model.byteLength - (modelBytes ?? 0),
    );
    const size = clientBytes === null ? null : clientBytes + added;
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
        if (!this.#kept) this.#memory.release();
        controller.close();
      },
    });
  }

  release(): void {
    this.#dropKept();
  }

  /** Whether none of it is left to read. */
  get ended(): boolean {
    return this.#form.source.ended;
  }

  /** Reads and discards the rest of the client's body, even while an upstream still takes it. Never rejects. */
  async discard(): Promise<void> {
    this.#opened += 1;
    await this.#form.source.discard();
  }

  get readRest(): (() => Promise<void>) | null {
    return this.ended ? null : async () => await this.discard();
  }

  /** The next non-empty bytes; null at the end. */
  async #take(model: Uint8Array, onFault: () => void): Promise<Uint8Array | null> {
    for (;;) {
      const bytes = this.#takeRead(model);
      this.#sentBytes += bytes.byteLength;
      if (this.#sentBytes > KEPT_BYTES) this.#dropKept();
      if (bytes.byteLength > 0) return bytes;
      if (!(await this.#readOn(onFault))) return null;
    }
  }

  /** The next bytes that have been read and not yet taken; empty when all have been taken. */
  #takeRead(model: Uint8Array): Uint8Array {
    const { segments } = this.#form;
    let bytes = new Uint8Array(0) as Uint8Array;
    for (; this.#next < segments.length && bytes.byteLength === 0; this.#next += 1, this.#nextSentBytes = 0) {
      const segment = segments[this.#next] ?? MODEL_PLACEHOLDER;
      const other = segment === MODEL_PLACEHOLDER ? model : this.#replaced.get(segment);
      bytes = other?.subarray(this.#nextSentBytes) ?? (segment as GrowingBytes).bytes(this.#nextSentBytes);
      // the last segment may still grow
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

  /** Drops the segments that have been sent. */
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

/** Whether every server reads the same text that guardrails do. */
function isReadAlike(written: FormPart["written"], prompt: GrowingBytes): boolean {
  if (written === null) return false;
  const bytes = prompt.bytes();
  if (written === "ascii") return bytes.every((byte) => byte < 0x80);
  try {
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
