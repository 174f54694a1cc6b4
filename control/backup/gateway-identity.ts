/**
 * The identity of a gateway, by which its backups differ from those of others in the same place (docs/rules/backup.md#whose).
 * It is random and made once for each database: a database that was restored from a dump elsewhere gets a new one, although it
 * has the row of the first.
 */
import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import type { Database } from "../db/connect.ts";
import { gatewayIdentity } from "./identity-table.ts";

/** Bytes of an identity: two gateways that share a place must not meet by chance. */
const BYTES = 6;

/**
 * The identity of the gateway of this database, made when there is none yet. `folder`: that of an embedded database, whose
 * copies PostgreSQL cannot tell apart; "" otherwise. Rejects when the database does not answer.
 */
export async function identityOf(db: Database, folder: string): Promise<string> {
  const madeOn = `${await databaseName(db)} ${folder}`.trim();
  const { singleton, id, made_on } = gatewayIdentity;
  const fresh = { id: randomBytes(BYTES).toString("hex"), made_on: madeOn };
  await db
    .insert(gatewayIdentity)
    .values(fresh)
    .onConflictDoUpdate({
      target: singleton,
      set: { ...fresh, created_at: sql`now()` },
      setWhere: sql`${made_on} <> ${madeOn}`,
    });
  const [row] = await db.select({ id }).from(gatewayIdentity);
  if (row === undefined) throw new Error("the identity of the gateway was not stored");
  return row.id;
}

/** What PostgreSQL knows a database by: its cluster, which initdb numbers, and its number there. */
async function databaseName(db: Database): Promise<string> {
  const { rows } = (await db.execute(
    sql`SELECT (SELECT oid FROM pg_database WHERE datname = current_database())::text AS database,
      CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')
        THEN (SELECT system_identifier FROM pg_control_system())::text ELSE '' END AS cluster`,
  )) as unknown as { rows: readonly { readonly database: string; readonly cluster: string }[] };
  return `${rows[0]?.cluster} ${rows[0]?.database}`;
}
