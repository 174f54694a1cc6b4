/**
 * What takes back a change of a tenant or a key that may concern its budget. Without caps the server forgets the begin, and a
 * cap that is set without one counts from now (docs/rules/tenants.md#budget-fields): the begin goes back with the caps, or the
 * whole budget could be spent once more. Pure.
 */
import { type FieldValues, undoBody } from "../record/drafts.ts";

const CAPS = ["budget_tokens", "budget_cost_usd"] as const;

/** The fields of the body as they were, and with a cap the begin of the budget, where it had one. */
export function undoBudget(body: FieldValues, base: FieldValues): FieldValues {
  const { budget_started_at = null } = base;
  const isCapNamed = CAPS.some((cap) => Object.hasOwn(body, cap));
  return { ...undoBody(body, base), ...(isCapNamed && budget_started_at !== null ? { budget_started_at } : {}) };
}
