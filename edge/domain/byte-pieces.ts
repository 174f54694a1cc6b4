/** Bytes that lie in pieces, as they were received, read as if they were one: copied only where a part spans two of them. */
import { joined } from "./json-bytes.ts";

export class BytePieces {
  readonly byteLength: number;
  readonly #pieces: readonly Uint8Array[];
  /** Where each piece begins. */
  readonly #starts: readonly number[];

  constructor(pieces: readonly Uint8Array[]) {
    let byteLength = 0;
    this.#pieces = pieces;
    this.#starts = pieces.map((piece) => {
      byteLength += piece.byteLength;
      return byteLength - piece.byteLength;
    });
    this.byteLength = byteLength;
  }

  /** Those from `from` to `to`, as views in order. */
  parts(from: number, to: number): readonly Uint8Array[] {
    const parts: Uint8Array[] = [];
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
