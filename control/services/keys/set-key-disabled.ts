/**
 * Disables or enables a key; the very next request sees it (decisions §2.6).
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../../shared/errors.ts";
import { type ApiKey, keyDisabledSchema } from "../../../shared/schema/api-key.ts";
import { apiKeys } from "../../db/schema/tenancy.ts";
import { changedFields } from "../../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { write } from "../../kernel/write.ts";
import { keyRecord, lockKey } from "../../resources/key-record.ts";

/** The key. Throws 400, 404. */
export async function setKeyDisabled(ctx: VerbContext, id: string, input: unknown): Promise<Written<ApiKey>> {
  const keyId = parseId(id);
  const { disabled } = parse(keyDisabledSchema, input);
  return await write(ctx, async (tx, journal) => {
    const before = await lockKey(tx, keyId);
    const [row] = await tx
      .update(apiKeys)
      .set({ disabled, rev: journal.rev, updated_at: ctx.now() })
      .where(eq(apiKeys.id, keyId))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    journal.audit({
      action: disabled ? "disable_key" : "enable_key",
      entityType: "api_key",
      entityId: keyId,
      detail: changedFields(before, { disabled }),
    });
    journal.keyChanged(row.key_hash);
    return keyRecord(row);
  });
}
