/** One Cell over several lives, for tests: each has its own admission, and all have one budget object. */

import { vi } from "vitest";
import type { AdmissionMachine } from "../../../../edge/domain/admission/admission-machine.ts";
import { lifeAfter } from "../../../../edge/domain/budget/cell-life.ts";
import type { BudgetLimits } from "../../../../edge/domain/budget/limits.ts";
import { AdmissionHarness } from "./admission-harness.ts";
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
    const { admission } = new AdmissionHarness("weighted", 8, 0, {
      now: Date.now,
      later: () => undefined,
      nextLife: () => {
        this.#stored = String(lifeAfter(this.#stored));
        return Number(this.#stored);
      },
      budgetOf: (tenantId) =>
        life === this.#alive
          ? this.budgets.budgetOf(tenantId)
          : { lease: silent, report: silent, level: async () => null, limitsChanged: async () => undefined },
    });
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
