/**
 * Writes the usage of probes to the ledger under the nil tenant (docs/rules/health.md#rows-of-probes). While the
 * analytics store is unavailable rows wait in memory; above a limit the oldest are dropped, since no tenant is charged
 * for them. A batch that failed is sent again with the same token, so that it is never stored twice.
 */
import { randomUUID } from "node:crypto";
import { type UsageRow, zeroUsageRow } from "../../shared/usage/usage-row.ts";
import type { AnalyticsStore } from "../usage/analytics/store.ts";
import type { ProbeUsage } from "./probe.ts";

const WAITING_MAX = 100;

interface Batch {
  readonly token: string;
  readonly rows: readonly UsageRow[];
}

export class ProbeLedger {
  readonly #store: Pick<AnalyticsStore, "insertUsage">;
  readonly #cell: string;
  #waiting: Batch[] = [];
  #flushing: Promise<void> | undefined;

  /** `cell`: the control service's own cell, which the rows name. */
  constructor(store: Pick<AnalyticsStore, "insertUsage">, cell: string) {
    this.#store = store;
    this.#cell = cell;
  }

  /** Adds the calls of one check of a model; {@link flush} sends them. */
  add(model: string, usages: readonly ProbeUsage[], nowMs: number): void {
    if (usages.length === 0) return;
    const rows = usages.map((usage) => this.#rowOf(model, usage, nowMs));
    this.#waiting = [...this.#waiting, { token: randomUUID(), rows }].slice(-WAITING_MAX);
  }

  /** Sends the waiting rows; rows that could not be sent keep waiting. Never throws. */
  async flush(): Promise<void> {
    this.#flushing ??= this.#send().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  async #send(): Promise<void> {
    for (let batch = this.#waiting[0]; batch !== undefined; batch = this.#waiting[0]) {
      const { token, rows } = batch;
      try {
        await this.#store.insertUsage(rows, token);
      } catch {
        return; // the store has logged the failure
      }
      this.#waiting = this.#waiting.filter((each) => each.token !== token);
    }
  }

  #rowOf(model: string, { status, inputTokens, outputTokens, latencyMs }: ProbeUsage, nowMs: number): UsageRow {
    return {
      ...zeroUsageRow(randomUUID(), nowMs),
      model,
      request_type: "health_probe",
      admission: "fast",
      cell: this.#cell,
      status_code: status,
      upstream_status: status,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      ttft_ms: latencyMs,
      total_ms: latencyMs,
    };
  }
}
