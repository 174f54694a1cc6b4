/**
 * A {@link World} whose cells lend allowances to isolates: what isolates hold is drawn as well. A loan that is lost, with its
 * cell or alone, was spent as far as anybody knows, and the ledger hears of all of it.
 */
import { type Amounts, covers, minus, NOTHING, plus } from "../amounts.ts";
import type { BudgetLimits } from "../limits.ts";
import { addTotals, type Totals, totalsOf } from "../totals.ts";
import type { LentAmounts } from "../verdict.ts";
import type { Cell } from "./parts.ts";
import { World } from "./world.ts";

export interface Loan {
  readonly id: string;
  readonly cell: Cell;
  readonly limits: BudgetLimits;
  rest: Amounts;
}

export class LendingWorld extends World {
  readonly loans = new Map<string, Loan>();
  #taken = 0;

  override get drawn(): Totals {
    return [...this.loans.values()].reduce((sum, { rest }) => addTotals(sum, totalsOf(rest)), super.drawn);
  }

  lend(cell: Cell, id: string, limits: BudgetLimits, want: Amounts, atLeast: Amounts): LentAmounts | null {
    const { lent, effects } = cell.wallet.lend(id, limits, want, atLeast, this.clockOf(cell));
    this.run(cell, effects);
    // The authority may let one such piece pass a limit.
    this.truth.drew(atLeast);
    if (lent === null) return null;
    const loan = this.loans.get(id) ?? { id, cell, limits, rest: NOTHING };
    loan.rest = plus(loan.rest, lent.amounts);
    this.loans.set(id, loan);
    return lent;
  }

  /** A request takes its need of what the isolate holds; undefined when that does not cover it. */
  take(loan: Loan, need: Amounts): string | undefined {
    if (!covers(loan.rest, need)) return undefined;
    loan.rest = minus(loan.rest, need);
    this.#taken += 1;
    const id = `lent-${this.#taken}`;
    loan.cell.wallet.carve(loan.id, id, loan.limits, need, this.clockOf(loan.cell));
    loan.cell.live.set(id, { id, limits: loan.limits, need });
    return id;
  }

  takeBack(loan: Loan): void {
    this.loans.delete(loan.id);
    loan.cell.wallet.takeBack(loan.id, this.clockOf(loan.cell));
  }

  writeOff(loan: Loan): void {
    loan.cell.wallet.writeOff(loan.id, this.clockOf(loan.cell));
    this.#spent(loan);
  }

  override crashCell(cell: Cell, adopts: boolean): void {
    super.crashCell(cell, adopts);
    for (const loan of this.loans.values()) if (loan.cell === cell) this.#spent(loan);
  }

  #spent({ id, rest }: Loan): void {
    this.loans.delete(id);
    this.truth.spentUnheard(rest);
  }
}
