/**
 * Applies the numbered migrations at every boot: in order, each once, under one lock and in one transaction. Replicas that
 * boot together therefore migrate once, also behind a pooler (docs/rules/storage-layouts.md#migrations). A migration that
 * changed after it was applied stops the boot.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import type { Connection } from "./connect.ts";

const LOCK = 727274;
const FOLDER = join(import.meta.dirname, "migrations");

/**
 * Brings the schema up to date; returns the names of the migrations that were applied now. Throws when a migration fails or
 * was changed.
 */
export async function migrate({ db, exec }: Connection): Promise<readonly string[]> {
  const files = readdirSync(FOLDER)
    .filter((name) => name.endsWith(".sql"))
    .sort();
  return await db.transaction(async (tx) => {
    await tx.execute(sql`SELECT pg_advisory_xact_lock(${LOCK})`);
    await tx.execute(
      sql`CREATE TABLE IF NOT EXISTS schema_migrations (version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    const { rows } = (await tx.execute(sql`SELECT version, checksum FROM schema_migrations`)) as unknown as {
      rows: { version: number; checksum: string }[];
    };
    const known = new Map(rows.map((row) => [Number(row.version), row.checksum]));
    const applied: string[] = [];
    for (const name of files) {
      const version = Number(name.slice(0, 4));
      const text = readFileSync(join(FOLDER, name), "utf8");
      const checksum = createHash("sha256").update(text).digest("hex");
      const before = known.get(version);
      if (before === checksum) continue;
      if (before !== undefined) throw new Error(`migration ${name} was changed after it had been applied`);
      await exec(tx, text);
      await tx.execute(
        sql`INSERT INTO schema_migrations (version, name, checksum) VALUES (${version}, ${name}, ${checksum})`,
      );
      applied.push(name);
    }
    return applied;
  });
}
