/**
 * Keeps the last good reading of the cluster's power (docs/rules/energy.md#readings): queries the metrics server as often
 * as the settings say, and puts the reading into the key-value store for every cell. After a failure the last reading stays
 * in use, with the reason beside it, and an alert is raised. The alert sink suppresses repeats.
 */
import { issueOf } from "../../shared/alerts.ts";
import { storeKeys } from "../../shared/records.ts";
import {
  type EnergyReading,
  type EnergyValue,
  energyReadingSchema,
} from "../../shared/schema/settings/energy-value.ts";
import { type AlertSink, raisedNow } from "../kernel/alert-sink.ts";
import type { HotStore } from "../kernel/hot-store/hot-store.ts";
import { OutboundError } from "../kernel/outbound/bounded-fetch.ts";
import { readPower } from "./power-query.ts";

/** The last query: where it went, and when. */
interface Asked {
  readonly source: string;
  readonly atMs: number;
}

export class PowerPoll {
  readonly #settings: () => Promise<EnergyValue>;
  readonly #store: Pick<HotStore, "get" | "put">;
  readonly #sink: AlertSink;
  readonly #cell: string;
  #last: Asked | null = null;

  /** `cell`: the control service's own cell, which its alerts name. */
  constructor(
    settings: () => Promise<EnergyValue>,
    store: Pick<HotStore, "get" | "put">,
    sink: AlertSink,
    cell: string,
  ) {
    this.#settings = settings;
    this.#store = store;
    this.#sink = sink;
    this.#cell = cell;
  }

  /**
   * Queries when it is time, or when the server or the query has changed. Rejects when settings, store or sink do not
   * answer; the next run tries again.
   */
  async run(nowMs: number): Promise<void> {
    const { enabled, prometheus_url, power_query, poll_interval_secs } = await this.#settings();
    if (!enabled) {
      this.#last = null;
      return;
    }
    const source = JSON.stringify([prometheus_url, power_query]);
    if (this.#last?.source === source && isWithin(this.#last.atMs, nowMs, poll_interval_secs * 1000)) return;
    await this.#poll(prometheus_url, power_query, nowMs);
    this.#last = { source, atMs: nowMs };
  }

  async #poll(prometheusUrl: string, powerQuery: string, nowMs: number): Promise<void> {
    try {
      const reading = await readPower(prometheusUrl, powerQuery);
      await this.#keep({ ...reading, read_at_ms: nowMs, error: null });
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      await this.#failed(error.message, nowMs);
    }
  }

  async #failed(reason: string, nowMs: number): Promise<void> {
    const [text] = await this.#store.get([storeKeys.energyReading]);
    const last = readingOf(text ?? null);
    if (last !== null) await this.#keep({ ...last, error: reason });
    const detail =
      last === null
        ? `${reason}; there is no reading yet, so no energy is recorded`
        : `${reason}; the last reading, of ${new Date(last.read_at_ms).toISOString()}, stays in use`;
    const issue = issueOf("energy_power_poll_failed", detail);
    await this.#sink.take([raisedNow(issue, nowMs, this.#cell)]);
  }

  async #keep(reading: EnergyReading): Promise<void> {
    await this.#store.put([{ hotKey: storeKeys.energyReading, text: JSON.stringify(reading) }]);
  }
}

/**
 * True when two times are less than that far apart, in either direction. So a clock that was set back delays the next query
 * no longer than the interval.
 */
function isWithin(atMs: number, nowMs: number, ms: number): boolean {
  return Math.abs(nowMs - atMs) < ms;
}

function readingOf(text: string | null): EnergyReading | null {
  try {
    return energyReadingSchema.parse(JSON.parse(text ?? "null"));
  } catch {
    return null;
  }
}
