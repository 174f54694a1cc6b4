/**
 * Changes a model's fields; what is omitted keeps its value, its name never changes (docs/rules/models.md#fields). Every
 * route that changes a model goes through here.
 */
import { eq } from "drizzle-orm";
import type { z } from "zod";
import { type ErrorDetail, GatewayError } from "../../shared/errors.ts";
import { originOf } from "../../shared/network/origin.ts";
import {
  ADAPTIVE_BOUNDS_COMPLAINT,
  areBoundsRight,
  CACHE_TTL_COMPLAINT,
  isCacheTtlRight,
  type Model,
  type PatchModel,
} from "../../shared/schema/model.ts";
import type { Transaction } from "../db/connect.ts";
import { modelEndpoints } from "../db/schema/endpoints.ts";
import { type ModelRow, models } from "../db/schema/models.ts";
import { applyHealthConfig, forgetEvidence, resetHealth } from "../health/configuration-change.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { inheritedKeyWarnings, isKept, keptSecretWarnings } from "../kernel/kept-secrets.ts";
import { parse, parseId, refuseIfAny } from "../kernel/parse.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { auditedWarnings, withWarnings } from "../kernel/warnings.ts";
import { write } from "../kernel/write.ts";
import type { WriteJournal } from "../kernel/write-journal.ts";
import { refuseFallbackCycle } from "./fallback-cycle.ts";
import { fieldsOfUpdate } from "./model-fields.ts";
import { lockModel, type ModelWithHealth, modelRecord } from "./model-record.ts";

const MOVES = ["api_base", "upstream_model", "model_type", "api_dialect"] as const;
const ACCESS = ["api_key", "auth_scheme"] as const;

/** True when the model's upstream is another one, so that its known health says nothing. */
function isMoved(before: ModelRow, after: ModelRow): boolean {
  return MOVES.some((field) => before[field] !== after[field]);
}

/** True when the same upstream may answer differently: the health is kept, and a check is due. */
function mayAnswerDifferently(before: ModelRow, after: ModelRow): boolean {
  return before.enabled !== after.enabled || hasOtherAccess(before, after);
}

function hasOtherAccess(before: ModelRow, after: ModelRow): boolean {
  return ACCESS.some((field) => before[field] !== after[field]);
}

/** The errors that only a comparison with the stored row can find. */
function complaintsAbout(
  body: PatchModel,
  before: ModelRow,
  after: Pick<ModelRow, "cache_enabled" | "cache_ttl_secs" | "adaptive_min" | "adaptive_max">,
): ErrorDetail[] {
  const renamed = body.model_name !== undefined && body.model_name !== before.model_name;
  return [
    ...(renamed ? [{ path: "model_name", message: "cannot be changed; create another model instead" }] : []),
    ...(isCacheTtlRight(after) ? [] : [{ path: "cache_ttl_secs", message: CACHE_TTL_COMPLAINT }]),
    ...(areBoundsRight(after) ? [] : [{ path: "adaptive_max", message: ADAPTIVE_BOUNDS_COMPLAINT }]),
  ];
}

/** Warns when the model's credential is sent from now on to an origin that did not get it before. */
async function secretWarnings(
  tx: Transaction,
  body: PatchModel,
  before: ModelRow,
  after: ModelRow,
): Promise<readonly string[]> {
  const [from, to] = [originOf(before.api_base), originOf(after.api_base)];
  const kept = isKept(body.api_key, before.api_key);
  const own = keptSecretWarnings({ secret: "api_key", address: "api_base", kept }, from, to);
  if (kept && from === to) return own;
  const endpoints = await tx.select().from(modelEndpoints).where(eq(modelEndpoints.model_id, after.id));
  return [...own, ...inheritedKeyWarnings(after, endpoints, { moved: false })];
}

/** How one change of a model differs from the others. */
interface ModelChangeRule<Body> {
  readonly body: z.ZodType<Body>;
  /** Action in the audit log (docs/rules/management-api.md#audit-log). */
  readonly action: string;
  /** The fields that the body changes. Null stands for the default, but a null credential keeps the stored one. */
  readonly fields: (body: Body) => PatchModel;
  /** Columns that no body sets. */
  readonly noted?: (now: Date) => Partial<ModelRow>;
}

/** A change as a verb, and the schema of its body. */
export interface ModelChange {
  readonly body: z.ZodType;
  /** The model. Throws 400, 404. */
  readonly apply: (ctx: VerbContext, id: string, input: unknown) => Promise<Written<Model>>;
}

/** Makes the change that a rule describes. */
export function modelChange<Body>(rule: ModelChangeRule<Body>): ModelChange {
  return {
    body: rule.body,
    apply: async (ctx, id, input) => {
      const modelId = parseId(id);
      const fields = rule.fields(parse(rule.body, input));
      await checkUpstreamAddress(ctx, "api_base", fields.api_base ?? "");
      return await write(ctx, async (tx, journal) => {
        const { after, warnings } = await changeModel(ctx, { ...rule, tx, journal, id: modelId, fields });
        return withWarnings(modelRecord(after), warnings);
      });
    },
  };
}

interface Changing {
  readonly tx: Transaction;
  readonly journal: WriteJournal;
  readonly id: string;
  readonly fields: PatchModel;
  readonly action: string;
  readonly noted?: (now: Date) => Partial<ModelRow>;
}

/** Changes the row within a write, with all that follows from it. Throws 400, 404. */
export async function changeModel(
  ctx: VerbContext,
  { tx, journal, id, fields: body, action, noted }: Changing,
): Promise<{ readonly after: ModelWithHealth; readonly warnings: readonly string[] }> {
  const before = await lockModel(tx, id);
  ctx.checkRecord?.(modelRecord(before));
  const now = ctx.now();
  const fields = { ...(await fieldsOfUpdate(ctx, body, before.row)), ...noted?.(now) };
  refuseIfAny(complaintsAbout(body, before.row, { ...before.row, ...fields }));
  await refuseFallbackCycle(tx, [{ ...fields, model_name: before.row.model_name }]);
  const [row] = await tx
    .update(models)
    .set({ ...fields, rev: journal.rev, updated_at: now })
    .where(eq(models.id, id))
    .returning();
  if (row === undefined) throw new GatewayError("not_found");
  const warnings = await secretWarnings(tx, body, before.row, row);
  journal.audit({
    action,
    entityType: "model",
    entityId: id,
    detail: { ...changedFields(before.row, fields, ["api_key"]), ...auditedWarnings(warnings) },
  });
  journal.modelChanged(row.model_name);
  const moved = isMoved(before.row, row);
  if (moved) await resetHealth(tx, id, now);
  else if (hasOtherAccess(before.row, row)) await forgetEvidence(tx, id, now);
  const isConcerned = body.health !== undefined || mayAnswerDifferently(before.row, row);
  if (isConcerned) await applyHealthConfig(tx, row, now);
  journal.checkIsDue = moved || isConcerned;
  return { after: { row, healthStatus: moved ? "unknown" : before.healthStatus }, warnings };
}
