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

/** Databases of this process that were closed by their tests and have again what the migrations left. */
const idle: PGlite[] = [];

/**
 * A connection over a migrated database in memory that no other test has now. Closing it empties the database for a later
 * test: opening a new one takes half a second of processor time. A test must not change the schema of this database.
 */
export async function openDatabaseCopy(): Promise<Connection> {
  const client = idle.pop() ?? (await newDatabaseCopy());
  let closed = false;
  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    await empty(client);
    idle.push(client);
  };
  // What a service still does after its test closed the database must fail, and not reach the next test.
  const ownClient = new Proxy(client, {
    get: (target, name) => {
      if (name === "close") return close;
      if (closed) throw new Error("the test closed this database");
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return embeddedConnection(ownClient);
}

async function newDatabaseCopy(): Promise<PGlite> {
  await makeTemplate();
  const loadDataDir = await openAsBlob(join(templateFolder(), "database.tar"));
  const client = await PGlite.create({ dataDir: "memory://", loadDataDir });
  await client.exec(REMEMBER_CONTENT);
  return client;
}

/**
 * Makes a function that restores rows and sequences, while the database has only what the migrations left. The rows are in
 * the function's text: another table would be one more for the tests that read the catalog. TRUNCATE makes new
 * files for a table and its indexes, so that only a table of more than eight pages is truncated: the planner takes each
 * smaller one for one of ten pages, whatever was deleted from it.
 */
const REMEMBER_CONTENT = `
CREATE SCHEMA test_template;
DO $remember$
DECLARE
  name text;
  content json;
  steps text;
BEGIN
  SELECT string_agg(format(
    'IF pg_relation_size(''public.%1$I'') > 65536 THEN TRUNCATE public.%1$I CASCADE; ELSE DELETE FROM public.%1$I; END IF;',
    tablename), ' ') INTO steps FROM pg_tables WHERE schemaname = 'public';
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('SELECT json_agg(each) FROM public.%I each', name) INTO content;
    CONTINUE WHEN content IS NULL;
    steps := steps ||
      format('INSERT INTO public.%1$I SELECT * FROM json_populate_recordset(NULL::public.%1$I, %2$L);', name, content);
  END LOOP;
  SELECT steps || string_agg(
    format('PERFORM setval(%L, %s, %L);', 'public.' || sequencename, coalesce(last_value, start_value), last_value IS NOT NULL), '')
    INTO steps FROM pg_sequences WHERE schemaname = 'public';
  EXECUTE format('CREATE FUNCTION test_template.restore() RETURNS void LANGUAGE plpgsql AS %L',
    'BEGIN SET LOCAL session_replication_role = replica; ' || steps || ' END');
END
$remember$`;

async function empty(client: PGlite): Promise<void> {
  await client.query("SELECT test_template.restore()");
  await client.exec("DISCARD ALL");
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
