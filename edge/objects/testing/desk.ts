/** The front desk for tests, with the real scheduler and the real budgets behind calls that a test delays or fails. */
import type { UsageRow } from "../../../shared/usage-row.ts";
import { FIRST_LIFE } from "../../domain/budget/cell-life.ts";
import { monthOf } from "../../domain/budget/testing/world.ts";
import { Revisions } from "../../domain/cell/revisions.ts";
import { createScheduler } from "../../domain/fairshare/scheduler.ts";
import type { Scheduler } from "../../domain/fairshare/types.ts";
import { AdmissionDesk } from "../admission-desk.ts";
import { BudgetDesk } from "../budget-desk.ts";
import { TestBudgets } from "./budgets.ts";

export interface Desk {
  readonly desk: AdmissionDesk;
  readonly scheduler: Scheduler;
  readonly budgets: TestBudgets;
  readonly rows: UsageRow[];
  /** Requests whose rows were handed in as ones that may have come before. */
  readonly orphans: string[];
  readonly revisions: Revisions;
  nowMs: number;
}

/** A desk at time 0; a test moves `nowMs`. */
export function deskOf(algorithm: "weighted" | "hierarchical", maxInFlight: number, maxQueuedPerTenant = 10_000): Desk {
  const rows: UsageRow[] = [];
  const orphans: string[] = [];
  const now = () => world.nowMs;
  const budgets = new TestBudgets(now);
  const revisions = new Revisions();
  const judge = {
    mayHave: (requestId: string) => desk.mayHave(requestId),
    deferred: (requestId: string) => desk.deferred(requestId),
  };
  const scheduler = createScheduler({ algorithm, maxInFlight, judge });
  const budget = new BudgetDesk({
    cell: "c",
    failOpen: false,
    now,
    nextLife: () => FIRST_LIFE,
    monthOf,
    budgetOf: (tenantId) => budgets.budgetOf(tenantId),
    judged: (requestId, verdict) => desk.judged(requestId, verdict),
    tell: async () => undefined,
    raise: () => undefined,
  });
  const desk: AdmissionDesk = new AdmissionDesk({
    cell: "c",
    scheduler,
    budget,
    revisions,
    maxQueuedPerTenant,
    now,
    later: (delayMs, run) => void setTimeout(run, delayMs),
    complete: async (row, orphan) => {
      rows.push(row);
      if (orphan) orphans.push(row.request_id);
    },
    changed: () => undefined,
  });
  const world: Desk = { desk, scheduler, budgets, rows, orphans, revisions, nowMs: 0 };
  return world;
}
