/** The gauges of a Cell in metrics, beside its counters: its current state, and the state of its ledgers. */

import { version } from "../../../package.json";
import { familyOf, singleSample } from "../../../shared/catalogues/metrics.ts";
import type { MetricFamily } from "../../../shared/wire/internal.ts";
import type { LedgerApi, LedgerStatus } from "../../domain/ledger/rpc.ts";

/** The state of a Cell; `ledgers`: of those shards that answered. */
interface CellState {
  readonly inFlight: number;
  /** Slots that lines of batches hold. */
  readonly batchInFlight: number;
  readonly queued: number;
  /** Requests let through without a budget check. */
  readonly unchecked: number;
  readonly ledgers: readonly LedgerStatus[];
}

/** The families of one Cell's gauges. */
export function cellGauges({
  inFlight,
  batchInFlight,
  queued,
  unchecked,
  ledgers,
}: CellState): readonly MetricFamily[] {
  const total = (pick: (status: LedgerStatus) => number) => ledgers.reduce((sum, entry) => sum + pick(entry), 0);
  return [
    familyOf("gateway_build_info", [{ suffix: "", labels: { version }, value: 1 }]),
    singleSample("gateway_in_flight", inFlight),
    singleSample("gateway_batch_in_flight", batchInFlight),
    singleSample("gateway_budget_unchecked_total", unchecked),
    singleSample("gateway_queue_depth", queued),
    singleSample(
      "gateway_telemetry_dropped",
      total((entry) => entry.dropped),
    ),
    singleSample(
      "gateway_telemetry_aside",
      total((entry) => entry.aside),
    ),
    singleSample(
      "gateway_spill_bytes",
      total((entry) => entry.bytes),
    ),
  ];
}

/** The gauges of those ledgers of the cell that answer: a silent one must not hide the others, nor the cell itself. */
export async function askLedgers<T>(
  ledgers: readonly LedgerApi[],
  ask: (ledger: LedgerApi) => Promise<T>,
): Promise<readonly T[]> {
  const answers = await Promise.allSettled(ledgers.map(ask));
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
}
