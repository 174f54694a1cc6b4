/**
 * Counters of events that leave no usage row, or are counted by labels that a row does not have
 * (docs/rules/metrics.md#families, docs/rules/identities.md#metrics). Workers report them to their Cell, whose metrics show
 * them. The table of metrics is closed; the number of label sets is bounded, so that a flood of names cannot fill a Cell.
 */
import { INPUT_SCANNERS, OUTPUT_SCANNERS } from "../../../shared/fields/tenant-fields.ts";
import type { MetricFamily } from "../../../shared/internal.ts";

interface TallyMetric {
  readonly help: string;
  readonly labels: readonly string[];
  /** Label values that are shown from the start: all of them, where the set is closed. */
  readonly shown: readonly (readonly string[])[];
}

/** What counts its runs: boons, the auto router and its classifier, and each scanner of the guardrails on either side. */
const COUNTED_BOONS = [
  "vision",
  "compression",
  "tool_loop",
  "structured_output",
  "auto_route",
  "auto_classifier",
  ...INPUT_SCANNERS.map((scanner) => `guardrails_input:${scanner}` as const),
  ...OUTPUT_SCANNERS.map((scanner) => `guardrails_output:${scanner}` as const),
] as const;
type CountedBoon = (typeof COUNTED_BOONS)[number];

/** `hit`: it changed, refused or chose something. `none`: it ran and had nothing to do. `failed`: it could not run. */
const BOON_OUTCOMES = ["hit", "none", "failed"] as const;
type BoonOutcome = (typeof BOON_OUTCOMES)[number];

export const EVENT_METRICS = {
  gateway_mcp_requests_total: { help: "Calls of MCP servers.", labels: ["server", "status"], shown: [] },
  gateway_compression_tokens_saved_total: {
    help: "Tokens that compression took out of requests.",
    labels: [],
    shown: [[]],
  },
  gateway_boon_runs_total: {
    help: "Runs of boons and scanners.",
    labels: ["boon", "outcome"],
    shown: COUNTED_BOONS.flatMap((boon) => BOON_OUTCOMES.map((outcome) => [boon, outcome])),
  },
  gateway_boon_ms_total: {
    help: "Time that boons and scanners took, in ms.",
    labels: ["boon"],
    shown: COUNTED_BOONS.map((boon) => [boon]),
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
}

/** An event and how often it happened, or how much it counts: a safe integer of at least 0. */
export interface CountedEvent extends MetricEvent {
  readonly times: number;
}

/**
 * One run of a boon or scanner that took `ms`, as what is to be counted of it (docs/rules/metrics.md#boons). A time that
 * is no amount counts as 0.
 */
export function boonEvent(boon: CountedBoon, outcome: BoonOutcome, ms: number): readonly CountedEvent[] {
  const tookMs = Number.isFinite(ms) ? Math.max(0, Math.round(ms)) : 0;
  return [
    { metric: "gateway_boon_runs_total", labels: [boon, outcome], times: 1 },
    ...(tookMs === 0 ? [] : [{ metric: "gateway_boon_ms_total", labels: [boon], times: tookMs } as const]),
  ];
}

/** Event counts as they are stored: name and label values as JSON, and the count. */
export type SavedEventCounts = readonly (readonly [string, number])[];

/** Most label sets besides those that are shown from the start: these always fit. */
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
  Object.entries<TallyMetric>(EVENT_METRICS).flatMap(([metric, { shown }]) =>
    shown.map((labels) => eventKey({ metric: metric as EventMetricName, labels })),
  ),
);

export class EventCounters {
  readonly #counts = new Map<string, number>();
  /** How many of the counts are not shown from the start. */
  #others = 0;

  add(counted: readonly CountedEvent[]): void {
    for (const each of counted) {
      const key = eventKey(each);
      const before = this.#counts.get(key);
      if (before === undefined && !SHOWN_KEYS.has(key) && this.#others >= LABEL_SETS_MAX) continue;
      this.#set(key, (before ?? 0) + each.times);
    }
  }

  /** Read back by {@link EventCounters.restore}. */
  save(): SavedEventCounts {
    return [...this.#counts];
  }

  /** Continues from what was saved. */
  restore(saved: SavedEventCounts): void {
    for (const [key, count] of saved) this.#set(key, count);
  }

  #set(key: string, count: number): void {
    if (!SHOWN_KEYS.has(key) && !this.#counts.has(key)) this.#others += 1;
    this.#counts.set(key, count);
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
