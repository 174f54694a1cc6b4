/**
 * The runs of the boons of one request. A boon that also works on the answer is over only with the answer, so all runs are
 * counted together when the request has ended: one run has one outcome (docs/rules/metrics.md#boons).
 */
import { boonEvent, type CountedEvent } from "../../domain/cell/event-counters.ts";

type BoonName = Parameters<typeof boonEvent>[0];
type BoonOutcome = Parameters<typeof boonEvent>[1];

export class BoonRuns {
  readonly #runs = new Map<BoonName, { readonly outcome: BoonOutcome; readonly ms: number }>();
  readonly #warnings = new Set<string>();

  /** The boon has changed the request, or not, in `ms`. */
  ran(name: BoonName, outcome: BoonOutcome, ms: number): void {
    this.#runs.set(name, { outcome, ms });
  }

  /** The boon could not do its part, whatever its earlier report. */
  failed(name: BoonName): void {
    this.#runs.set(name, { outcome: "failed", ms: this.#runs.get(name)?.ms ?? 0 });
  }

  /** Keeps a warning, also one that comes after the headers. */
  warned(warning: string): void {
    this.#warnings.add(warning);
  }

  /** Each warning once. */
  get warnings(): readonly string[] {
    return [...this.#warnings];
  }

  /** One run of each boon that has run. */
  get events(): readonly CountedEvent[] {
    return [...this.#runs].flatMap(([name, { outcome, ms }]) => boonEvent(name, outcome, ms));
  }
}
