/**
 * A form as it comes in: its pieces wait to be sent on, its fields are noted, and the value of `model` leaves a gap that
 * the upstream's name fills. Exactly one part names the model: with two, admission and upstream could read different ones.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { FormPiece, FormScan } from "../domain/form-scan.ts";
import { concat } from "../domain/json-bytes.ts";
import type { BodySource } from "./body-source.ts";

/** Stands where the value of `model` stood. */
export const MODEL_GAP = Symbol("model");

export type FormSegment = Uint8Array | typeof MODEL_GAP;

/** Of a longer field only the start is noted; all of it is forwarded. */
const FIELD_MAX_BYTES = 64 * 1024;

export class FormIntake {
  /** The fields read so far; of a name that comes twice the last. */
  readonly fields: Record<string, unknown> = {};
  /** What was read and not yet sent, in order. */
  readonly segments: FormSegment[] = [];
  readonly source: BodySource;
  readonly #scan: FormScan;
  #value: Uint8Array[] = [];
  #valueBytes = 0;
  #modelBytes: number | null = null;

  constructor(source: BodySource, scan: FormScan) {
    this.source = source;
    this.#scan = scan;
  }

  /** Length of the value of `model` as the client wrote it, null before it has come. */
  get modelBytes(): number | null {
    return this.#modelBytes;
  }

  /**
   * Reads on. False when the form is whole and nothing is left. Throws 400 `invalid_multipart`, 413 `request_too_large`,
   * or ClientGone.
   */
  async more(): Promise<boolean> {
    const chunk = await this.source.next();
    if (chunk === null) {
      if (!this.#scan.complete) throw new GatewayError("invalid_multipart");
      return false;
    }
    const pieces = this.#scan.push(chunk);
    if (pieces === null) throw new GatewayError("invalid_multipart");
    for (const piece of pieces) this.#note(piece);
    return true;
  }

  #note(piece: FormPiece): void {
    if (piece.kind === "frame") {
      this.segments.push(piece.bytes);
      return;
    }
    const isModel = piece.part.name === "model";
    if (isModel && (this.#modelBytes !== null || this.#valueBytes > FIELD_MAX_BYTES))
      throw new GatewayError("invalid_multipart");
    if (piece.kind === "data") {
      if (!isModel) this.segments.push(piece.bytes);
      if (!piece.part.file && this.#valueBytes <= FIELD_MAX_BYTES) this.#value.push(piece.bytes);
      this.#valueBytes += piece.bytes.byteLength;
      return;
    }
    if (!piece.part.file) this.fields[piece.part.name] = new TextDecoder().decode(concat(this.#value));
    if (isModel) {
      this.segments.push(MODEL_GAP);
      this.#modelBytes = this.#valueBytes;
    }
    this.#value = [];
    this.#valueBytes = 0;
  }
}
