/**
 * How many characters of the given text may stand between two characters of a match without being compared: characters
 * that are not seen, and white space between the words of a keyword. This bounds what a stream holds back.
 */
export const MAX_GAP = 32;

/** Parts of a text that a scanner found, each with the number of a label. */
export class FoundSpans {
  labels: number[] = [];
  starts: number[] = [];
  ends: number[] = [];

  add(label: number, start: number, end: number): void {
    this.labels.push(label);
    this.starts.push(start);
    this.ends.push(end);
  }

  /** Forgets the parts that end at a place or before it. */
  forgetBefore(place: number): void {
    const ends = this.ends;
    if (ends.every((end) => end > place)) return;
    const isKept = (_: number, at: number): boolean => (ends[at] ?? 0) > place;
    [this.labels, this.starts, this.ends] = [
      this.labels.filter(isKept),
      this.starts.filter(isKept),
      ends.filter(isKept),
    ];
  }

  /** Takes out the parts that end at a place or before it. These are sorted, and none overlaps another. */
  takeUpTo(place: number): FoundSpans {
    const count = this.endingBy(place, 0);
    const taken = this.part(0, count);
    if (count > 0) for (const column of [this.labels, this.starts, this.ends]) column.splice(0, count);
    return taken;
  }

  /** The index after the parts, from one index on, that end at a place or before it. */
  endingBy(place: number, from: number): number {
    let index = from;
    while (index < this.ends.length && (this.ends[index] ?? 0) <= place) index += 1;
    return index;
  }

  /** The parts from one index on and before another. */
  part(from: number, to: number): FoundSpans {
    const part = new FoundSpans();
    if (from === to) return part;
    part.labels = this.labels.slice(from, to);
    part.starts = this.starts.slice(from, to);
    part.ends = this.ends.slice(from, to);
    return part;
  }

  /** Makes one part, with the label of the first, of those between two places. */
  joinWithin(start: number, end: number): void {
    const isWithin = (at: number): boolean => (this.starts[at] ?? 0) >= start && (this.ends[at] ?? 0) <= end;
    const all = this.starts.map((_, at) => at);
    const within = all.filter(isWithin);
    if (within.length < 2) return;
    const first = within.reduce((a, b) => ((this.starts[b] ?? 0) < (this.starts[a] ?? 0) ? b : a));
    const others = all.filter((at) => !isWithin(at));
    const last = within.reduce((most, at) => Math.max(most, this.ends[at] ?? 0), 0);
    const label = this.labels[first] ?? 0;
    const begin = this.starts[first] ?? 0;
    this.labels = [label, ...others.map((at) => this.labels[at] ?? 0)];
    this.starts = [begin, ...others.map((at) => this.starts[at] ?? 0)];
    this.ends = [last, ...others.map((at) => this.ends[at] ?? 0)];
  }

  /** Puts the parts in the order of the text. */
  sort(): void {
    if (this.starts.length < 2) return;
    const { labels, starts, ends } = this;
    const order = starts.map((_, at) => at).sort((a, b) => (starts[a] ?? 0) - (starts[b] ?? 0));
    const inOrder = (values: readonly number[]): number[] => order.map((at) => values[at] ?? 0);
    [this.labels, this.starts, this.ends] = [inOrder(labels), inOrder(starts), inOrder(ends)];
  }

  addAll({ labels, starts, ends }: FoundSpans): void {
    for (const [at, start] of starts.entries()) this.add(labels[at] ?? 0, start, ends[at] ?? start);
  }

  /** Adds parts that overlap none of these; both are sorted, and the result is. */
  addThoseApart(others: FoundSpans): void {
    this.#addUnless(others, (start, end, at) => (this.ends[at - 1] ?? 0) > start || (this.starts[at] ?? end) < end);
  }

  /** Adds parts that are within none of these; both are sorted, and the result is. */
  addThoseOutside(others: FoundSpans): void {
    this.#addUnless(others, (start, end, at) => {
      const isSame = this.starts[at] === start && (this.ends[at] ?? 0) >= end;
      return isSame || (this.ends[at - 1] ?? 0) >= end;
    });
  }

  /** @param refuses called with a part, and the index of the first of these that starts at it or after it */
  #addUnless(others: FoundSpans, refuses: (start: number, end: number, at: number) => boolean): void {
    const added = new FoundSpans();
    let at = 0;
    for (const [index, start] of others.starts.entries()) {
      while (at < this.starts.length && (this.starts[at] ?? 0) < start) at += 1;
      const end = others.ends[index] ?? start;
      if (!refuses(start, end, at)) added.add(others.labels[index] ?? 0, start, end);
    }
    if (added.starts.length === 0) return;
    this.addAll(added);
    this.sort();
  }
}
