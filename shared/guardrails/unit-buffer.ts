/**
 * A sequence of UTF-16 units that scanners read, each with the part of the given text that it stands for. Scanners read
 * another text than the given one (without zero-width characters, folded), and what they find is a part of the given one.
 */
export class UnitBuffer {
  units: Uint16Array;
  /** Where in the given text the part of a unit begins and ends. */
  starts: Uint32Array;
  ends: Uint32Array;
  length = 0;

  constructor(capacity: number) {
    this.units = new Uint16Array(capacity);
    this.starts = new Uint32Array(capacity);
    this.ends = new Uint32Array(capacity);
  }

  push(unit: number, start: number, end: number): void {
    if (this.length === this.units.length) this.#grow();
    this.units[this.length] = unit;
    this.starts[this.length] = start;
    this.ends[this.length] = end;
    this.length += 1;
  }

  /** The unit at an index; -1 outside. */
  at(index: number): number {
    return index < this.length ? (this.units[index] ?? -1) : -1;
  }

  /** Where the part of a unit begins in the given text. */
  startOf(index: number): number {
    return this.starts[index] ?? 0;
  }

  /** Where the part of a unit ends in the given text. */
  endOf(index: number): number {
    return this.ends[index] ?? 0;
  }

  /** Forgets the first units: what had the index `count` has the index 0 then. */
  dropFirst(count: number): void {
    this.units.copyWithin(0, count, this.length);
    this.starts.copyWithin(0, count, this.length);
    this.ends.copyWithin(0, count, this.length);
    this.length -= count;
  }

  #grow(): void {
    const capacity = Math.max(64, this.units.length * 2);
    const [units, starts, ends] = [new Uint16Array(capacity), new Uint32Array(capacity), new Uint32Array(capacity)];
    units.set(this.units);
    starts.set(this.starts);
    ends.set(this.ends);
    [this.units, this.starts, this.ends] = [units, starts, ends];
  }
}
