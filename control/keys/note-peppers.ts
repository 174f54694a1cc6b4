/**
 * Notes with which pepper the hashes of keys were made that were stored before this was noted (docs/rules/keys.md#peppers). Without
 * old peppers every key that works has the current one.
 */
import { sql } from "drizzle-orm";
import { pepperId } from "../../shared/access/api-key.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";

/** Rejects when the database does not answer. */
export async function notePeppers({ db, pepper, oldPeppers }: VerbContext): Promise<void> {
  if (oldPeppers.length > 0) return;
  const current = pepperId(pepper);
  await db.execute(
    sql`UPDATE ${apiKeys} SET key_pepper = ${current} WHERE key_pepper IS NULL AND key_hash NOT LIKE 'jwt:%'`,
  );
  await db.execute(
    sql`UPDATE ${apiKeys} SET previous_key_pepper = ${current} WHERE previous_key_pepper IS NULL AND previous_key_hash IS NOT NULL`,
  );
}
