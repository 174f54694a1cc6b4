/** What the Cell's admission controller works with (admission-controller.ts). */
import type { UsageRow } from "../../../shared/usage-row.ts";
import type { Revisions } from "../../domain/cell/revisions.ts";
import type { Scheduler } from "../../domain/fairshare/types.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import type { BudgetPort } from "./admission-entry.ts";

export interface AdmissionControllerOptions {
  readonly cell: string;
  readonly scheduler: Scheduler;
  readonly budget: BudgetPort;
  /** What is known of newer records: whoever waited is held against it at its turn (decisions §20.4). */
  readonly revisions: Pick<Revisions, "generation" | "staleAmong">;
  /** How many requests of one tenant may wait; 0: as many as the cell's queue holds (decisions §43.2). */
  readonly maxQueuedPerTenant: number;
  readonly now: () => number;
  readonly later: (delayMs: number, run: () => void) => void;
  /** Takes a completed row on its way; resolves when it is durable. `orphan`: its Worker may have sent a row of its own. */
  readonly complete: (row: UsageRow, orphan: boolean, upstream?: UpstreamOutcomes) => Promise<void>;
  /** Told after every change of what is held or waits. */
  readonly changed: () => void;
}
