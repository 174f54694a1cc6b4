/**
 * An embedded database with every migration applied, made once and then copied: making one takes seconds of processor time,
 * which a test of the service need not spend. The template is in node_modules/.cache under a name that follows from the
 * migrations and the version of PGlite, so that a new one is made when either changes.
 */
import { createHash, randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, openAsBlob, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { type Connection, embeddedConnection } from "../../control/db/connect.ts";
import { migrate } from "../../control/db/migrate.ts";

const ROOT = join(import.meta.dirname, "../..");
const MIGRATIONS = join(ROOT, "control/db/migrations");
const CACHE = join(ROOT, "node_modules/.cache/gateway-tests");

/**
 * Puts a migrated database where a service will open one. An existing database is not changed. Before the template is made
 * ({@link makeTemplate}), this does nothing, and the service creates its database itself.
 */
export function layDatabase(folder: string): void {
  const source = join(templateFolder(), "database");
  if (existsSync(folder) || !existsSync(source)) return;
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  cpSync(source, folder, { recursive: true });
}

/** A connection over a migrated database of its own, in memory. */
export async function openDatabaseCopy(): Promise<Connection> {
  await makeTemplate();
  const loadDataDir = await openAsBlob(join(templateFolder(), "database.tar"));
  return embeddedConnection(await PGlite.create({ dataDir: "memory://", loadDataDir }));
}

/** The paths of the template: `database` is a folder of PGlite, `database.tar` is the same as an archive. */
function templateFolder(): string {
  const hash = createHash("sha256");
  hash.update(readFileSync(join(ROOT, "node_modules/@electric-sql/pglite/package.json")));
  for (const name of readdirSync(MIGRATIONS).sort()) hash.update(name).update(readFileSync(join(MIGRATIONS, name)));
  return join(CACHE, `database-${hash.digest("hex").slice(0, 16)}`);
}

/**
 * Makes the template unless it exists. It is made in another folder and then moved as a whole, so that when several
 * processes make it at once the first one is kept.
 */
export async function makeTemplate(): Promise<void> {
  const folder = templateFolder();
  if (existsSync(folder)) return;
  const draft = `${folder}.${randomUUID()}`;
  mkdirSync(draft, { recursive: true });
  try {
    const client = await PGlite.create(join(draft, "database"));
    await migrate(embeddedConnection(client));
    const archive = await client.dumpDataDir("none");
    await client.close();
    await writeFile(join(draft, "database.tar"), archive.stream());
    renameSync(draft, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
