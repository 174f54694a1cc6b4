/** The dependencies of a Cell's admission (admission-machine.ts). */
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { Revisions } from "../cell/revisions.ts";
import type { UpstreamOutcomes } from "../upstream/attempt-outcomes.ts";
import type { AdmissionEntry } from "./admission-entry.ts";
import type { BudgetPort } from "./budget-port.ts";
import type { GivenUpRows } from "./given-up-rows.ts";
import type { Decision, Stale } from "./rpc.ts";

export interface AdmissionOptions {
  readonly cell: string;
  readonly budget: BudgetPort;
  readonly revisions: Pick<Revisions, "generation" | "staleAmong">;
  /**
   * Takes the row of a request that has ended; resolves when it is durable. `orphan`: another row of the request may have been
   * written before; the first one counts.
   */
  readonly rows: { complete(row: UsageRow, orphan: boolean, upstream?: UpstreamOutcomes): Promise<void> };
  readonly givenUpRows: Pick<GivenUpRows, "wait" | "forget">;
  /** How many requests of one tenant may wait; 0: as many as the cell's queue takes (docs/rules/admission.md#queue-bounds). */
  readonly maxQueuedPerTenant: number;
  readonly now: () => number;
  readonly later: (delayMs: number, run: () => void) => void;
  /** Called with the isolate of each request that is entered. */
  readonly entered: (member: string) => void;
  /** Called at every change of the requests that hold a slot, wait, or are sub-calls. */
  readonly changed: () => void;
  /** A request that had to wait has its answer. */
  readonly decided: (entry: AdmissionEntry, answer: Decision | Stale) => void;
  /** Whether an isolate is silent: nobody may be there to use what it gets now. */
  readonly isQuiet: (member: string) => boolean;
}
