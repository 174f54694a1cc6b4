/**
 * Takes the secrets of before there was an encryption key out of the files of an embedded database (decisions §43.5): a
 * database keeps what was overwritten, in its tables until they are rewritten and in its log until that is cut. Done once
 * per database, at the first start with a key; a crash in between does it again.
 */
import { sql } from "drizzle-orm";
import type { Connection } from "../db/connect.ts";
import type { Logger } from "../kernel/log.ts";

/** Which of a server's tables held secrets. */
const TABLES = "models, model_endpoints, mcp_servers, app_settings";

/**
 * To be called with a key, after everything stored was sealed; `sealedNow` says whether this start sealed something. Of a
 * database server the files are its operator's: the log says what to do. Never rejects for what it cannot do: secrets are
 * sealed either way, and the next start tries again.
 */
export async function erasePlaintext({ db, rewrite }: Connection, sealedNow: boolean, log: Logger): Promise<void> {
  if (rewrite === undefined) {
    if (sealedNow) log.warn({ event: "plaintext_in_database_files", fix: `VACUUM FULL ${TABLES}; CHECKPOINT` });
    return;
  }
  const { rows } = (await db.execute(sql`SELECT plaintext_gone FROM encryption_check`)) as unknown as {
    rows: { plaintext_gone: boolean }[];
  };
  if (!sealedNow && rows[0]?.plaintext_gone === true) return;
  try {
    if (sealedNow) await db.execute(sql`UPDATE encryption_check SET plaintext_gone = false`);
    await rewrite();
    await db.execute(sql`UPDATE encryption_check SET plaintext_gone = true`);
    log.info({ event: "plaintext_forgotten" });
  } catch (error) {
    log.warn({ event: "plaintext_not_forgotten", reason: error instanceof Error ? error.name : "unknown" });
  }
}
