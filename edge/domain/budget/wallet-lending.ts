/**
 * What a wallet lends to isolates, for requests that they admit without asking (design §12): a part of a purse as the allowance
 * of a loan, which requests are carved from until the loan ends or is lost.
 */
import { type Allowance, Allowances } from "./allowances.ts";
import { type Amounts, isNothing, NOTHING } from "./amounts.ts";
import type { LineKind } from "./api.ts";
import { faultInNeed } from "./checks.ts";
import { type BudgetLimits, countedBy, needsLease, purseOf } from "./limits.ts";
import { NO_TAGS } from "./tags.ts";
import type { LendAnswer, LentAmounts } from "./verdict.ts";
import type { WalletState } from "./wallet-state.ts";

export class WalletLending {
  readonly #state: WalletState;
  readonly #allowances = new Allowances();

  constructor(state: WalletState) {
    this.#state = state;
  }

  /** Nothing is out on a loan. */
  get idle(): boolean {
    return this.#allowances.size === 0;
  }

  /** See Wallet.lend. */
  lend(loanId: string, limits: BudgetLimits, want: Amounts, atLeast: Amounts, nowMs: number): LendAnswer {
    const state = this.#state;
    const fault = faultInNeed(limits, want) ?? faultInNeed(limits, atLeast);
    if (state.isFault(fault, "nothing is lent")) return { lent: null, effects: [] };
    if (!needsLease(limits)) return { lent: { amounts: want, level: null }, effects: [] };
    const atMs = state.time.at(nowMs);
    const wanted = countedBy(limits, want);
    if (isNothing(wanted)) return { lent: this.#lent(limits, NOTHING, atMs), effects: [] };
    const purse = state.purses.of(purseOf(limits));
    purse.expire(atMs);
    const piece = state.waiter(loanId, limits, atLeast, nowMs);
    const may = this.#allowances.mayGrow(loanId, limits);
    const amounts = may ? purse.lend(limits, wanted, piece.need, atMs) : null;
    if (amounts !== null) this.#allowances.add(loanId, limits, amounts);
    const request = purse.nextAskToLend(piece, wanted, atMs);
    const lent = amounts === null ? null : this.#lent(limits, amounts, atMs);
    return { lent, effects: request === null ? [] : [{ type: "ask", request }] };
  }

  /** See Wallet.carve. */
  carve(loanId: string, requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): void {
    const state = this.#state;
    const waiter = state.waiter(requestId, limits, need, nowMs);
    const part = this.#allowances.split(loanId, waiter.need);
    const held = state.reservations.get(requestId);
    const early = part !== undefined && held?.origin === "adopted";
    if (early) this.#end({ ...held, amounts: held.drawn }, "doubled", nowMs);
    const known = held !== undefined || state.purses.knows(requestId);
    if (!early && known) this.#end(part, "settled", nowMs);
    else state.hold(waiter, part?.purse ?? null, part?.amounts ?? NOTHING);
  }

  /** The loan has ended or is lost: what is left of its allowance is told as that. */
  end(loanId: string, kind: LineKind, nowMs: number): void {
    this.#end(this.#allowances.end(loanId), kind, nowMs);
  }

  /** Without a level that is known nothing is lent: responses state it. A lease that lives has brought one. */
  #lent(limits: BudgetLimits, amounts: Amounts, atMs: number): LentAmounts | null {
    const level = this.#state.level(limits, atMs);
    return level === undefined ? null : { amounts, level };
  }

  #end(allowance: Allowance | undefined, kind: LineKind, nowMs: number): void {
    if (allowance === undefined || isNothing(allowance.amounts)) return;
    const { purse, limits, amounts: released } = allowance;
    const used = { tokens: 0, nanoUsd: 0 };
    this.#state.tell({ purse, limits, tags: NO_TAGS, released, used, kind }, this.#state.time.at(nowMs));
  }
}
