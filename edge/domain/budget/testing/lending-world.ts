/**
 * A {@link World} whose cells lend allowances to isolates: what isolates hold is drawn as well. A loan that is lost, with its
 * cell or alone, was spent as far as anybody knows, and the ledger hears of all of it.
 */
import { type Amounts, covers, larger, minus, NOTHING, plus } from "../amounts.ts";
import type { BudgetLimits } from "../limits.ts";
import type { LentAmounts } from "../verdict.ts";
import { type Cell, World } from "./world.ts";

export interface Loan {
  readonly id: string;
  readonly cell: Cell;
  readonly limits: BudgetLimits;
  rest: Amounts;
}

export class LendingWorld extends World {
  readonly loans = new Map<string, Loan>();
  #lost: Amounts = NOTHING;
  #taken = 0;

  override get drawn(): Amounts {
    return [...this.loans.values()].reduce((sum, { rest }) => plus(sum, rest), plus(super.drawn, this.#lost));
  }

  lend(cell: Cell, id: string, limits: BudgetLimits, want: Amounts, atLeast: Amounts): LentAmounts | null {
    const { lent, effects } = cell.wallet.lend(id, limits, want, atLeast, this.nowMs);
    this.run(cell, effects);
    // The authority may let one such piece pass a limit.
    this.largest = larger(this.largest, atLeast);
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
    loan.cell.wallet.carve(loan.id, id, loan.limits, need, this.nowMs);
    loan.cell.live.set(id, { id, limits: loan.limits, need });
    return id;
  }

  takeBack(loan: Loan): void {
    this.loans.delete(loan.id);
    loan.cell.wallet.takeBack(loan.id, this.nowMs);
  }

  writeOff(loan: Loan): void {
    loan.cell.wallet.writeOff(loan.id, this.nowMs);
    this.#spent(loan);
  }

  override crashCell(cell: Cell, adopts: boolean): void {
    super.crashCell(cell, adopts);
    for (const loan of this.loans.values()) if (loan.cell === cell) this.#spent(loan);
  }

  #spent({ id, rest }: Loan): void {
    this.loans.delete(id);
    this.#lost = plus(this.#lost, rest);
    this.ledger = { tokens: this.ledger.tokens + rest.termTokens, nanoUsd: this.ledger.nanoUsd + rest.nanoUsd };
  }
}
