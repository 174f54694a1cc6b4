/**
 * Allowances: what isolates may draw for requests without asking (design §12), by loan. To the authority each is a reservation
 * like that of a request. Invariant: what was added is split off or ended, never two of them and never none.
 */
import { type Amounts, minus, plus, smaller } from "./amounts.ts";
import { type BudgetLimits, purseOf } from "./limits.ts";

/** Part of a purse that is out on a loan. */
export interface Allowance {
  readonly limits: BudgetLimits;
  readonly purse: string | null;
  readonly amounts: Amounts;
}

export class Allowances {
  readonly #byLoan = new Map<string, Allowance>();

  get size(): number {
    return this.#byLoan.size;
  }

  /** Whether the loan's allowance may grow under these limits: only while they are those it was made under. */
  mayGrow(loanId: string, limits: BudgetLimits): boolean {
    const known = this.#byLoan.get(loanId)?.limits;
    return known === undefined || (known.tenant.rev === limits.tenant.rev && known.key.rev === limits.key.rev);
  }

  add(loanId: string, limits: BudgetLimits, amounts: Amounts): void {
    const known = this.#byLoan.get(loanId);
    if (known === undefined) this.#byLoan.set(loanId, { limits, purse: purseOf(limits), amounts });
    else this.#byLoan.set(loanId, { ...known, amounts: plus(known.amounts, amounts) });
  }

  /** Splits off `need`, or what there is of it; undefined when nothing was ever lent to the loan, or it has ended. */
  split(loanId: string, need: Amounts): Allowance | undefined {
    const known = this.#byLoan.get(loanId);
    if (known === undefined) return undefined;
    const amounts = smaller(need, known.amounts);
    this.#byLoan.set(loanId, { ...known, amounts: minus(known.amounts, amounts) });
    return { ...known, amounts };
  }

  /** The rest, which is no allowance any more; undefined as for {@link split}. */
  end(loanId: string): Allowance | undefined {
    const known = this.#byLoan.get(loanId);
    this.#byLoan.delete(loanId);
    return known;
  }
}
