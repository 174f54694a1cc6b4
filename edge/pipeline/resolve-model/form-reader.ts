/**
 * A form as it arrives: its segments wait to be sent on, its fields are noted, and the value of `model` is replaced by
 * a placeholder for the upstream's name. Exactly one part names the model: if there were two, admission and upstream
 * could read different ones.
 */
import { GatewayError } from "../../../shared/errors.ts";
import {
  type FieldFault,
  GUARDED_FIELDS,
  idFault,
  isGuardedField,
  numberTextFault,
  spellingFault,
  TOKEN_LIMITS,
} from "../../domain/request/client-fields.ts";
import { isOwnPlace, type PlaceUse, placeStartIn } from "../../domain/request/file-places.ts";
import type { FormPart } from "../../domain/request/form/form-head.ts";
import type { FormPiece, FormScan } from "../../domain/request/form/form-scan.ts";
import { isImageCount } from "../../domain/request/image-count.ts";
import { isObjectField, placeUseOfField } from "../../domain/request/named-objects.ts";
import { formSteeringFault } from "../../domain/request/steering-fields.ts";
import { GrowingBytes } from "../../domain/wire/bytes/growing-bytes.ts";
import { printable } from "../../domain/wire/text/printable.ts";
import type { PulledBody } from "./decoded-source.ts";
import { fieldError } from "./field-error.ts";

/** Marks the place of the value of `model`. */
export const MODEL_PLACEHOLDER = Symbol("model");

type FormSegment = GrowingBytes | typeof MODEL_PLACEHOLDER;

const DOT = ".".charCodeAt(0);
/** Smaller pieces are joined to segments of up to this size. */
const SEGMENT_MAX_BYTES = 64 * 1024;

/** Only this much of a longer field is noted; all of it is forwarded. */
const FIELD_MAX_BYTES = 64 * 1024;
/** The longest name in an error, in characters. */
const NAME_MAX = 64;
/** The fields of a form whose values are read. */
const NOTED = new Set<string>(["model", "n", ...TOKEN_LIMITS, "stream", "session_id", "user", "safety_identifier"]);

export class FormReader {
  /**
   * The fields that were read so far. If a name comes twice, the last value counts; a value that is not UTF-8 is left out. `n`
   * is the number of images, under any of its names: once it has come, no other can follow.
   */
  readonly fields: Record<string, unknown> = {};
  /** The values that guardrails examine so far, each in its own segment. */
  readonly prompts: GrowingBytes[] = [];
  /** The part of each. */
  readonly promptParts: FormPart[] = [];
  /** Read and unsent bytes, in order; the last segment may still grow. */
  readonly segments: FormSegment[] = [];
  readonly source: PulledBody;
  readonly #scan: FormScan;
  readonly #deciding: readonly string[];
  readonly #namesObjects: boolean;
  readonly #passed: ReadonlySet<string>;
  /** The names of the parts so far that decisions rest on. */
  readonly #names: string[] = [];
  #part: FormPart | null = null;
  /** The meaning of its text as the place of a file. */
  #placeUse: PlaceUse = null;
  #hasDot = false;
  #value: GrowingBytes | null = null;
  #valueBytes = 0;
  #modelBytes: number | null = null;

  /**
   * `deciding`: the fields of the form that admission and billing depend on (client-fields.ts); `namesObjects`: whether it may
   * name objects of its upstream that nobody owns; `passed`: steering fields that it may have.
   */
  constructor(
    source: PulledBody,
    scan: FormScan,
    deciding: readonly string[],
    namesObjects = false,
    passed: ReadonlySet<string> = new Set(),
  ) {
    this.source = source;
    this.#scan = scan;
    this.#deciding = deciding;
    this.#namesObjects = namesObjects;
    this.#passed = passed;
  }

  /** Length of the value of `model` as the client wrote it; null before it has come. */
  get modelBytes(): number | null {
    return this.#modelBytes;
  }

  /**
   * Reads on. False when the form is complete. Throws 400 `invalid_multipart` or `validation_failed`, 413
   * `request_too_large`, or ClientGone.
   */
  async readMore(): Promise<boolean> {
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
      this.#append(piece.bytes);
      return;
    }
    if (piece.part !== this.#part) this.#begin(piece.part);
    const { name, file } = piece.part;
    const isModel = name === "model";
    if (isModel && (this.#modelBytes !== null || this.#valueBytes > FIELD_MAX_BYTES))
      throw new GatewayError("invalid_multipart");
    if (piece.kind === "data") {
      if (!file && isGuardedField(name)) this.#appendPrompt(piece);
      else if (!isModel) this.#append(piece.bytes);
      if ((this.#placeUse !== null || isNoted(piece.part)) && this.#valueBytes <= FIELD_MAX_BYTES)
        this.#noteValue(piece.bytes);
      this.#hasDot ||= this.#placeUse !== null && piece.bytes.includes(DOT);
      this.#valueBytes += piece.bytes.byteLength;
      return;
    }
    if (this.#placeUse !== null) this.#endPlace(name);
    if (isNoted(piece.part))
      this.#end(name, textOf(this.#value?.bytes() ?? new Uint8Array(0), this.#valueBytes > FIELD_MAX_BYTES));
    if (isModel) {
      this.segments.push(MODEL_PLACEHOLDER);
      this.#modelBytes = this.#valueBytes;
    }
    this.#value = null;
    this.#valueBytes = 0;
  }

  #append(bytes: Uint8Array): void {
    const last = this.segments.at(-1);
    const grows =
      last instanceof GrowingBytes &&
      last !== this.prompts.at(-1) &&
      last.byteLength + bytes.byteLength <= SEGMENT_MAX_BYTES;
    if (grows) last.append(bytes);
    else this.segments.push(new GrowingBytes(bytes));
  }

  #appendPrompt({ bytes, part }: FormPiece & { readonly kind: "data" }): void {
    const last = this.prompts.at(-1);
    if (this.#valueBytes > 0 && last !== undefined) {
      last.append(bytes);
      return;
    }
    const prompt = new GrowingBytes(bytes);
    this.prompts.push(prompt);
    this.promptParts.push(part);
    this.segments.push(prompt);
  }

  #noteValue(bytes: Uint8Array): void {
    if (this.#value === null) this.#value = new GrowingBytes(bytes);
    else this.#value.append(bytes);
  }

  #begin(part: FormPart): void {
    this.#part = part;
    this.#hasDot = false;
    this.#placeUse = part.file || this.#namesObjects ? null : placeUseOfField(part.name);
    const fault =
      spellingFault([...this.#names, part.name], this.#deciding) ??
      spellingFault([part.name], GUARDED_FIELDS) ??
      formSteeringFault(part.name, this.#passed);
    if (fault !== null) throw fieldError(fault);
    if (!this.#namesObjects && isObjectField(part.name)) throw fieldError(idFault(part.name));
    if (this.#deciding.includes(part.name)) this.#names.push(part.name);
  }

  #endPlace(name: string): void {
    const start = placeStartIn(this.#value?.bytes() ?? new Uint8Array(0), this.#placeUse);
    if (isOwnPlace(this.#placeUse, start, this.#valueBytes) ?? this.#hasDot) throw fieldError(idFault(name));
  }

  /** Handles the complete value of a field; null: it is not text. */
  #end(name: string, text: string | null): void {
    const field = isImageCount(name) ? "n" : name;
    const fault = numberTextFault(name, text ?? "", field) ?? this.#countFault(name, field, text);
    if (fault !== null) throw fieldError(fault);
    if (field === "n") this.fields["n"] = text;
    else if (text !== null) this.fields[name] = text;
    else if (name === "model") throw new GatewayError("invalid_multipart");
  }

  /** The fault of a number of images that is not the one before it, which may be reserved already. */
  #countFault(name: string, field: string, text: string | null): FieldFault | null {
    const given = this.fields["n"];
    if (field !== "n" || given === undefined || given === text) return null;
    return { param: printable(name, NAME_MAX), message: "a form must say only once how many images it asks for" };
  }
}

function isNoted({ name, file }: FormPart): boolean {
  return !file && (NOTED.has(name) || isImageCount(name));
}

/** The text of a field; null when it is not UTF-8. A `cut` value may end in an incomplete character. */
function textOf(bytes: Uint8Array, cut: boolean): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: cut });
  } catch {
    return null;
  }
}
