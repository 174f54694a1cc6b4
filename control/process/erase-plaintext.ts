/**
 * Removes secrets that were stored before an encryption key was set from the files of an embedded database
 * (docs/rules/secrets.md#private-files): a database keeps overwritten values in its tables until they are
 * rewritten, and in its log until that is cut. It is done once per database, at the first start with a key; after a
 * crash it is done again.
 */
import { sql } from "drizzle-orm";
import { rootCause } from "../../shared/text/root-cause.ts";
import type { Connection } from "../db/connect.ts";
import type { Logger } from "../kernel/log.ts";

/** The tables of a server that contained secrets. */
const TABLES = "models, model_endpoints, mcp_servers, app_settings";

/**
 * Call it with a key set, after every stored secret was sealed; `sealedNow`: whether this start sealed any. The files of a
 * database server belong to its operator: for a server it only logs what to do. Never rejects when it cannot erase: the
 * secrets are sealed anyway, and the next start tries again.
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
    log.warn({ event: "plaintext_not_forgotten", reason: rootCause(error) });
  }
}
