/** What a test's world of budgets is made of. */
import type { ActualUsage, Amounts } from "../../../../edge/domain/budget/amounts.ts";
import type { BudgetLimits } from "../../../../edge/domain/budget/limits.ts";
import type { BudgetReport, LeaseRequest } from "../../../../edge/domain/budget/messages/rpc.ts";
import { CellBudget } from "../../../../edge/domain/budget/spender/cell-budget.ts";
import type { MonthOf } from "../../../../edge/domain/budget/term-budget.ts";

/** A call on its way: the caller gets one outcome; the authority may receive it any number of times. */
export interface PendingCall {
  readonly cell: SimulatedCell;
  readonly budget: CellBudget;
  readonly body:
    | { readonly kind: "lease"; readonly request: LeaseRequest }
    | { readonly kind: "report"; readonly report: BudgetReport };
  open: boolean;
}

export interface SimulatedRequest {
  readonly id: string;
  readonly limits: BudgetLimits;
  readonly need: Amounts;
  readonly charged?: ActualUsage;
  /** It came back to the life of the Cell that had lost it: what was charged is subtracted there. */
  readonly sameLife?: boolean;
}

/** A request that its Cell lost contact with, and that may come back. */
export interface LostRequest {
  readonly live: SimulatedRequest;
  readonly cell: SimulatedCell;
  readonly life: number;
}

export interface SimulatedCell {
  readonly name: string;
  life: number;
  budget: CellBudget;
  /** How far its clock is from the world's time. */
  skewMs: number;
  /** Requests that wait for their slots. */
  readonly expected: Map<string, SimulatedRequest>;
  /** Requests that wait for the verdict. */
  readonly waiting: Map<string, SimulatedRequest>;
  readonly live: Map<string, SimulatedRequest>;
}

/** Makes the budgets of lives of cells; their numbers rise over all of them. */
export function budgetsIn(monthOf: MonthOf): (cell: string, life: number) => CellBudget {
  let n = 0;
  const nextN = () => {
    n += 1;
    return n;
  };
  return (cell, life) => new CellBudget({ cell, life, nextN }, { monthOf, failOpen: false });
}

/** A cell in its first life, whose clock is right. */
export function newCell(name: string, newBudget: (cell: string, life: number) => CellBudget): SimulatedCell {
  const requests = { expected: new Map(), waiting: new Map(), live: new Map() };
  return { name, life: 1, budget: newBudget(name, 1), skewMs: 0, ...requests };
}
