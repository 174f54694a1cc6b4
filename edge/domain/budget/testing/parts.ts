/** What a test's world of budgets is made of. */
import type { Actual, Amounts } from "../amounts.ts";
import type { LeaseRequest, Report } from "../api.ts";
import { CellBudget } from "../cell-budget.ts";
import type { BudgetLimits } from "../limits.ts";
import type { MonthOf } from "../term-budget.ts";

/** A call on its way: the caller hears one outcome, the authority may see it any number of times. */
export interface Call {
  readonly cell: Cell;
  readonly budget: CellBudget;
  readonly body:
    | { readonly kind: "lease"; readonly request: LeaseRequest }
    | { readonly kind: "report"; readonly report: Report };
  open: boolean;
}

export interface Live {
  readonly id: string;
  readonly limits: BudgetLimits;
  readonly need: Amounts;
  /** What its cell settled when it lost sight of it; it has come back since. */
  readonly charged?: Actual;
  /** It came back to the life of the cell that had lost it: what was charged is taken off there. */
  readonly sameLife?: boolean;
}

/** A request that its cell lost sight of, and that may come back. */
export interface Adrift {
  readonly live: Live;
  readonly cell: Cell;
  readonly life: number;
}

export interface Cell {
  readonly name: string;
  life: number;
  budget: CellBudget;
  /** How far its clock is from the world's time. */
  skewMs: number;
  /** Requests that wait for their slots. */
  readonly expected: Map<string, Live>;
  /** Requests that wait for the verdict. */
  readonly waiting: Map<string, Live>;
  readonly live: Map<string, Live>;
}

/** Makes the budgets of lives of cells; their numbers rise over all of them. */
export function budgetsIn(monthOf: MonthOf): (cell: string, life: number) => CellBudget {
  let n = 0;
  const nextN = () => {
    n += 1;
    return n;
  };
  return (cell, life) => new CellBudget({ cell, life, nextN }, monthOf);
}

/** A cell in its first life, whose clock is right. */
export function newCell(name: string, newBudget: (cell: string, life: number) => CellBudget): Cell {
  const requests = { expected: new Map(), waiting: new Map(), live: new Map() };
  return { name, life: 1, budget: newBudget(name, 1), skewMs: 0, ...requests };
}
