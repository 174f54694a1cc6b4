/** The front desk for tests, with the real scheduler and the real budgets behind calls that a test delays or fails. */
import type { UsageRow } from "../../../shared/usage-row.ts";
import { FIRST_LIFE } from "../../domain/budget/epochs.ts";
import { monthOf } from "../../domain/budget/testing/world.ts";
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
  nowMs: number;
}

/** A desk at time 0; a test moves `nowMs`. */
export function deskOf(algorithm: "weighted" | "hierarchical", maxInFlight: number): Desk {
  const rows: UsageRow[] = [];
  const now = () => world.nowMs;
  const budgets = new TestBudgets(now);
  const scheduler = createScheduler({ algorithm, maxInFlight });
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
    now,
    complete: async (row) => {
      rows.push(row);
    },
    changed: () => undefined,
  });
  const world: Desk = { desk, scheduler, budgets, rows, nowMs: 0 };
  return world;
}
