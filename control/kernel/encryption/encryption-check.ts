/**
 * Checks at start that GATEWAY_ENCRYPTION_KEY is the key of this database: with another key, or without a key, upstream
 * calls would have no credential. The check is a sealed text that the first start with a key stores. It changes no secret.
 */
import { sql } from "drizzle-orm";
import { isSealedWithOld, type SealKey, seal, unseal } from "../../../shared/crypto/seal.ts";
import type { Database } from "../../db/connect.ts";

/** The text that is sealed; also the sentinel of a backup (docs/rules/backup.md#encryption-key). */
export const KEY_CHECK_TEXT = "gateway-key-check";

/** Thrown when secrets of this database cannot be opened. Its message is one line with the variable and what to do. */
export class EncryptionKeyError extends Error {
  override readonly name = "EncryptionKeyError";
}

/** Throws EncryptionKeyError. */
export async function checkEncryptionKey(db: Database, key: SealKey | undefined): Promise<void> {
  const sealed = await oneSealed(db);
  if (key === undefined) {
    if (sealed === null) return;
    throw new EncryptionKeyError(
      "GATEWAY_ENCRYPTION_KEY is not set, but secrets in this database are encrypted: set the key they were encrypted with",
    );
  }
  if (sealed === null || (await opens(sealed, key))) {
    const sentinel = await seal(KEY_CHECK_TEXT, key);
    await db.execute(sql`INSERT INTO encryption_check (sentinel) VALUES (${sentinel}) ON CONFLICT DO NOTHING`);
    if (await opens((await theSentinel(db)) ?? sentinel, key)) return;
  }
  throw new EncryptionKeyError(
    "GATEWAY_ENCRYPTION_KEY is not the key that this database's secrets are encrypted with: set that key again, or add it to GATEWAY_ENCRYPTION_KEYS_OLD",
  );
}

async function opens(sealed: string, key: SealKey): Promise<boolean> {
  return await unseal(sealed, key).then(
    () => true,
    () => false,
  );
}

async function theSentinel(db: Database): Promise<string | null> {
  return await firstText(db, sql`SELECT sentinel AS text FROM encryption_check`);
}

/** Seals the sentinel with the current key. Call it when no stored secret needs an old key any more. */
export async function renewSentinel(db: Database, key: SealKey): Promise<void> {
  const sentinel = await theSentinel(db);
  if (sentinel === null || !(await isSealedWithOld(sentinel, key))) return;
  await db.execute(
    sql`UPDATE encryption_check SET sentinel = ${await seal(KEY_CHECK_TEXT, key)} WHERE sentinel = ${sentinel}`,
  );
}

/** Any stored secret that is encrypted; of a setting, its text without the quotes. */
async function oneSealed(db: Database): Promise<string | null> {
  return await firstText(
    db,
    sql`SELECT text FROM (
      SELECT api_key AS text FROM models WHERE api_key LIKE 'enc:v1:%'
      UNION ALL SELECT api_key FROM model_endpoints WHERE api_key LIKE 'enc:v1:%'
      UNION ALL SELECT auth_header FROM mcp_servers WHERE auth_header LIKE 'enc:v1:%'
      UNION ALL SELECT substring(value::text from '"(enc:v1:[^"]+)"') FROM app_settings WHERE value::text LIKE '%"enc:v1:%'
    ) AS secrets LIMIT 1`,
  );
}

async function firstText(db: Database, query: ReturnType<typeof sql>): Promise<string | null> {
  const { rows } = (await db.execute(query)) as unknown as { rows: { text: string }[] };
  return rows[0]?.text ?? null;
}
