/**
 * Gives a key another secret; id, budgets and everything else stay. The secret before it is admitted for the grace that
 * is asked for, every earlier one ends at once (docs/rules/keys.md#rotation). Only this answer shows the secret.
 */
import { eq } from "drizzle-orm";
import { hashKeySecret, keyPrefix, makeKeySecret, pepperId } from "../../shared/access/api-key.ts";
import { GatewayError } from "../../shared/errors.ts";
import { type CreatedKey, rotateKeySchema } from "../../shared/schema/api-key.ts";
import { isIdentityKeyHash } from "../../shared/schema/identity.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { fieldError, parse, parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { keyRecord, lockKey, refuseConsoleKey } from "./key-record.ts";

/** The key and its new secret. Throws 400, also for the key of an identity, which has no secret; 404. */
export async function rotateKey(ctx: VerbContext, id: string, input: unknown): Promise<Written<CreatedKey>> {
  const keyId = parseId(id);
  const { grace_secs } = parse(rotateKeySchema, input);
  const secret = makeKeySecret(ctx.randomBytes(24));
  const hash = hashKeySecret(secret, ctx.pepper);
  return await write(ctx, async (tx, journal) => {
    const before = await lockKey(tx, keyId);
    ctx.checkRecord?.(keyRecord(before));
    refuseConsoleKey(before);
    if (isIdentityKeyHash(before.key_hash))
      throw fieldError("id", "must be a key with a secret; this key belongs to an identity token subject");
    const now = ctx.now();
    const previous =
      grace_secs === 0
        ? { previous_key_hash: null, previous_key_pepper: null, previous_secret_until: null }
        : {
            previous_key_hash: before.key_hash,
            previous_key_pepper: before.key_pepper,
            previous_secret_until: new Date(now.getTime() + grace_secs * 1000),
          };
    const [row] = await tx
      .update(apiKeys)
      .set({
        key_hash: hash,
        key_pepper: pepperId(ctx.pepper),
        key_prefix: keyPrefix(secret),
        ...previous,
        rev: journal.rev,
        updated_at: now,
      })
      .where(eq(apiKeys.id, keyId))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    journal.audit({
      action: "rotate_key",
      entityType: "api_key",
      entityId: keyId,
      detail: {
        grace_secs,
        previous_secret_until: row.previous_secret_until,
        changed: { key_prefix: [before.key_prefix, row.key_prefix] },
      },
    });
    journal.keyChanged(before);
    journal.secretChanged(hash);
    return { key: keyRecord(row), secret };
  });
}
