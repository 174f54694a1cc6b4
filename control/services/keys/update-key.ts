/**
 * Changes a key's name, description and budget; what is omitted keeps its value, null clears (decisions §4.2).
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { type ApiKey, updateKeySchema } from "../../../shared/schema/api-key.ts";
import { apiKeys } from "../../db/schema/tenancy.ts";
import { changedFields } from "../../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { write } from "../../kernel/write.ts";
import { budgetColumns } from "../../resources/budget-columns.ts";
import { keyRecord, lockKey } from "../../resources/key-record.ts";

/** The key. Throws 400, 404. */
export async function updateKey(ctx: VerbContext, id: string, input: unknown): Promise<Written<ApiKey>> {
  const keyId = parseId(id);
  const body = parse(updateKeySchema, input);
  return await write(ctx, async (tx, journal) => {
    const before = await lockKey(tx, keyId);
    const now = ctx.now();
    const kept = <T>(wanted: T | undefined, value: T): T => (wanted === undefined ? value : wanted);
    const budget = {
      budget_tokens: kept(body.budget_tokens, before.budget_tokens),
      budget_cost_usd: kept(body.budget_cost_usd, before.budget_cost_usd),
      budget_period: kept<string | null>(body.budget_period, before.budget_period),
      budget_started_at: body.budget_started_at,
    };
    const fields = {
      name: body.name ?? before.name,
      description: body.description ?? before.description,
      ...budgetColumns(budget, before.budget_started_at, now),
    };
    const [row] = await tx
      .update(apiKeys)
      .set({ ...fields, rev: journal.rev, updated_at: now })
      .where(eq(apiKeys.id, keyId))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    journal.audit({
      action: "update_key",
      entityType: "api_key",
      entityId: keyId,
      detail: changedFields(before, fields),
    });
    journal.keyChanged(row.key_hash);
    return keyRecord(row);
  });
}
