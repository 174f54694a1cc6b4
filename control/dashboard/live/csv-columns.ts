/**
 * A CSV file with some of its columns (docs/rules/console.md#live), as it comes: byte by byte, because every character that
 * has a meaning is one byte of UTF-8 and no part of another.
 */

/** A first line that is longer than this is not one that names columns. */
const HEAD_MAX_BYTES = 64 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const CR = 0x0d;
const LF = 0x0a;

/** Passes a CSV file on with the columns whose names are kept, in the order of the file. Fails for a first line without an end. */
export function csvColumns(isKept: (name: string) => boolean): TransformStream<Uint8Array, Uint8Array> {
  const columns = new ColumnFilter(isKept);
  return new TransformStream({
    transform: (chunk, controller) => {
      const kept = columns.next(chunk);
      if (kept.byteLength > 0) controller.enqueue(kept);
    },
  });
}

class ColumnFilter {
  readonly #isKept: (name: string) => boolean;
  /** The bytes of the first line, until it has ended. */
  #head: number[] = [];
  /** Whether each column is kept; null: the first line has not ended. */
  #kept: readonly boolean[] | null = null;
  #column = 0;
  #isQuoted = false;
  #isCellStart = true;
  /** Whether the line that is passed on has a cell already. */
  #hasCell = false;

  constructor(isKept: (name: string) => boolean) {
    this.#isKept = isKept;
  }

  next(chunk: Uint8Array): Uint8Array {
    // A line end may become one byte longer.
    const out = new Bytes(2 * (chunk.byteLength + this.#head.length + 1));
    for (const byte of chunk) {
      if (this.#kept !== null) this.#pass(byte, this.#kept, out);
      else if (this.#endsHead(byte)) {
        const head = [...this.#head, LF];
        this.#head = [];
        this.#kept = cellsOf(head).map(this.#isKept);
        for (const one of head) this.#pass(one, this.#kept, out);
      }
    }
    return out.taken();
  }

  #endsHead(byte: number): boolean {
    if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
    if (byte === LF && !this.#isQuoted) return true;
    if (this.#head.length >= HEAD_MAX_BYTES) throw new Error("the first line of the CSV has no end");
    this.#head.push(byte);
    return false;
  }

  #pass(byte: number, kept: readonly boolean[], out: Bytes): void {
    // A quote that is doubled ends and begins.
    if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
    if (byte === CR && !this.#isQuoted) return;
    const isKept = kept[this.#column] === true;
    if (isKept && this.#isCellStart) {
      if (this.#hasCell) out.add(COMMA);
      this.#hasCell = true;
    }
    this.#isCellStart = false;
    if (byte === LF && !this.#isQuoted) {
      out.add(CR);
      out.add(LF);
      this.#column = 0;
      this.#hasCell = false;
      this.#isCellStart = true;
    } else if (byte === COMMA && !this.#isQuoted) {
      this.#column += 1;
      this.#isCellStart = true;
    } else if (isKept) out.add(byte);
  }
}

/** Bytes in a buffer that is large enough. */
class Bytes {
  readonly #buffer: Uint8Array;
  #count = 0;

  constructor(max: number) {
    this.#buffer = new Uint8Array(max);
  }

  add(byte: number): void {
    this.#buffer[this.#count] = byte;
    this.#count += 1;
  }

  taken(): Uint8Array {
    return this.#buffer.subarray(0, this.#count);
  }
}

/** The texts of the cells of one line, which ends with a line feed. */
function cellsOf(line: readonly number[]): readonly string[] {
  const cells: string[] = [];
  let cell: number[] = [];
  let isQuoted = false;
  for (const byte of line) {
    if (byte === QUOTE) isQuoted = !isQuoted;
    if (!isQuoted && (byte === COMMA || byte === LF)) {
      const text = new TextDecoder().decode(Uint8Array.from(cell));
      cells.push(text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text);
      cell = [];
    } else if (byte !== CR || isQuoted) cell.push(byte);
  }
  return cells;
}
