/**
 * What the lender needs of a Cell, from the Cell's own parts: slots of its scheduler, tokens of its budgets, seats of its
 * desk, revisions of its records.
 */
import type { Settlement } from "../domain/ask.ts";
import type { Revisions } from "../domain/cell/revisions.ts";
import type { Scheduler } from "../domain/fairshare/types.ts";
import type { LoanBooks } from "../domain/loan/lender.ts";
import type { AdmissionDesk } from "./admission-desk.ts";
import type { BudgetDesk } from "./budget-desk.ts";

export interface CellParts {
  readonly scheduler: Scheduler;
  readonly desk: AdmissionDesk;
  readonly budget: BudgetDesk;
  readonly revisions: Revisions;
  /** Takes note of a request's end, and of when its row is durable. */
  readonly ended: (requestId: string, row: Promise<void>) => void;
  /** Told when a slot has been lent. */
  readonly changed: () => void;
}

/** The parts of one Cell, as its lender sees them. */
export function loanBooks({ scheduler, desk, budget, revisions, ended, changed }: CellParts): LoanBooks {
  return {
    lend: (lentId, { tenant, group, model }) => {
      // The other half of what is free is for those who ask.
      if (2 * (scheduler.lent + 1) > scheduler.maxInFlight - scheduler.inFlight) return false;
      const lent = scheduler.lend(lentId, { requestId: lentId, tenant, group, model, costTokens: 1 });
      if (lent) changed();
      return lent;
    },
    unlend: (lentId) => desk.apply({ type: "unlend", lentId }),
    allow: (loanId, limits, want, atLeast) => budget.lend(loanId, limits, want, atLeast),
    takeBack: (loanId, limits) => budget.takeBack(loanId, limits),
    writeOff: (loanId, limits) => budget.writeOff(loanId, limits),
    occupy: (lentId, loanId, ask) => desk.occupy(lentId, loanId, ask),
    end: (requestId, settlement: Settlement, orphan) => ended(requestId, desk.endLent(requestId, settlement, orphan)),
    abandon: (requestId) => desk.abandonLent(requestId),
    stale: (revs) => revisions.staleAmong(revs).length > 0,
  };
}
