/** Which old secrets are accepted, and what still needs them (docs/rotate.md). */
import { and, asc, getTableColumns, inArray, isNotNull, isNull, notInArray, or, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { pepperId } from "../../shared/access/api-key.ts";
import type { Rotation } from "../../shared/schema/rotation.ts";
import { countSealedWithOld } from "../backup/seal-plain-secrets.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { AcceptedTokens } from "../kernel/accepted-tokens.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";

const LISTED_MAX = 100;

/** Throws 503. */
export async function readRotation(
  ctx: VerbContext,
  { internalTokens, adminTokens }: Readonly<Record<"internalTokens" | "adminTokens", AcceptedTokens>>,
): Promise<Rotation> {
  const { sealKey, oldPeppers, pepper } = ctx;
  const oldKeys = sealKey?.old.length ?? 0;
  const current = pepperId(pepper);
  const isSecret = sql`${apiKeys.key_hash} NOT LIKE 'jwt:%'`;
  const accepted = oldPeppers.map(pepperId);
  // whose pepper was not noted may have any of the accepted ones
  const isOld = (column: PgColumn) => or(isNull(column), inArray(column, accepted));
  const isLeft = or(
    and(isSecret, isOld(apiKeys.key_pepper)),
    and(isNotNull(apiKeys.previous_key_hash), isOld(apiKeys.previous_key_pepper)),
  );
  const isInvalid = and(isSecret, notInArray(apiKeys.key_pepper, [current, ...accepted]));
  const { id, tenant_id, name, key_prefix } = getTableColumns(apiKeys);
  return await withDatabaseErrors(async () => ({
    encryption_key: {
      old_keys: oldKeys,
      records_left: sealKey === undefined || oldKeys === 0 ? 0 : await countSealedWithOld(ctx, sealKey),
    },
    api_key_pepper: {
      old_peppers: oldPeppers.length,
      keys_left: await ctx.db.$count(apiKeys, isLeft),
      keys_invalid: await ctx.db.$count(apiKeys, isInvalid),
      first_left: await ctx.db
        .select({ id, tenant_id, name, key_prefix })
        .from(apiKeys)
        .where(isLeft)
        .orderBy(asc(apiKeys.created_at), asc(apiKeys.id))
        .limit(LISTED_MAX),
    },
    internal_token: tokenOf(internalTokens),
    admin_token: tokenOf(adminTokens),
  }));
}

function tokenOf({ old }: AcceptedTokens): Rotation["admin_token"] {
  return { old_accepted: old.accepted, old_used_at: old.usedAt?.toISOString() ?? null };
}
