/**
 * Finds out at start whether GATEWAY_ENCRYPTION_KEY is the key of this database, by a sealed text that the first start with
 * a key leaves behind: with another key, or with none, no upstream call would carry its credential. It changes no secret.
 */
import { sql } from "drizzle-orm";
import { type SealKey, seal, unseal } from "../../shared/seal.ts";
import type { Database } from "../db/connect.ts";

/** What is sealed; also the sentinel of a backup (decisions §13). */
export const KEY_CHECK_TEXT = "gateway-key-check";

/** Raised when secrets of this database cannot be opened. One line, which names the variable and the fix. */
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
    "GATEWAY_ENCRYPTION_KEY is not the key that this database's secrets are encrypted with: set that key again",
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

/** Some stored secret that is encrypted; of a setting's, its text between the quotes. */
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
