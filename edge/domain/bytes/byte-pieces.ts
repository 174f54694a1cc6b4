/**
 * Bytes that lie in pieces, as they were received, read and replaced as if they were one: copied only where a part that is
 * read spans two of them.
 */
import { joined, type Span } from "../json/top-level.ts";

const encoder = new TextEncoder();

/** A replacement of bytes; spans of one call must not overlap. */
export interface Edit {
  readonly span: Span;
  readonly text: string;
}

export class BytePieces<B extends ArrayBufferLike = ArrayBufferLike> {
  readonly byteLength: number;
  readonly #pieces: readonly Uint8Array<B>[];
  /** Where each piece begins. */
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

  /** Those from `from` to `to`, as views in order. */
  parts(from: number, to: number): readonly Uint8Array<B>[] {
    const parts: Uint8Array<B>[] = [];
    for (const [nth, piece] of this.#pieces.entries()) {
      const start = this.#starts[nth] ?? 0;
      if (start < to && start + piece.byteLength > from)
        parts.push(piece.subarray(Math.max(from - start, 0), to - start));
    }
    return parts;
  }

  /** The same in one, for reading. */
  slice(from: number, to: number): Uint8Array {
    return joined(this.parts(from, to));
  }
}

/** The bytes with every edit made: what is kept as views, what is new between them. */
export function splice(document: BytePieces, edits: readonly Edit[]): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const edit of edits.toSorted((a, b) => a.span.start - b.span.start)) {
    if (isWritten(document, edit)) continue;
    parts.push(...document.parts(from, edit.span.start), encoder.encode(edit.text));
    from = edit.span.end;
  }
  parts.push(...document.parts(from, document.byteLength));
  return parts;
}

/** The edit's plain text stands there already, as where a model keeps its name upstream. */
function isWritten(document: BytePieces, { span, text }: Edit): boolean {
  if (span.end - span.start !== text.length) return false;
  const bytes = document.slice(span.start, span.end);
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit > 0x7f || bytes[at] !== unit) return false;
  }
  return text !== "";
}
