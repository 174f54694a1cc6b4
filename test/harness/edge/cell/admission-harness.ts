/** The admission controller for tests, with the real scheduler and the real budgets behind calls that a test delays or fails. */

import { FIRST_LIFE } from "../../../../edge/domain/budget/cell-life.ts";
import { Revisions } from "../../../../edge/domain/cell/revisions.ts";
import { createScheduler } from "../../../../edge/domain/fairshare/scheduler.ts";
import type { Scheduler } from "../../../../edge/domain/fairshare/types.ts";
import { AdmissionController } from "../../../../edge/objects/cell/admission-controller.ts";
import { AdmissionEntries } from "../../../../edge/objects/cell/admission-entries.ts";
import { LateDecisions } from "../../../../edge/objects/cell/admission-entry.ts";
import { BudgetGateway } from "../../../../edge/objects/cell/budget-gateway.ts";
import { SilentHolders } from "../../../../edge/objects/cell/silent-holders.ts";
import type { UsageRow } from "../../../../shared/usage-row.ts";
import { thirtyDayMonthOf } from "../budget/simulation.ts";
import { TestBudgets } from "./test-budgets.ts";

export interface AdmissionHarness {
  readonly admission: AdmissionController;
  readonly entries: AdmissionEntries;
  readonly scheduler: Scheduler;
  readonly budgets: TestBudgets;
  readonly rows: UsageRow[];
  /** Requests whose rows were handed in as rows that may have come before. */
  readonly orphans: string[];
  readonly revisions: Revisions;
  /** Isolates are silent after 10 s, in sweeps of 2 s. */
  readonly holders: SilentHolders;
  nowMs: number;
}

/** A controller at time 0; a test moves `nowMs`. */
export function admissionHarnessOf(
  algorithm: "weighted" | "hierarchical",
  maxInFlight: number,
  maxQueuedPerTenant = 10_000,
): AdmissionHarness {
  const rows: UsageRow[] = [];
  const orphans: string[] = [];
  const now = () => world.nowMs;
  const budgets = new TestBudgets(now);
  const revisions = new Revisions();
  const entries = new AdmissionEntries(revisions, now, {
    heard: (holder, leaseMs) => holders.heard(holder, leaseMs),
    isQuiet: (holder) => holders.isQuiet(holder),
  });
  const scheduler = createScheduler({ algorithm, maxInFlight, grantCheck: entries });
  const late = new LateDecisions();
  const budget = new BudgetGateway({
    cell: "c",
    failOpen: false,
    now,
    nextLife: () => FIRST_LIFE,
    monthOf: thirtyDayMonthOf,
    budgetOf: (tenantId) => budgets.budgetOf(tenantId),
    late,
    deliverAlert: async () => undefined,
    raise: () => undefined,
  });
  const admission = new AdmissionController({
    cell: "c",
    entries,
    scheduler,
    budget,
    revisions,
    maxQueuedPerTenant,
    now,
    later: (delayMs, run) => void setTimeout(run, delayMs),
    rows: {
      complete: async (row, orphan) => {
        if (orphan) orphans.push(row.request_id);
        // The Ledger drops it too.
        if (orphan && rows.some((other) => other.request_id === row.request_id)) return;
        rows.push(row);
      },
    },
    activity: { changed: () => undefined },
  });
  const holders = new SilentHolders({
    leaseMs: 5_000,
    everyMs: 2_000,
    entries,
    takeBack: (entry) => admission.takeBack(entry),
    isBack: (holder) => admission.isBack(holder),
    unheard: (entry) => admission.unheard(entry),
  });
  late.readBy((decisions) => admission.applyBudgetDecisions(decisions));
  const world: AdmissionHarness = {
    admission,
    entries,
    scheduler,
    budgets,
    rows,
    orphans,
    revisions,
    holders,
    nowMs: 0,
  };
  return world;
}
