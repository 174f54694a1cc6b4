/**
 * The internal routes about budgets (shared/internal-budgets.ts).
 */
import { GatewayError } from "../../shared/errors.ts";
import { budgetSubjectSchema, rebuildBodySchema } from "../../shared/internal-budgets.ts";
import type { Deps } from "../deps.ts";

/** What a tenant or key has used. */
export async function answerBudgetUsage(deps: Deps, request: Request): Promise<Response> {
  const body = budgetSubjectSchema.safeParse(await request.json().catch(() => null));
  if (!body.success) throw new GatewayError("validation_failed", { param: "tenant" });
  return Response.json(await deps.budgets.usage(body.data));
}

/** Holds counters against the ledger. */
export async function answerBudgetRebuild(deps: Deps, request: Request): Promise<Response> {
  const body = rebuildBodySchema.safeParse(await request.json().catch(() => null));
  if (!body.success) throw new GatewayError("validation_failed", { param: "subjects" });
  return Response.json({ rebuilt: await deps.budgets.rebuild(body.data.subjects) });
}
