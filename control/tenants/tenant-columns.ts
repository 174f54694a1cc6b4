/**
 * What an admin sets of a tenant as columns of its row (docs/rules/tenants.md#writes): the same for a new tenant, for every
 * field at once and for the routes of single fields.
 */

import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { isScheduleRight, type PatchTenant, SCHEDULE_COMPLAINT } from "../../shared/schema/tenant.ts";
import { compressionPolicyBody, guardrailsPolicyBody } from "../../shared/schema/tenant-policy.ts";
import type { TenantRow } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import { dropUndefined, errorDetailsOf, fieldError, refuseIfAny } from "../kernel/parse.ts";
import { changedBudget } from "./budget-columns.ts";
import { guardrailsPolicyWrite } from "./guardrails-policy.ts";

export type TenantColumns = Partial<Omit<TenantRow, "id" | "rev" | "created_at" | "updated_at">>;

/** The columns that the fields set; null: there is no row yet. Throws 400 for what only the whole record shows to be wrong. */
export function tenantColumns(given: PatchTenant, before: TenantRow | null, now: Date): TenantColumns {
  const { active_from, active_until, capture_until, guardrails_policy, compression_policy, ...plain } = given;
  const columns = {
    ...dropUndefined(plain),
    ...dropUndefined({
      active_from: instant(active_from),
      active_until: instant(active_until),
      capture_until: instant(capture_until),
      guardrails_policy: mergedGuardrails(guardrails_policy, before, "guardrails_policy"),
      compression_policy: mergedCompression(compression_policy, before),
    }),
    ...changedBudget(given, before, now),
  } as TenantColumns;
  const isScheduled = active_from !== undefined || active_until !== undefined;
  if (isScheduled && !isScheduleRight({ ...before, ...columns })) throw fieldError("active_until", SCHEDULE_COMPLAINT);
  return columns;
}

/** Throws 400 for a capture that would last too long, or could not be sealed (docs/rules/capture.md#switch). */
export function checkCapture({ now, sealKey }: VerbContext, until: Date | string | null | undefined): void {
  const aheadMs = new Date(until ?? 0).getTime() - now().getTime();
  if (aheadMs > LIMITS.captureTime) throw fieldError("capture_until", "must be at most 24 hours ahead");
  if (aheadMs > 0 && sealKey === undefined)
    throw fieldError("capture_until", "needs GATEWAY_ENCRYPTION_KEY, because captures are sealed: set it first");
}

/** The policy after a change; null turns guardrails off. `at` is where a body has it. Throws 400. */
export function mergedGuardrails(
  given: PatchTenant["guardrails_policy"],
  before: TenantRow | null,
  at: string,
): TenantRow["guardrails_policy"] {
  const present = before?.guardrails_policy;
  const policy = merged(guardrailsPolicyBody, given, present, at);
  // One from before this rule can be sent back as it was read.
  return isDeepStrictEqual(policy, present) ? policy : merged(guardrailsPolicyWrite, given, present, at);
}

/** The policy after a change; null falls back to the global settings. */
export function mergedCompression(
  given: PatchTenant["compression_policy"],
  before: TenantRow | null,
): TenantRow["compression_policy"] {
  return merged(compressionPolicyBody, given, before?.compression_policy, "compression_policy");
}

/** Undefined: nothing changes. */
function merged(schema: z.ZodType, given: object | null | undefined, before: unknown, at: string): unknown {
  if (given === null || given === undefined) return given;
  const parsed = schema.safeParse({ ...(before as object | null | undefined), ...dropUndefined(given) });
  if (!parsed.success) refuseIfAny(errorDetailsOf(parsed.error, [at]));
  return parsed.data;
}

function instant(text: string | null | undefined): Date | null | undefined {
  return text === null || text === undefined ? text : new Date(text);
}
