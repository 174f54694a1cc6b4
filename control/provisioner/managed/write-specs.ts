/**
 * Creates, changes and removes the spec of a managed model, and notes what keeps the provisioner from starting a replica
 * (docs/rules/managed-models.md#spec-fields). The provisioner acts on it in its next tick; a spec that is gone has no
 * target, so that its replicas end.
 */
import { eq } from "drizzle-orm";
import type { z } from "zod";
import { GatewayError } from "../../../shared/errors.ts";
import {
  type ManagedModel,
  patchManagedModelSchema,
  provisionErrorSchema,
  putManagedModelSchema,
} from "../../../shared/schema/managed-model.ts";
import { type ManagedModelRow, managedModels } from "../../db/schema/managed-models.ts";
import { changedFields } from "../../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { mergePatch } from "../../kernel/merge-patch.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { write } from "../../kernel/write.ts";
import { lockModel } from "../../models/model-record.ts";
import { readManagedModel } from "./managed-model-record.ts";

/** Operators write credentials into scripts, so the audit log says only that they have changed. */
const SCRIPTS = ["preamble", "launch_command", "script_body", "launcher_spec"];

type SpecBody = z.output<typeof putManagedModelSchema>;

/** The spec; a field that the body omits gets its default, also when the spec is replaced. Throws 400, 404. */
export async function putManagedModel(ctx: VerbContext, model: string, input: unknown): Promise<Written<ManagedModel>> {
  const body = parse(putManagedModelSchema, input);
  return await writeSpec(ctx, parseId(model), () => body);
}

/** The spec; null stands for the default. Throws 400, and 404 for a model without a spec. */
export async function patchManagedModel(
  ctx: VerbContext,
  model: string,
  input: unknown,
): Promise<Written<ManagedModel>> {
  const patch = parse(patchManagedModelSchema, input);
  return await writeSpec(ctx, parseId(model), (before) => {
    if (before === undefined) throw new GatewayError("not_found");
    return parse(putManagedModelSchema, mergePatch(before, patch));
  });
}

async function writeSpec(
  ctx: VerbContext,
  modelId: string,
  bodyOf: (before: ManagedModelRow | undefined) => SpecBody,
): Promise<Written<ManagedModel>> {
  return await write(ctx, async (tx, journal) => {
    const { model_name } = (await lockModel(tx, modelId)).row;
    const [before] = await tx.select().from(managedModels).where(eq(managedModels.model_id, modelId));
    ctx.checkRecord?.(before === undefined ? {} : await readManagedModel(tx, modelId));
    const body = bodyOf(before);
    const now = ctx.now();
    const row = { ...body, rev: journal.rev, updated_at: now };
    if (before === undefined) await tx.insert(managedModels).values({ ...row, model_id: modelId, created_at: now });
    else await tx.update(managedModels).set(row).where(eq(managedModels.model_id, modelId));
    journal.audit({
      action: "put_managed_model",
      entityType: "managed_model",
      entityId: modelId,
      detail: { model_name, ...changedFields(before ?? {}, body, SCRIPTS) },
    });
    return await readManagedModel(tx, modelId);
  });
}

/** Throws 404, also for a model without a spec. */
export async function deleteManagedModel(ctx: VerbContext, model: string): Promise<Written<null>> {
  const modelId = parseId(model);
  return await write(ctx, async (tx, journal) => {
    const { model_name } = (await lockModel(tx, modelId)).row;
    const spec = await readManagedModel(tx, modelId);
    ctx.checkRecord?.(spec);
    await tx.delete(managedModels).where(eq(managedModels.model_id, modelId));
    journal.audit({
      action: "delete_managed_model",
      entityType: "managed_model",
      entityId: modelId,
      detail: { model_name },
    });
    return null;
  });
}

/**
 * The spec with what keeps the provisioner from starting a replica; null: nothing any more. It is a report, not a change of
 * the configuration, so that it has no entry in the audit log and leaves `updated_at` and `rev` alone. Throws 400, 404.
 */
export async function setProvisionError(
  ctx: VerbContext,
  model: string,
  input: unknown,
): Promise<Written<ManagedModel>> {
  const modelId = parseId(model);
  const { error } = parse(provisionErrorSchema, input);
  return await write(ctx, async (tx) => {
    ctx.checkRecord?.(await readManagedModel(tx, modelId));
    const changed = await tx
      .update(managedModels)
      .set({ provision_error: error })
      .where(eq(managedModels.model_id, modelId))
      .returning({ id: managedModels.model_id });
    if (changed.length === 0) throw new GatewayError("not_found");
    return await readManagedModel(tx, modelId);
  });
}
