/**
 * A sequence of UTF-16 units that scanners read, each with the part of the given text that it stands for. Scanners read
 * another text than the given one (without zero-width characters, folded), and what they find is a part of the given one.
 */
export class UnitBuffer {
  units: Uint16Array;
  /** Where the part of a unit starts and ends in the given text. */
  starts: Uint32Array;
  ends: Uint32Array;
  length = 0;

  constructor(capacity: number) {
    this.units = new Uint16Array(capacity);
    this.starts = new Uint32Array(capacity);
    this.ends = new Uint32Array(capacity);
  }

  push(unit: number, start: number, end: number): void {
    if (this.length === this.units.length) this.#grow(0);
    this.units[this.length] = unit;
    this.starts[this.length] = start;
    this.ends[this.length] = end;
    this.length += 1;
  }

  /** The memory that is taken, used or not. */
  get bytes(): number {
    return this.units.byteLength + this.starts.byteLength + this.ends.byteLength;
  }

  /** The unit at an index; -1 outside. */
  at(index: number): number {
    return index < this.length ? (this.units[index] ?? -1) : -1;
  }

  /** Where the part of a unit starts in the given text. */
  startOf(index: number): number {
    return this.starts[index] ?? 0;
  }

  /** Where the part of a unit ends in the given text. */
  endOf(index: number): number {
    return this.ends[index] ?? 0;
  }

  /** The code point that ends before an index; -1 at the start. */
  codePointBefore(index: number): number {
    return this.#isPair(index - 2) ? this.#pairAt(index - 2) : this.at(index - 1);
  }

  /** The code point that starts at an index; -1 at the end. */
  codePointAt(index: number): number {
    return this.#isPair(index) ? this.#pairAt(index) : this.at(index);
  }

  /** Forgets the first units: the unit with the index `count` gets the index 0. */
  dropFirst(count: number): void {
    this.units.copyWithin(0, count, this.length);
    this.starts.copyWithin(0, count, this.length);
    this.ends.copyWithin(0, count, this.length);
    this.length -= count;
  }

  /** Makes room for more units, so that they may be written to the arrays directly. */
  reserve(count: number): void {
    if (this.length + count > this.units.length) this.#grow(this.length + count);
  }

  #grow(least: number): void {
    const capacity = Math.max(64, least, this.units.length * 2);
    const [units, starts, ends] = [new Uint16Array(capacity), new Uint32Array(capacity), new Uint32Array(capacity)];
    units.set(this.units);
    starts.set(this.starts);
    ends.set(this.ends);
    [this.units, this.starts, this.ends] = [units, starts, ends];
  }

  /** Whether two units are a surrogate pair. Halves that only an invisible character separated in the given text are not. */
  #isPair(index: number): boolean {
    const [high, low] = [this.at(index), this.at(index + 1)];
    if (high < 0xd800 || high > 0xdbff || low < 0xdc00 || low > 0xdfff) return false;
    return this.starts[index] === this.starts[index + 1];
  }

  #pairAt(index: number): number {
    return 0x10000 + ((this.at(index) - 0xd800) << 10) + (this.at(index + 1) - 0xdc00);
  }
}
