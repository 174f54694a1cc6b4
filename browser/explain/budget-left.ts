import type { Records } from "../data/api.ts";
import { explainTexts } from "../messages/en/explain.ts";
import { texts } from "../messages/texts.ts";
import { formatShare } from "../ui/format.ts";

const text = texts("explain", explainTexts);

type Budget = Pick<
  Records["BudgetUsage"],
  | "budget_tokens"
  | "budget_cost_usd"
  | "remaining_tokens"
  | "remaining_cost_usd"
  | "reserved_tokens"
  | "reserved_cost_usd"
>;

/** Parts of the budget, 0 to 1, by the cap that is nearer: neither used nor reserved, and reserved. Null: it has no cap. */
function shares(usage: Budget): { readonly left: number; readonly held: number } | null {
  const parts = [
    [usage.remaining_tokens, usage.reserved_tokens, usage.budget_tokens] as const,
    [usage.remaining_cost_usd, usage.reserved_cost_usd, usage.budget_cost_usd] as const,
  ].flatMap(([left, held, cap]) =>
    left == null || cap == null ? [] : [cap > 0 ? { left: left / cap, held: held / cap } : { left: 0, held: 0 }],
  );
  const [nearest] = parts.sort((a, b) => a.left - b.left);
  return nearest ?? null;
}

/** The part of the budget that is neither used nor reserved, 0 to 1, by the cap that is nearer; null: it has no cap. */
export function budgetLeft(usage: Budget): number | null {
  const left = shares(usage)?.left;
  return left === undefined ? null : Math.min(1, Math.max(0, left));
}

/** The same in words, with the part that running requests hold: used, held and left are the whole. */
export function budgetLeftText(usage: Budget): string {
  const held = shares(usage)?.held ?? 0;
  const left = formatShare(budgetLeft(usage));
  return held > 0 ? text("leftHeld", { left, held: formatShare(held) }) : left;
}
