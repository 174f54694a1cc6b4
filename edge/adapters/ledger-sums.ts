/** Reads the use of a tenant or key from the analytics store (docs/rules/budgets.md#check-against-the-ledger). */

import type { ActualUsage } from "../domain/budget/amounts.ts";
import { ledgerQuery, readLedgerAnswer } from "../domain/budget/authority/ledger-query.ts";
import type { BudgetOwner } from "../domain/budget/limits.ts";
import { StoreFailure } from "../domain/ledger/analytics-store.ts";
import type { Env } from "../env.ts";
import { call } from "./clickhouse-insert.ts";

/**
 * The sum over rows of the tenant or key that ended from `sinceMs` (null: since ever) until `untilMs`. Throws StoreFailure.
 */
export async function ledgerSum(
  store: Env["clickhouse"],
  whose: BudgetOwner,
  id: string,
  sinceMs: number | null,
  untilMs: number,
): Promise<ActualUsage> {
  const query = ledgerQuery(store.db, whose, id, sinceMs, untilMs);
  if (query === null) return { tokens: 0, nanoUsd: 0 };
  const sum = readLedgerAnswer(await call(store, query, {}, null));
  if (sum === null) throw new StoreFailure("unexpected answer");
  return sum;
}
