/** The gauges of a Cell in metrics, beside its counters: its current state, and the state of its ledgers. */

import { version } from "../../../package.json";
import { familyOf, singleSample } from "../../../shared/catalogues/metrics.ts";
import type { MetricFamily } from "../../../shared/wire/internal.ts";
import type { LedgerApi, LedgerStatus } from "../../domain/ledger/rpc.ts";

/** The state of a Cell; `ledgers`: of those shards that answered. */
interface CellState {
  readonly inFlight: number;
  readonly queued: number;
  /** Requests let through without a budget check. */
  readonly unchecked: number;
  readonly ledgers: readonly LedgerStatus[];
}

/** The families of one Cell's gauges. */
export function cellGauges({ inFlight, queued, unchecked, ledgers }: CellState): readonly MetricFamily[] {
  const total = (pick: (status: LedgerStatus) => number) => ledgers.reduce((sum, entry) => sum + pick(entry), 0);
  return [
    familyOf("gateway_build_info", [{ suffix: "", labels: { version }, value: 1 }]),
    singleSample("gateway_in_flight", inFlight),
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

/**
 * The states of the cell's ledgers. Of one that does not answer it is null: it must not hide the others, nor the cell
 * itself.
 */
export async function ledgerStatuses(ledgers: readonly LedgerApi[]): Promise<readonly (LedgerStatus | null)[]> {
  return await Promise.all(ledgers.map(async (ledger) => await ledger.status().catch(() => null)));
}
