/**
 * Changes a model's fields; what is omitted keeps its value, its name never changes (docs/rules/models.md#fields).
 */
import { eq } from "drizzle-orm";
import { type ErrorDetail, GatewayError } from "../../shared/errors.ts";
import { originOf } from "../../shared/network/origin.ts";
import {
  CACHE_TTL_COMPLAINT,
  isCacheTtlRight,
  type Model,
  type PatchModel,
  patchModelSchema,
  updateModelSchema,
} from "../../shared/schema/model.ts";
import type { Transaction } from "../db/connect.ts";
import { modelEndpoints } from "../db/schema/endpoints.ts";
import { type ModelRow, models } from "../db/schema/models.ts";
import { applyHealthConfig, resetHealth } from "../health/configuration-change.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { inheritedKeyWarnings, isKept, keptSecretWarnings } from "../kernel/kept-secrets.ts";
import { parse, parseId, refuseIfAny } from "../kernel/parse.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";
import { auditedWarnings, withWarnings } from "../kernel/warnings.ts";
import { write } from "../kernel/write.ts";
import { fieldsOfUpdate } from "./model-fields.ts";
import { lockModel, modelRecord } from "./model-record.ts";

/** True when the model's upstream is another one, so that its known health says nothing. */
function isMoved(before: ModelRow, after: ModelRow): boolean {
  return (["api_base", "upstream_model", "model_type"] as const).some((field) => before[field] !== after[field]);
}

/** True when the same upstream may answer differently: the health is kept, and a check is due. */
function mayAnswerDifferently(before: ModelRow, after: ModelRow): boolean {
  return before.enabled !== after.enabled || before.api_key !== after.api_key;
}

/** The errors that only a comparison with the stored row can find. */
function complaintsAbout(
  body: PatchModel,
  before: ModelRow,
  after: Pick<ModelRow, "cache_enabled" | "cache_ttl_secs">,
): ErrorDetail[] {
  const renamed = body.model_name !== undefined && body.model_name !== before.model_name;
  return [
    ...(renamed ? [{ path: "model_name", message: "cannot be changed; create another model instead" }] : []),
    ...(isCacheTtlRight(after) ? [] : [{ path: "cache_ttl_secs", message: CACHE_TTL_COMPLAINT }]),
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

/** The model. A null credential keeps the stored one. Throws 400, 404. */
export async function updateModel(ctx: VerbContext, id: string, input: unknown): Promise<Written<Model>> {
  return await changeModel(ctx, parseId(id), parse(updateModelSchema, input));
}

/** The model. Null stands for the default, and clears the credential. Throws 400, 404. */
export async function patchModel(ctx: VerbContext, id: string, input: unknown): Promise<Written<Model>> {
  const modelId = parseId(id);
  const body = parse(patchModelSchema, input);
  return await changeModel(ctx, modelId, body.api_key === null ? { ...body, api_key: "" } : body);
}

async function changeModel(ctx: VerbContext, modelId: string, body: PatchModel): Promise<Written<Model>> {
  await checkUpstreamAddress(ctx, "api_base", body.api_base ?? "");
  return await write(ctx, async (tx, journal) => {
    const before = await lockModel(tx, modelId);
    ctx.judge?.(modelRecord(before));
    const fields = await fieldsOfUpdate(ctx, body, before.row);
    refuseIfAny(complaintsAbout(body, before.row, { ...before.row, ...fields }));
    const now = ctx.now();
    const [row] = await tx
      .update(models)
      .set({ ...fields, rev: journal.rev, updated_at: now })
      .where(eq(models.id, modelId))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    const warnings = await secretWarnings(tx, body, before.row, row);
    journal.audit({
      action: "update_model",
      entityType: "model",
      entityId: modelId,
      detail: { ...changedFields(before.row, fields, ["api_key"]), ...auditedWarnings(warnings) },
    });
    journal.modelChanged(row.model_name);
    const moved = isMoved(before.row, row);
    if (moved) await resetHealth(tx, modelId, now);
    const isConcerned = body.health !== undefined || mayAnswerDifferently(before.row, row);
    if (isConcerned) await applyHealthConfig(tx, row, now);
    journal.checkIsDue = moved || isConcerned;
    return withWarnings(modelRecord({ row, healthStatus: moved ? "unknown" : before.healthStatus }), warnings);
  });
}
