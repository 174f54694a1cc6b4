/**
 * A change of single fields of a model, made from a rule: the schema of the body, the name of the change in the audit log,
 * and the columns that follow from the body. Every change locks the row, updates it, writes the audit entry and publishes
 * the hot copy.
 */
import { eq } from "drizzle-orm";
import type { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import type { Model } from "../../shared/schema/model.ts";
import { type ModelRow, models } from "../db/schema/models.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse, parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { lockModel, modelRecord } from "./model-record.ts";

/** Columns without secrets, so that the audit log may show their values. */
type Columns = Partial<
  Pick<
    ModelRow,
    | "max_in_flight"
    | "admission_weight"
    | "capacity_mode"
    | "capacity_tuned_at"
    | "cache_enabled"
    | "cache_ttl_secs"
    | "request_timeout_secs"
    | "max_retries"
    | "retry_backoff_ms"
    | "endpoint_selection_mode"
    | "debug_diagnostics"
  >
>;

/** How one change of a model differs from the others. */
interface ModelChangeRule<Body> {
  readonly body: z.ZodType<Body>;
  /** Action in the audit log (docs/rules/management-api.md#audit-log). */
  readonly action: string;
  readonly columns: (body: Body, now: Date) => Columns;
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
    apply: async (ctx, id, input) => await applyRule(ctx, parseId(id), rule, parse(rule.body, input)),
  };
}

async function applyRule<Body>(
  ctx: VerbContext,
  id: string,
  rule: ModelChangeRule<Body>,
  body: Body,
): Promise<Written<Model>> {
  return await write(ctx, async (tx, journal) => {
    const before = await lockModel(tx, id);
    ctx.judge?.(modelRecord(before));
    const now = ctx.now();
    const columns = rule.columns(body, now);
    const [row] = await tx
      .update(models)
      .set({ ...columns, rev: journal.rev, updated_at: now })
      .where(eq(models.id, id))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    const detail = changedFields(before.row, columns);
    journal.audit({ action: rule.action, entityType: "model", entityId: id, detail });
    journal.modelChanged(row.model_name);
    return modelRecord({ row, healthStatus: before.healthStatus });
  });
}
