/**
 * Hot copies of every kind by their names in the store, built from the rows as they are now
 * (docs/rules/storage-layouts.md#key-value-keys). A name whose row is gone is absent from the result, and its copy must be
 * removed. Publisher and resync know no kinds; only this table does.
 */
import { asc, gt } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Database, Transaction } from "../db/connect.ts";
import { mcpServers } from "../db/schema/mcp-servers.ts";
import { models } from "../db/schema/models.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import { buildKeys, buildMcpServers, buildModels } from "./hot-copies.ts";
import { buildSettings, settingsNames } from "./settings-copies.ts";

/** The names under which the copies of each kind are counted (docs/rules/freshness.md#resync). */
export type CopyCounts = Readonly<Record<"keys" | "models" | "mcp_servers" | "settings", number>>;

interface CopyKind {
  readonly counted: keyof CopyCounts;
  /** The part of a copy's name before the colon. */
  readonly prefix: string;
  readonly build: (db: Database | Transaction, ids: readonly string[]) => Promise<ReadonlyMap<string, object>>;
  /** Every id that has a copy, in batches. */
  readonly ids: (db: Database) => AsyncIterable<readonly string[]>;
}

const BATCH = 200;

export const COPY_KINDS: readonly CopyKind[] = [
  { counted: "keys", prefix: "key", build: buildKeys, ids: everyKeyHash },
  { counted: "models", prefix: "model", build: buildModels, ids: everyRow(models, models.model_name) },
  { counted: "mcp_servers", prefix: "mcp", build: buildMcpServers, ids: everyRow(mcpServers, mcpServers.name) },
  { counted: "settings", prefix: "settings", build: buildSettings, ids: settingsNames },
];

/** Texts of copies by their names; names without a row are absent. */
export async function buildCopies(
  db: Database | Transaction,
  hotKeys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const { prefix, build } of COPY_KINDS) {
    const start = `${prefix}:`;
    const ids = hotKeys.filter((hotKey) => hotKey.startsWith(start)).map((hotKey) => hotKey.slice(start.length));
    if (ids.length === 0) continue;
    for (const [id, record] of await build(db, ids)) texts.set(start + id, JSON.stringify(record));
  }
  return texts;
}

/** The hashes of all secrets that are admitted. */
async function* everyKeyHash(db: Database): AsyncGenerator<readonly string[]> {
  yield* everyRow(apiKeys, apiKeys.key_hash)(db);
  yield* everyRow(apiKeys, apiKeys.previous_key_hash)(db);
}

/**
 * The values of a unique text column, without null, in batches, so that 50,000 keys need no more memory than a hundred.
 */
function everyRow(table: PgTable, column: PgColumn): CopyKind["ids"] {
  return async function* ids(db) {
    let after = "";
    for (;;) {
      const rows = await db
        .select({ id: column })
        .from(table)
        .where(gt(column, after))
        .orderBy(asc(column))
        .limit(BATCH);
      if (rows.length === 0) return;
      const batch = rows.map((row) => String(row.id));
      yield batch;
      after = batch.at(-1) ?? after;
    }
  };
}
