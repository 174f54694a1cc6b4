/** Deletes keys and keeps their names for the rows of the ledger (docs/rules/usage-reads.md#names). */
import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { apiKeys, deletedNames } from "../db/schema/tenancy.ts";
import type { KeyHashes } from "../kernel/write-journal.ts";

/** Deletes the keys of a condition; returns the hashes of their secrets. */
export async function deleteKeys(tx: Transaction, which: SQL | undefined): Promise<readonly KeyHashes[]> {
  const { id, tenant_id, name, key_prefix } = apiKeys;
  await keepNames(tx, sql`SELECT ${id}, ${tenant_id}, ${name}, ${key_prefix} FROM ${apiKeys} WHERE ${which}`);
  return await tx
    .delete(apiKeys)
    .where(which)
    .returning({ key_hash: apiKeys.key_hash, previous_key_hash: apiKeys.previous_key_hash });
}

/** Keeps names: a select of id, id of the tenant, name and prefix. */
export async function keepNames(tx: Transaction, names: SQL): Promise<void> {
  await tx.execute(
    sql`INSERT INTO ${deletedNames} (id, tenant_id, name, key_prefix) ${names}
      ON CONFLICT (id) DO UPDATE SET name = excluded.name, key_prefix = excluded.key_prefix, deleted_at = now()`,
  );
}
