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
export function cellGauges({
  inFlight,
  queued,
  unchecked,
  ledgers,
}: CellState): readonly ReturnType<typeof singleSample>[] {
  const total = (pick: (status: LedgerStatus) => number) => ledgers.reduce((sum, entry) => sum + pick(entry), 0);
  return [
    {
      name: "gateway_build_info",
      help: "The version that runs.",
      type: "gauge",
      samples: [{ suffix: "", labels: { version }, value: 1 }],
    },
    singleSample("gateway_in_flight", "Requests that hold a slot.", "gauge", inFlight),
    singleSample(
      "gateway_budget_unchecked_total",
      "Requests let through without a budget check, since the cell started.",
      "counter",
      unchecked,
    ),
    singleSample("gateway_queue_depth", "Requests that wait for a slot.", "gauge", queued),
    singleSample(
      "gateway_telemetry_dropped",
      "Usage rows lost for want of room.",
      "gauge",
      total((entry) => entry.dropped),
    ),
    singleSample(
      "gateway_telemetry_aside",
      "Usage rows kept aside because the analytics store refuses them.",
      "gauge",
      total((entry) => entry.aside),
    ),
    singleSample(
      "gateway_spill_bytes",
      "Bytes of usage rows that wait for the analytics store.",
      "gauge",
      total((entry) => entry.bytes),
    ),
  ];
}

/**
 * The states of the cell's ledgers. Of one that does not answer it is null: it must not hide the others, nor the cell
 * itself.
 */
export async function ledgerStatuses(ledgers: readonly LedgerApi[]): Promise<readonly (LedgerStatus | null)[]> {
  const answers = await Promise.allSettled(ledgers.map(async (ledger) => await ledger.status()));
  return answers.map((answer) => (answer.status === "fulfilled" ? answer.value : null));
}
