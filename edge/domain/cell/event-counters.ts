/**
 * Counters of events that leave no usage row, or are counted by labels that a row does not have
 * (docs/rules/metrics.md#families, docs/rules/identities.md#metrics). Workers report them to their Cell, whose metrics show
 * them. The table of metrics is closed; the number of label sets is bounded, so that a flood of names cannot fill a Cell.
 */
import { CELL_METRICS, type CellMetricName, familyOf, labelsOf } from "../../../shared/catalogues/metrics.ts";
import type { MetricFamily } from "../../../shared/wire/internal.ts";

type CountedBoon = (typeof CELL_METRICS.gateway_boon_runs_total.labels.boon)[number];
/** `hit`: it changed, refused or chose something. `none`: it ran and had nothing to do. `failed`: it could not run. */
type BoonOutcome = (typeof CELL_METRICS.gateway_boon_runs_total.labels.outcome)[number];

const EVENT_METRICS = [
  "gateway_mcp_requests_total",
  "gateway_adaptive_capacity_changes_total",
  "gateway_compression_tokens_saved_total",
  "gateway_boon_runs_total",
  "gateway_boon_seconds_total",
  "gateway_jwt_verify_total",
  "gateway_jwks_refresh_total",
  "gateway_auth_failures_total",
  "gateway_otel_spans_dropped_total",
  "gateway_captures_total",
] as const satisfies readonly CellMetricName[];

type EventMetricName = (typeof EVENT_METRICS)[number];

/** The label sets that are shown from the start: all of them, where every label has a closed list of values. */
function shownOf(metric: EventMetricName): readonly (readonly string[])[] {
  // wrong tokens at the other plane are counted there
  if (metric === "gateway_auth_failures_total") return [["data"]];
  return Object.values(labelsOf(CELL_METRICS[metric])).reduce<readonly (readonly string[])[]>(
    (sets, values) => (typeof values === "string" ? [] : sets.flatMap((set) => values.map((value) => [...set, value]))),
    [[]],
  );
}

/** One kind of event; `labels` are values in the order of the metric's label names. */
export interface MetricEvent {
  readonly metric: EventMetricName;
  readonly labels: readonly string[];
}

/** An event and how often it happened, or how much it counts: a safe integer of at least 0; of a time its milliseconds. */
export interface CountedEvent extends MetricEvent {
  readonly times: number;
}

/**
 * One run of a boon or scanner that took `ms`, as counts (docs/rules/metrics.md#boons). A time that is not an amount counts as
 * 0.
 */
export function boonEvent(boon: CountedBoon, outcome: BoonOutcome, ms: number): readonly CountedEvent[] {
  const tookMs = Number.isFinite(ms) ? Math.max(0, Math.round(ms)) : 0;
  return [
    { metric: "gateway_boon_runs_total", labels: [boon, outcome], times: 1 },
    ...(tookMs === 0 ? [] : [{ metric: "gateway_boon_seconds_total", labels: [boon], times: tookMs } as const]),
  ];
}

/** Most label sets in addition to those that are shown from the start, which always fit. */
const LABEL_SETS_MAX = 10_000;

/** Events with how often they happened: a single one happened once. */
export function eventsOf(event: MetricEvent | readonly CountedEvent[]): readonly CountedEvent[] {
  return "metric" in event ? [{ ...event, times: 1 }] : event;
}

/** The key of an event among others, as JSON. */
export function eventKey({ metric, labels }: MetricEvent): string {
  return JSON.stringify([metric, ...labels]);
}

/** The keys of the label sets that are shown from the start. */
const SHOWN_KEYS: ReadonlySet<string> = new Set(
  EVENT_METRICS.flatMap((metric) => shownOf(metric).map((labels) => eventKey({ metric, labels }))),
);

export class EventCounters {
  readonly #counts = new Map<string, number>();
  /** How many of the counts are not shown from the start. */
  #others = 0;

  add(counted: readonly CountedEvent[]): void {
    for (const each of counted) {
      const key = eventKey(each);
      const before = this.#counts.get(key);
      if (before === undefined && !SHOWN_KEYS.has(key)) {
        if (this.#others >= LABEL_SETS_MAX) continue;
        this.#others += 1;
      }
      this.#counts.set(key, (before ?? 0) + each.times);
    }
  }

  families(): readonly MetricFamily[] {
    const counts = [...this.#counts].map(([key, value]) => ({ names: JSON.parse(key) as readonly string[], value }));
    return EVENT_METRICS.map((metric) => {
      const labels = Object.keys(labelsOf(CELL_METRICS[metric]));
      const counted = counts
        .filter(({ names }) => names[0] === metric)
        .map(({ names, value }) => ({
          values: names.slice(1),
          value: metric.includes("_seconds_") ? value / 1000 : value,
        }));
      const missing = shownOf(metric).filter((values) => !counted.some((each) => each.values.join() === values.join()));
      const all = [...missing.map((values) => ({ values, value: 0 })), ...counted];
      return familyOf(
        metric,
        all.map(({ values, value }) => ({
          suffix: "",
          labels: Object.fromEntries(labels.map((label, at) => [label, values[at] ?? ""])),
          value,
        })),
      );
    });
  }
}
