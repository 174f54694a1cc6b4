/**
 * What a cell counts since it started (specification "Metrics", decisions §37): requests by admission and status class,
 * tokens. Every label combination of the closed set exists from the start.
 */
import type { MetricFamily } from "../../../shared/internal.ts";
import { ADMISSION_CLASSES, type AdmissionClass, type UsageRow } from "../../../shared/usage-row.ts";

const STATUS_CLASSES = ["2xx", "3xx", "4xx", "5xx"] as const;
type StatusClass = (typeof STATUS_CLASSES)[number];

/** The class of a status; 499 counts as 4xx. */
export function statusClass(status: number): StatusClass {
  if (status >= 500) return "5xx";
  if (status >= 400) return "4xx";
  return status >= 300 ? "3xx" : "2xx";
}

/** Completed requests that are remembered, so that a row handed in twice counts once. */
const RECENT_MAX = 10_000;

export class Counters {
  readonly #recent = new Set<string>();
  readonly #requests = new Map<string, number>();
  #inputTokens = 0;
  #outputTokens = 0;

  /** Counts one completed request; one that was counted lately is not counted again. */
  count(row: Pick<UsageRow, "request_id" | "admission" | "status_code" | "input_tokens" | "output_tokens">): void {
    if (this.#recent.has(row.request_id)) return;
    this.#recent.add(row.request_id);
    if (this.#recent.size > RECENT_MAX) {
      for (const oldest of this.#recent) {
        this.#recent.delete(oldest);
        break;
      }
    }
    const name = `${row.admission}/${statusClass(row.status_code)}`;
    this.#requests.set(name, (this.#requests.get(name) ?? 0) + 1);
    this.#inputTokens += row.input_tokens;
    this.#outputTokens += row.output_tokens;
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
      { name: "gateway_requests_total", help: "Requests completed, refusals included.", type: "counter", samples },
      plain("gateway_input_tokens_total", "Input tokens of completed requests.", "counter", this.#inputTokens),
      plain("gateway_output_tokens_total", "Output tokens of completed requests.", "counter", this.#outputTokens),
    ];
  }
}

/** A family of one sample without labels. */
export function plain(name: string, help: string, type: "counter" | "gauge", value: number): MetricFamily {
  return { name, help, type, samples: [{ suffix: "", labels: {}, value }] };
}
