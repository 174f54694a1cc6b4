/**
 * The heartbeat of an active Cell: a sample every two seconds; with every fifth sample its history is saved and its
 * state is reported to the key-value store (docs/rules/fairshare.md#history,
 * docs/rules/storage-layouts.md#key-value-keys). It ends only when no request is entered, the history is saved, and a scrape
 * has seen the counters, because an idle object loses its memory; a save that failed is tried again with the next report.
 */
import { SAMPLE_EVERY_MS } from "../../domain/cell/history.ts";

/**
 * While active, the Cell's state is written to the key-value store with every fifth sample: each 10 s
 * (docs/rules/storage-layouts.md#key-value-keys).
 */
const SAMPLES_PER_REPORT = 5;

/** Counts wait for a scrape for this many samples, two minutes: scrapes are more frequent, or nobody scrapes. */
const SAMPLES_FOR_SCRAPE = 60;

/** The methods that the heartbeat calls. `save` and `rest` may throw, `report` may reject: no failure stops the heartbeat. */
interface HeartbeatParts {
  readonly later: (delayMs: number, run: () => void) => void;
  readonly sample: () => void;
  /** Called when the time between two samples has passed, and not for the first sample. */
  readonly passed: () => void;
  readonly report: () => Promise<void>;
  readonly save: () => void;
  /** The requests that are entered, or have a row that is still to be written. */
  readonly entryCount: () => number;
  /** Writes the end of activity to disk; throws when that fails. */
  readonly rest: () => void;
  readonly failed: (error: unknown) => void;
}

/** Beats from the first `wake` until a report finds no request entered and nothing unsaved. */
export class Heartbeat {
  readonly #parts: HeartbeatParts;
  #beating = false;
  /** How many more samples counts wait for a scrape. */
  #waitsForScrape = 0;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
  }

  /** Starts to beat, with a sample at once; does nothing while it beats. */
  wake(): void {
    if (this.#beating) return;
    this.#beating = true;
    this.#parts.sample();
    this.#next(1);
  }

  /** Something was counted: it stays in memory until a scrape has seen it. */
  counted(): void {
    this.#waitsForScrape = SAMPLES_FOR_SCRAPE;
    this.wake();
  }

  scraped(): void {
    this.#waitsForScrape = 0;
  }

  #next(count: number): void {
    this.#parts.later(SAMPLE_EVERY_MS, () => void this.#beat(count));
  }

  async #beat(count: number): Promise<void> {
    try {
      this.#waitsForScrape -= 1;
      this.#parts.passed();
      this.#parts.sample();
      if (count % SAMPLES_PER_REPORT !== 0) return this.#next(count + 1);
      this.#parts.save();
      await this.#parts.report();
      if (this.#parts.entryCount() === 0) {
        this.#parts.save();
        this.#parts.rest();
        this.#beating = this.#waitsForScrape > 0;
        if (!this.#beating) return;
      }
    } catch (error) {
      this.#parts.failed(error);
    }
    this.#next(count + 1);
  }
}
