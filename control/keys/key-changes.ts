/**
 * The changes of single fields of a key, as a table: the schema of the body, the name of the change in the audit log, and
 * the columns that follow from the body. The next request with the key uses the new values
 * (docs/rules/freshness.md#write-path).
 */
import { eq } from "drizzle-orm";
import type { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import { type ApiKey, keyDisabledSchema, patchKeySchema, updateKeySchema } from "../../shared/schema/api-key.ts";
import { tracingSchema } from "../../shared/schema/tenant-policy.ts";
import { type ApiKeyRow, apiKeys } from "../db/schema/tenancy.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse, parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { changedByAdmin, changedByUser } from "./admin-limits.ts";
import { boundModelNames } from "./bound-model-names.ts";
import { keyColumns } from "./key-columns.ts";
import { keyRecord, lockKey, refuseConsoleKey } from "./key-record.ts";

/** One row of the table. */
interface ChangeRule<Body> {
  readonly body: z.ZodType<Body>;
  /** Action in the audit log (docs/rules/management-api.md#audit-log). */
  readonly action: string | ((body: Body) => string);
  /** An admin may make it of a key of the console too. */
  readonly isForConsoleKeys?: true;
  /** Gets the row before the change, and the time of the change. */
  readonly columns: (body: Body, before: ApiKeyRow, now: Date) => Partial<ApiKeyRow>;
}

/** A change as a verb, and the schema of its body. */
interface KeyChange {
  readonly body: z.ZodType;
  /** The key. Throws 400, 404. */
  readonly apply: (ctx: VerbContext, id: string, input: unknown) => Promise<Written<ApiKey>>;
}

export const keyChanges = {
  /** Every field at once. */
  all: change({ body: patchKeySchema, action: "update_key", columns: keyColumns }),
  /** Name, description, end, models, limits per minute and budget. */
  details: change({ body: updateKeySchema, action: "update_key", columns: keyColumns }),
  disabled: change({
    body: keyDisabledSchema,
    action: ({ disabled }) => (disabled ? "disable_key" : "enable_key"),
    isForConsoleKeys: true,
    columns: keyColumns,
  }),
  /** Span tracing of its requests (docs/rules/tracing.md#spans). */
  tracing: change({
    body: tracingSchema,
    action: ({ tracing_enabled }) => (tracing_enabled ? "enable_key_tracing" : "disable_key_tracing"),
    columns: keyColumns,
  }),
} satisfies Readonly<Record<string, KeyChange>>;

function change<Body extends object>(rule: ChangeRule<Body>): KeyChange {
  return {
    body: rule.body,
    apply: async (ctx, id, input) => await applyChange(ctx, parseId(id), rule, parse(rule.body, input)),
  };
}

async function applyChange<Body extends object>(
  ctx: VerbContext,
  id: string,
  rule: ChangeRule<Body>,
  body: Body,
): Promise<Written<ApiKey>> {
  return await write(ctx, async (tx, journal) => {
    const before = await lockKey(tx, id);
    ctx.checkRecord?.(keyRecord(before));
    if (ctx.isForUser === true || rule.isForConsoleKeys !== true) refuseConsoleKey(before);
    const now = ctx.now();
    const columns = rule.columns(body, before, now);
    const kept = ctx.isForUser === true ? changedByUser(before, columns) : changedByAdmin(before, columns, body);
    if (ctx.isForUser === true) await boundModelNames(tx, before.tenant_id, columns.allowed_models, before);
    const [row] = await tx
      .update(apiKeys)
      .set({ ...columns, ...kept, rev: journal.rev, updated_at: now })
      .where(eq(apiKeys.id, id))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    journal.audit({
      action: typeof rule.action === "string" ? rule.action : rule.action(body),
      entityType: "api_key",
      entityId: id,
      detail: changedFields(before, { ...columns, ...kept }),
    });
    journal.keyChanged(row);
    return keyRecord(row);
  });
}
