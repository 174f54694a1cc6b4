/**
 * Bytes that lie in pieces, as they were received, read and replaced as if they were one. They are copied only where a part that is
 * read spans two of the pieces.
 */

import { atOnce, type Steps } from "../../../../shared/steps.ts";

/** Bytes that are copied at once, and those that take a unit. */
const COPIED_BYTES = 256 * 1024;
const COPIED_BYTES_PER_UNIT = 64;
/** Work for an edit, in units. */
const EDIT_UNITS = 48;

const encoder = new TextEncoder();

/** A part of some bytes: offsets of its first byte and of the byte after its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A replacement of bytes; spans of one call must not overlap. */
export interface Edit {
  readonly span: Span;
  /** The new content, as text or in UTF-8. */
  readonly text: string | Uint8Array;
}

export class BytePieces<B extends ArrayBufferLike = ArrayBufferLike> {
  readonly byteLength: number;
  readonly #pieces: readonly Uint8Array<B>[];
  /** Where each piece starts. */
  readonly #starts: readonly number[];

  constructor(pieces: readonly Uint8Array<B>[]) {
    let byteLength = 0;
    this.#pieces = pieces;
    this.#starts = pieces.map((piece) => {
      byteLength += piece.byteLength;
      return byteLength - piece.byteLength;
    });
    this.byteLength = byteLength;
  }

  /** Those from `from` to `to`, as views in order. Takes no time for the pieces before and after them. */
  parts(from: number, to: number): readonly Uint8Array<B>[] {
    const parts: Uint8Array<B>[] = [];
    for (let nth = this.#pieceAt(from); nth < this.#pieces.length; nth += 1) {
      const start = this.#starts[nth] ?? 0;
      if (start >= to) break;
      const piece = this.#pieces[nth];
      if (piece !== undefined && start + piece.byteLength > from)
        parts.push(piece.subarray(Math.max(from - start, 0), to - start));
    }
    return parts;
  }

  /** The last piece that starts at or before a byte. */
  #pieceAt(offset: number): number {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The same in one, for reading. */
  slice(from: number, to: number): Uint8Array {
    return joined(this.parts(from, to));
  }
}

/** The pieces in one new buffer. */
export function concat(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.byteLength;
  }
  return out;
}

/** The pieces in one buffer; a single one is that already. */
export function joined<B extends ArrayBufferLike>(pieces: readonly Uint8Array<B>[]): Uint8Array<B | ArrayBuffer> {
  const [first] = pieces;
  return first !== undefined && pieces.length === 1 ? first : concat(pieces);
}

/** The same in steps, for pieces that are long together. */
export function* joinedInSteps<B extends ArrayBufferLike>(
  pieces: readonly Uint8Array<B>[],
): Steps<Uint8Array<B | ArrayBuffer>> {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const out = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let filled = 0;
  for (const piece of pieces) {
    for (let at = 0; at < piece.byteLength; at += COPIED_BYTES) {
      const part = piece.subarray(at, at + COPIED_BYTES);
      out.set(part, filled);
      filled += part.byteLength;
      yield part.byteLength / COPIED_BYTES_PER_UNIT;
    }
  }
  return out;
}

/** The bytes with every edit made: kept bytes as views, new bytes between them. */
export function splice<B extends ArrayBufferLike>(
  document: BytePieces<B>,
  edits: readonly Edit[],
): readonly Uint8Array<B | ArrayBuffer>[] {
  return atOnce(spliceInSteps(document, edits));
}

/** The same in steps; parts of fewer than `joinedBytes` are joined to so many at least. */
export function* spliceInSteps<B extends ArrayBufferLike>(
  document: BytePieces<B>,
  edits: readonly Edit[],
  joinedBytes = 0,
): Steps<readonly Uint8Array<B | ArrayBuffer>[]> {
  const parts: Uint8Array<B | ArrayBuffer>[] = [];
  let [short, shortBytes]: [Uint8Array<B | ArrayBuffer>[], number] = [[], 0];
  const join = (): void => {
    if (short.length > 0) parts.push(joined(short));
    [short, shortBytes] = [[], 0];
  };
  const add = (part: Uint8Array<B | ArrayBuffer>): void => {
    if (part.byteLength >= joinedBytes) join();
    short.push(part);
    shortBytes += part.byteLength;
    if (shortBytes >= joinedBytes) join();
  };
  let from = 0;
  for (const edit of edits.toSorted((a, b) => a.span.start - b.span.start)) {
    if (isWritten(document, edit)) continue;
    yield EDIT_UNITS;
    for (const part of document.parts(from, edit.span.start)) add(part);
    add(bytesOf(edit));
    from = edit.span.end;
  }
  for (const part of document.parts(from, document.byteLength)) add(part);
  join();
  return parts;
}

/** The place after {@link splice} of something outside the edits' spans: the new offset of an old one. */
export function offsetsAfter(edits: readonly Edit[]): (at: number) => number {
  const sorted = edits.toSorted((a, b) => a.span.start - b.span.start);
  let moved = 0;
  const places = sorted.map(({ span, text }) => {
    moved += bytesOf({ text }).byteLength - (span.end - span.start);
    return { end: span.end, moved };
  });
  return (at) => {
    let low = 0;
    let high = places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((places[middle]?.end ?? 0) <= at) low = middle + 1;
      else high = middle;
    }
    return at + (places[low - 1]?.moved ?? 0);
  };
}

function bytesOf({ text }: Pick<Edit, "text">): Uint8Array<ArrayBuffer> {
  return (typeof text === "string" ? encoder.encode(text) : text) as Uint8Array<ArrayBuffer>;
}

/** The edit's plain text is already there, for example if a model keeps its name upstream. */
function isWritten(document: BytePieces, { span, text }: Edit): boolean {
  if (typeof text !== "string" || span.end - span.start !== text.length) return false;
  const bytes = document.slice(span.start, span.end);
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit > 0x7f || bytes[at] !== unit) return false;
  }
  return text !== "";
}
