/**
 * Applies the numbered migrations at every boot: in order, each once, under one lock and in one transaction. Replicas that
 * boot together therefore migrate once, also behind a pooler (docs/rules/storage-layouts.md#migrations). A migration that
 * changed after it was applied stops the boot, and so does one that only a newer version has.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import type { Connection, Database, Transaction } from "./connect.ts";

const LOCK = 727274;
const FOLDER = join(import.meta.dirname, "migrations");

/**
 * Brings the schema up to date; returns the names of the migrations that were applied now. Throws when a migration fails,
 * was changed, or is applied here and not known to this version; the database is then as it was.
 */
export async function migrate({ db, exec }: Connection): Promise<readonly string[]> {
  return await db.transaction(async (tx) => {
    await tx.execute(sql`SELECT pg_advisory_xact_lock(${LOCK})`);
    await tx.execute(
      sql`CREATE TABLE IF NOT EXISTS schema_migrations (version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    const missing = missingAfter(await appliedIn(tx));
    for (const { version, name, checksum, text } of missing) {
      await exec(tx, text);
      await tx.execute(
        sql`INSERT INTO schema_migrations (version, name, checksum) VALUES (${version}, ${name}, ${checksum})`,
      );
    }
    return missing.map(({ name }) => name);
  });
}

/**
 * The migrations that {@link migrate} would apply; changes nothing. Throws as it does when one was changed, or is applied
 * here and not known to this version.
 */
export async function pendingMigrations({ db }: Connection): Promise<readonly string[]> {
  const found = await db.execute(sql`SELECT to_regclass('schema_migrations') IS NOT NULL AS kept`);
  const [table] = (found as unknown as { rows: { kept: boolean }[] }).rows;
  return missingAfter(table?.kept === true ? await appliedIn(db) : []).map(({ name }) => name);
}

/** A migration as the database remembers it. */
interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

async function appliedIn(db: Database | Transaction): Promise<readonly AppliedMigration[]> {
  const found = await db.execute(sql`SELECT version, name, checksum FROM schema_migrations ORDER BY version`);
  return (found as unknown as { rows: AppliedMigration[] }).rows;
}

function missingAfter(applied: readonly AppliedMigration[]): readonly (AppliedMigration & { readonly text: string })[] {
  const files = readdirSync(FOLDER)
    .filter((name) => name.endsWith(".sql"))
    .sort();
  refuseNewer(applied, files);
  const known = new Map(applied.map((row) => [Number(row.version), row.checksum]));
  return files.flatMap((name) => {
    const version = versionOf(name);
    const text = readFileSync(join(FOLDER, name), "utf8");
    const checksum = createHash("sha256").update(text).digest("hex");
    const before = known.get(version);
    if (before === checksum) return [];
    if (before !== undefined) throw new Error(`migration ${name} was changed after it had been applied`);
    return [{ version, name, checksum, text }];
  });
}

/** A migration may give a column another meaning, so that code which does not know it would misread or spoil the rows. */
function refuseNewer(applied: readonly AppliedMigration[], files: readonly string[]): void {
  const known = new Set(files.map(versionOf));
  const newer = applied.filter(({ version }) => !known.has(Number(version))).map(({ name }) => name);
  if (newer.length === 0) return;
  throw new Error(
    `migration ${newer.join(", ")} is in the database but unknown to this version: start the version that applied it, or restore a backup from before it`,
  );
}

function versionOf(file: string): number {
  return Number(file.slice(0, 4));
}
