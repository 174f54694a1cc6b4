/**
 * When a budget resets, in words (docs/rules/budgets.md#periods). The end of its period comes from the authority that
 * keeps the budget; only a form that has not saved one yet works out the next month itself.
 */
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import { timeTexts } from "../messages/en/time.ts";
import { texts } from "../messages/texts.ts";
import { formatAge, formatInstant, instantOf } from "./instants.ts";
import { zoneLabel } from "./zones.ts";

const text = texts("time", timeTexts);

/** `Resets 1 Dec 2026, 00:00 Asia/Kolkata (UTC+05:30) (in 8 days).` The zone is the tenant's. */
export function resetSentence(
  usage: Pick<BudgetUsage, "budget_period" | "period_end">,
  tenantZone: string,
  nowMs: number,
): string {
  const endMs = instantOf(usage.period_end);
  if (endMs === null || usage.budget_period === null || usage.budget_period === "lifetime") return text("resetNever");
  const isTerm = usage.budget_period === "term";
  if (endMs <= nowMs) return text(isTerm ? "termOver" : "resetDue");
  const values = {
    instant: formatInstant(tenantZone, endMs, "minute"),
    zone: zoneLabel(tenantZone, endMs),
    age: formatAge(nowMs, endMs),
  };
  return text(isTerm ? "termEnds" : "resetAt", values);
}
