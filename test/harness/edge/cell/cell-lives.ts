/** One Cell over several lives, for tests: each has its own admission, and all have one budget object. */

import { vi } from "vitest";
import { AdmissionMachine } from "../../../../edge/domain/admission/admission-machine.ts";
import { lifeAfter } from "../../../../edge/domain/budget/cell-life.ts";
import type { BudgetLimits } from "../../../../edge/domain/budget/limits.ts";
import { Revisions } from "../../../../edge/domain/cell/revisions.ts";
import { createScheduler } from "../../../../edge/domain/fairshare/scheduler.ts";
import { BudgetGateway } from "../../../../edge/objects/cell/budget-gateway.ts";
import { thirtyDayMonthOf } from "../budget/simulation.ts";
import { TestBudgets } from "./test-budgets.ts";

/** The lives of one Cell over one budget object. Answers no longer reach the lives before the last one. */
export class CellLives {
  readonly budgets = new TestBudgets(Date.now);
  readonly #limits: BudgetLimits;
  #alive = 0;
  #stored: string | null = null;
  admission: AdmissionMachine;

  /** `limits` are those of the tenant whose counters are read. */
  constructor(limits: BudgetLimits) {
    this.#limits = limits;
    this.admission = this.begin();
  }

  /** The next life; the one before is beyond reach from now on. */
  begin(): AdmissionMachine {
    this.#alive += 1;
    const life = this.#alive;
    const silent = async () => await new Promise<never>(() => undefined);
    const budget = new BudgetGateway({
      cell: "c",
      failOpen: false,
      now: Date.now,
      nextLife: () => {
        this.#stored = String(lifeAfter(this.#stored));
        return Number(this.#stored);
      },
      monthOf: thirtyDayMonthOf,
      budgetOf: (tenantId) =>
        life === this.#alive
          ? this.budgets.budgetOf(tenantId)
          : { lease: silent, report: silent, level: async () => null, limitsChanged: async () => undefined },
      late: { put: (decisions) => admission.applyBudgetDecisions(decisions) },
      raise: () => undefined,
    });
    const admission: AdmissionMachine = new AdmissionMachine(
      {
        cell: "c",
        budget,
        revisions: new Revisions(),
        maxQueuedPerTenant: 0,
        now: Date.now,
        rows: { complete: async () => undefined },
        later: () => undefined,
        changed: () => undefined,
        decided: () => undefined,
        isQuiet: () => false,
      },
      (grantCheck) => createScheduler({ algorithm: "weighted", maxInFlight: 8, grantCheck }),
    );
    this.admission = admission;
    return admission;
  }

  async pass(ms = 5_000): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
  }

  /** The counters and reservations, after the ledger was read for every life that is over. */
  get tenant() {
    const core = this.budgets.core("tenant-1");
    core.tick(Date.now());
    if (core.countersAwaitingLedger(Date.now()).length > 0) core.ledgerSettled();
    return core.read("tenant", this.#limits, Date.now());
  }
}
