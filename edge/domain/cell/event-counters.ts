/**
 * Counters of events that leave no usage row, or are counted by labels that a row does not have
 * (docs/rules/metrics.md#families, docs/rules/identities.md#metrics). Workers report them to their Cell, whose metrics show
 * them. The table of metrics is closed; the number of label sets is bounded, so that a flood of names cannot fill a Cell.
 */
import type { MetricFamily } from "../../../shared/internal.ts";

interface TallyMetric {
  readonly help: string;
  readonly labels: readonly string[];
  /** Label values that are shown from the start: all of them, where the set is closed. */
  readonly shown: readonly (readonly string[])[];
}

export const EVENT_METRICS = {
  gateway_mcp_requests_total: { help: "Calls of MCP servers.", labels: ["server", "status"], shown: [] },
  gateway_compression_tokens_saved_total: {
    help: "Tokens that compression took out of requests.",
    labels: [],
    shown: [[]],
  },
  gateway_jwt_verify_total: {
    help: "Identity tokens verified.",
    labels: ["result"],
    shown: [["ok"], ["invalid"], ["expired"], ["unknown_kid"]],
  },
  gateway_jwks_refresh_total: {
    help: "Reads of identity providers' key sets.",
    labels: ["issuer_index", "result"],
    shown: [],
  },
  gateway_auth_failures_total: {
    help: "Wrong admin or internal tokens.",
    labels: ["plane"],
    shown: [["data"]],
  },
  gateway_otel_spans_dropped_total: {
    help: "Spans that were not exported.",
    labels: ["reason"],
    shown: [["full"], ["failed"]],
  },
} as const satisfies Record<string, TallyMetric>;

type EventMetricName = keyof typeof EVENT_METRICS;

/** One kind of event; `labels` are values in the order of the metric's label names. */
export interface MetricEvent {
  readonly metric: EventMetricName;
  readonly labels: readonly string[];
  /** How much it counts, a safe integer of at least 0; 1 when it is not said. */
  readonly times?: number;
}

/** An event and how often it happened. */
export interface CountedEvent extends MetricEvent {
  readonly times: number;
}

/** Event counts as they are stored: name and label values as JSON, and the count. */
export type SavedEventCounts = readonly (readonly [string, number])[];

const LABEL_SETS_MAX = 10_000;

/** The key of an event among others, as JSON. */
export function eventKey({ metric, labels }: MetricEvent): string {
  return JSON.stringify([metric, ...labels]);
}

export class EventCounters {
  readonly #counts = new Map<string, number>();

  add(counted: readonly CountedEvent[]): void {
    for (const each of counted) {
      const key = eventKey(each);
      const before = this.#counts.get(key);
      if (before === undefined && this.#counts.size >= LABEL_SETS_MAX) continue;
      this.#counts.set(key, (before ?? 0) + each.times);
    }
  }

  /** Read back by {@link EventCounters.restore}. */
  save(): SavedEventCounts {
    return [...this.#counts];
  }

  /** Continues from what was saved. */
  restore(saved: SavedEventCounts): void {
    for (const [key, count] of saved) this.#counts.set(key, count);
  }

  families(): readonly MetricFamily[] {
    const counts = [...this.#counts].map(([key, value]) => ({ names: JSON.parse(key) as readonly string[], value }));
    return Object.entries<TallyMetric>(EVENT_METRICS).map(([name, { help, labels, shown }]) => {
      const counted = counts
        .filter(({ names }) => names[0] === name)
        .map(({ names, value }) => ({ values: names.slice(1), value }));
      const missing = shown.filter((values) => !counted.some((each) => each.values.join() === values.join()));
      const all = [...missing.map((values) => ({ values, value: 0 })), ...counted];
      return {
        name,
        help,
        type: "counter",
        samples: all.map(({ values, value }) => ({
          suffix: "",
          labels: Object.fromEntries(labels.map((label, at) => [label, values[at] ?? ""])),
          value,
        })),
      };
    });
  }
}
