/**
 * The request counters of a Cell (docs/rules/metrics.md#families): requests by admission and status class, tokens, times.
 * Every label combination of the closed set exists from the start.
 */
import { CELL_METRICS, familyOf, singleSample } from "../../../shared/catalogues/metrics.ts";
import type { AdmissionClass, UsageRow } from "../../../shared/usage/usage-row.ts";
import { ADMISSION_CLASSES } from "../../../shared/usage/usage-values.ts";
import type { MetricFamily } from "../../../shared/wire/internal.ts";
import { isObject, isOf, listOf, number, type Of, pairOf, record, text } from "../budget/shapes.ts";
import { UPSTREAM_OUTCOMES, type UpstreamOutcomes } from "../upstream/attempt-outcomes.ts";
import { Histogram, savedHistogram } from "./histogram.ts";
import { RecentIds } from "./recent-ids.ts";

const STATUS_CLASSES = CELL_METRICS.gateway_requests_total.labels.status;
type StatusClass = (typeof STATUS_CLASSES)[number];

/** The class of a status; 499 counts as 4xx. */
export function statusClass(status: number): StatusClass {
  if (status >= 500) return "5xx";
  if (status >= 400) return "4xx";
  return status >= 300 ? "3xx" : "2xx";
}

const byName = listOf(pairOf(text, number));

/** Counters as they are stored and sent. `requests`: by `admission/status class`; `upstream`: by outcome. */
const savedCounters = record({
  requests: byName,
  input: number,
  output: number,
  upstream: byName,
  /** Lookups in the response cache by their result, and the tokens of the answers that came from it. */
  cache: record({ hit: number, miss: number, tokensSaved: number }),
  ttft: savedHistogram,
  total: savedHistogram,
});
export type SavedCounters = Of<typeof savedCounters>;

/** The saved counters; null if nothing was saved, or in another form. A counter that an earlier version did not have is 0. */
export function readCounters(saved: string | null): SavedCounters | null {
  const read = saved === null ? null : filled(new RequestCounters().save(), JSON.parse(saved));
  return isOf(savedCounters, read) ? read : null;
}

/** A value with those parts of `zero` that it lacks. */
function filled(zero: unknown, value: unknown): unknown {
  if (value === undefined) return zero;
  if (!isObject(zero) || !isObject(value) || Array.isArray(value)) return value;
  const parts = Object.entries(zero).map(([name, part]) => [name, filled(part, value[name])]);
  return Object.fromEntries(parts);
}

export class RequestCounters {
  /** Completed requests, so that a row that is handed in twice counts once. */
  readonly #recent = new RecentIds();
  readonly #requests = new Map<string, number>();
  readonly #upstream = new Map<string, number>();
  readonly #ttft = new Histogram(CELL_METRICS.gateway_ttft_ms.bounds);
  readonly #total = new Histogram(CELL_METRICS.gateway_total_ms.bounds);
  #inputTokens = 0;
  #outputTokens = 0;
  #cache: SavedCounters["cache"] = { hit: 0, miss: 0, tokensSaved: 0 };

  /** Counts one completed request and its attempts at upstreams; one that was counted lately is not counted again. */
  count(row: UsageRow, upstream: UpstreamOutcomes = {}): void {
    if (!this.#recent.add(row.request_id)) return;
    add(this.#requests, `${row.admission}/${statusClass(row.status_code)}`, 1);
    this.#inputTokens += row.input_tokens;
    this.#outputTokens += row.output_tokens;
    if (row.upstream_status >= 200 && row.upstream_status < 300) this.#ttft.observe(row.ttft_ms);
    if (row.admission !== "rejected") this.#total.observe(row.total_ms);
    for (const outcome of UPSTREAM_OUTCOMES) add(this.#upstream, outcome, upstream[outcome] ?? 0);
    this.#countCache(row);
  }

  #countCache({ cache_status, input_tokens, output_tokens }: UsageRow): void {
    const { hit, miss, tokensSaved } = this.#cache;
    if (cache_status === "hit")
      this.#cache = { hit: hit + 1, miss, tokensSaved: tokensSaved + input_tokens + output_tokens };
    else if (cache_status === "miss") this.#cache = { hit, miss: miss + 1, tokensSaved };
  }

  /** The counts so far, to be stored or sent; {@link readCounters} reads stored ones, {@link RequestCounters.add} adds them. */
  save(): SavedCounters {
    return {
      requests: [...this.#requests],
      input: this.#inputTokens,
      output: this.#outputTokens,
      upstream: [...this.#upstream],
      cache: this.#cache,
      ttft: this.#ttft.save(),
      total: this.#total.save(),
    };
  }

  /** Adds saved counters. */
  add(saved: SavedCounters): void {
    for (const [name, value] of saved.requests) add(this.#requests, name, value);
    for (const [outcome, value] of saved.upstream) add(this.#upstream, outcome, value);
    this.#inputTokens += saved.input;
    this.#outputTokens += saved.output;
    const { hit, miss, tokensSaved } = this.#cache;
    this.#cache = {
      hit: hit + saved.cache.hit,
      miss: miss + saved.cache.miss,
      tokensSaved: tokensSaved + saved.cache.tokensSaved,
    };
    this.#ttft.add(saved.ttft);
    this.#total.add(saved.total);
  }

  families(): readonly MetricFamily[] {
    const samples = ADMISSION_CLASSES.flatMap((admission: AdmissionClass) =>
      STATUS_CLASSES.map((status) => ({
        suffix: "" as const,
        labels: { admission, status },
        value: this.#requests.get(`${admission}/${status}`) ?? 0,
      })),
    );
    return [
      familyOf("gateway_requests_total", samples),
      singleSample("gateway_input_tokens_total", this.#inputTokens),
      singleSample("gateway_output_tokens_total", this.#outputTokens),
      familyOf(
        "gateway_upstream_attempts_total",
        UPSTREAM_OUTCOMES.map((outcome) => ({
          suffix: "",
          labels: { outcome },
          value: this.#upstream.get(outcome) ?? 0,
        })),
      ),
      familyOf(
        "gateway_cache_lookups_total",
        CELL_METRICS.gateway_cache_lookups_total.labels.result.map((result) => ({
          suffix: "",
          labels: { result },
          value: this.#cache[result],
        })),
      ),
      singleSample("gateway_cache_tokens_saved_total", this.#cache.tokensSaved),
      this.#ttft.family("gateway_ttft_ms"),
      this.#total.family("gateway_total_ms"),
    ];
  }
}

function add(counts: Map<string, number>, name: string, value: number): void {
  counts.set(name, (counts.get(name) ?? 0) + value);
}
