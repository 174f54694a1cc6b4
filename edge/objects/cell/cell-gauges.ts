/** The gauges of a Cell in metrics, beside its counters: its current state, and the state of its ledgers. */

import { version } from "../../../package.json";
import { singleSample } from "../../domain/cell/request-counters.ts";
import type { LedgerApi, LedgerStatus } from "../../domain/ledger/rpc.ts";

/** The state of a Cell; `ledgers`: of those shards that answered. */
interface CellState {
  readonly inFlight: number;
  readonly queued: number;
  /** Requests let through without a budget check. */
  readonly unchecked: number;
  readonly ledgers: readonly LedgerStatus[];
}

/** The families of one Cell's gauges, in the order of docs/rules/metrics.md#families. */
export function cellGauges(state: CellState): readonly ReturnType<typeof singleSample>[] {
  const { inFlight, queued, unchecked, ledgers } = state;
  const total = (field: "dropped" | "aside" | "bytes") => ledgers.reduce((sum, entry) => sum + entry[field], 0);
  const gauge = (name: string, help: string, value: number) => singleSample(name, help, "gauge", value);
  const uncheckedHelp = "Requests let through without a budget check, since the cell started.";
  return [
    {
      name: "gateway_build_info",
      help: "The version that runs.",
      type: "gauge",
      samples: [{ suffix: "", labels: { version }, value: 1 }],
    },
    gauge("gateway_in_flight", "Requests that hold a slot.", inFlight),
    singleSample("gateway_budget_unchecked_total", uncheckedHelp, "counter", unchecked),
    gauge("gateway_queue_depth", "Requests that wait for a slot.", queued),
    gauge("gateway_telemetry_dropped", "Usage rows lost for want of room.", total("dropped")),
    gauge("gateway_telemetry_aside", "Usage rows kept aside because the analytics store refuses them.", total("aside")),
    gauge("gateway_spill_bytes", "Bytes of usage rows that wait for the analytics store.", total("bytes")),
  ];
}

/**
 * The states of the cell's ledgers. Of one that does not answer it is null: it must not hide the others, nor the cell
 * itself.
 */
export async function ledgerStatuses(ledgers: readonly LedgerApi[]): Promise<readonly (LedgerStatus | null)[]> {
  return await Promise.all(ledgers.map(async (ledger) => await ledger.status().catch(() => null)));
}
