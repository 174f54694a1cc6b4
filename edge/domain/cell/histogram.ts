/**
 * A histogram with fixed bounds, as Prometheus reads it: cumulative buckets, a sum and a count. Every bucket exists
 * from the start (docs/rules/metrics.md#histograms).
 */
import { type CellMetricName, familyOf } from "../../../shared/catalogues/metrics.ts";
import type { MetricFamily } from "../../../shared/wire/internal.ts";
import { listOf, number, type Of, record } from "../budget/shapes.ts";

export const savedHistogram = record({ hits: listOf(number), sum: number });
type SavedHistogram = Of<typeof savedHistogram>;

export class Histogram {
  readonly #bounds: readonly number[];
  /** One per bound, and one for values above all bounds. */
  readonly #hits: number[];
  #sum = 0;

  /** `bounds`: upper bounds, inclusive, ascending. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#hits = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    const found = this.#bounds.findIndex((bound) => value <= bound);
    const at = found === -1 ? this.#bounds.length : found;
    this.#hits[at] = (this.#hits[at] ?? 0) + 1;
    this.#sum += value;
  }

  /** Hits per bucket and the sum, to be read back by {@link Histogram.add}. */
  save(): SavedHistogram {
    return { hits: [...this.#hits], sum: this.#sum };
  }

  /** Adds saved values under the same bounds; other bounds are ignored. */
  add(saved: SavedHistogram): void {
    if (saved.hits.length !== this.#hits.length) return;
    for (const [at, hits] of saved.hits.entries()) this.#hits[at] = (this.#hits[at] ?? 0) + hits;
    this.#sum += saved.sum;
  }

  family(name: CellMetricName): MetricFamily {
    let count = 0;
    const buckets = this.#hits.map((hits, at) => {
      count += hits;
      return { suffix: "_bucket" as const, labels: { le: String(this.#bounds[at] ?? "+Inf") }, value: count };
    });
    const totals = [
      { suffix: "_sum" as const, labels: {}, value: this.#sum },
      { suffix: "_count" as const, labels: {}, value: count },
    ];
    return familyOf(name, [...buckets, ...totals]);
  }
}
