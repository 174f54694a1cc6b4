/**
 * Stores the hash that a secret has with the current pepper in place of the one it had with an old pepper
 * (docs/rules/keys.md#peppers). The key changes in nothing that anybody sees.
 */
import { eq, or } from "drizzle-orm";
import { pepperId } from "../../shared/access/api-key.ts";
import { renewKeyHashSchema } from "../../shared/schema/key-hash.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { lockKey } from "./key-record.ts";

/** False when there is no such hash any more, or the Worker has another pepper than this service. Throws 400. */
export async function renewKeyHash(ctx: VerbContext, input: unknown): Promise<Written<{ readonly renewed: boolean }>> {
  const { key_hash, new_key_hash, pepper } = parse(renewKeyHashSchema, input);
  if (pepper !== pepperId(ctx.pepper)) return { record: { renewed: false }, sync: "done" };
  return await write(ctx, async (tx, journal) => {
    const isOf = or(eq(apiKeys.key_hash, key_hash), eq(apiKeys.previous_key_hash, key_hash));
    const [found] = await tx.select({ id: apiKeys.id }).from(apiKeys).where(isOf);
    if (found === undefined) return { renewed: false };
    const before = await lockKey(tx, found.id);
    const columns =
      before.key_hash === key_hash
        ? { key_hash: new_key_hash, key_pepper: pepper }
        : { previous_key_hash: new_key_hash, previous_key_pepper: pepper };
    await tx
      .update(apiKeys)
      .set({ ...columns, rev: journal.rev })
      .where(eq(apiKeys.id, found.id));
    journal.keyChanged(before);
    journal.secretChanged(new_key_hash);
    return { renewed: true };
  });
}
