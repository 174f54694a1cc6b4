/**
 * One database behind drizzle. Its URL chooses one of three drivers (docs/rules/storage-layouts.md#database-drivers):
 * `*.neon.tech`, any other postgres URL, or `pglite:<folder>`.
 */
import { resolve } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { PGlite, types } from "@electric-sql/pglite";
import { Pool as NeonPool, type PoolClient as NeonPoolClient } from "@neondatabase/serverless";
import { drizzle as drizzleNeon } from "drizzle-orm/neon-serverless";
import { drizzle as drizzleNode } from "drizzle-orm/node-postgres";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import { drizzle as drizzlePglite } from "drizzle-orm/pglite";
import pg from "pg";
import { lockDatabase } from "./folder-lock.ts";
import { makePrivate } from "./private-folder.ts";

const MAX_CONNECTIONS = 10;
const CONNECT_WITHIN_MS = 5000;

export type Database = PgDatabase<PgQueryResultHKT, Record<string, never>>;
export type Transaction = Parameters<Parameters<Database["transaction"]>[0]>[0];

export interface Connection {
  readonly db: Database;
  /** Runs the statements of a file. */
  readonly exec: (tx: Database | Transaction, statements: string) => Promise<void>;
  /** True when no other process can have this database open. */
  readonly exclusive: boolean;
  /**
   * Rewrites the database's files, so that they contain nothing that was deleted or overwritten. Absent when another
   * program owns the files.
   */
  readonly rewrite?: () => Promise<void>;
  close(): Promise<void>;
}

const EMBEDDED = "pglite:";

/** The folder of the embedded database of this URL, absolute; "" for one in memory, and for a server's. */
export function embeddedFolder(url: string): string {
  const folder = url.startsWith(EMBEDDED) ? url.slice(EMBEDDED.length) : "";
  return folder === "" ? "" : resolve(folder);
}

/** Learns when a database server cannot be reached, and when it answers again. */
interface Watch {
  failed(error: unknown): void;
  answered(): void;
}

const UNWATCHED: Watch = { failed: () => undefined, answered: () => undefined };

/** Opens the database. Throws DatabaseLocked. The connection itself is made by the first query. */
export async function connect(url: string, watch: Watch = UNWATCHED): Promise<Connection> {
  if (url.startsWith(EMBEDDED)) return await connectPglite(url.slice(EMBEDDED.length));
  const options = { connectionString: url, max: MAX_CONNECTIONS, connectionTimeoutMillis: CONNECT_WITHIN_MS };
  if (new URL(url).hostname.endsWith(".neon.tech")) {
    const pool = new NeonPool(options);
    return pooled(
      pool,
      asDatabase(drizzleNeon(pool)),
      (client: NeonPoolClient) => asDatabase(drizzleNeon(client)),
      watch,
    );
  }
  const pool = new pg.Pool(options);
  return pooled(pool, asDatabase(drizzleNode(pool)), (client: pg.PoolClient) => asDatabase(drizzleNode(client)), watch);
}

/** The drivers differ only in the raw result of a statement, and all code reads only `rows` of it. */
const asDatabase = (db: unknown): Database => db as Database;

type OnError = (event: "error", listener: (error: unknown) => void) => unknown;
type Connected<Client> = (
  error: Error | undefined,
  client: Client | undefined,
  done: (release?: unknown) => void,
) => void;

interface PoolLike<Client> {
  connect(): Promise<Client>;
  /** The pool's own queries take their connection by this one. */
  connect(connected: Connected<Client>): void;
  end(): Promise<void>;
  readonly on: OnError & ((event: "connect", listener: (client: { on: OnError }) => void) => unknown);
}

/**
 * Drizzle over a pool, with transactions that always give their connection back. Drizzle's own transactions keep it when
 * BEGIN fails, so that the pool is empty for good after ten failures.
 */
function pooled<Client extends { release(): void }>(
  pool: PoolLike<Client>,
  db: Database,
  over: (client: Client) => Database,
  watch: Watch,
): Connection {
  const isCut = surviveCuts(pool, watch);
  watchConnects(pool, watch);
  const transaction: Database["transaction"] = async (work, config) => {
    const client = await pool.connect();
    try {
      return await over(client).transaction(work, config);
    } catch (error) {
      // drizzle rolls back, and reports that the cut connection takes no statement
      if (isCut(client)) watch.failed(error);
      throw error;
    } finally {
      client.release();
    }
  };
  return {
    db: Object.assign(db, { transaction }),
    exclusive: false,
    exec: execWhole,
    close: async () => await pool.end(),
  };
}

/**
 * Keeps the process alive when a server cuts a connection: an error event without a listener would end it. The pool listens
 * on idle connections, so this function listens on those in use; their next statement fails with the same error. Returns
 * whether a connection was cut.
 */
function surviveCuts(pool: PoolLike<unknown>, watch: Watch): (client: object) => boolean {
  const cut = new WeakSet<object>();
  pool.on("error", () => undefined);
  pool.on("connect", (client) => {
    client.on("error", (error) => {
      cut.add(client);
      watch.failed(error);
    });
  });
  return (client) => cut.has(client);
}

/** Reports every attempt to get a connection, of a transaction and of a single statement. */
function watchConnects<Client>(pool: PoolLike<Client>, watch: Watch): void {
  const connect = pool.connect.bind(pool) as PoolLike<Client>["connect"];
  const note = (error: unknown): void => {
    if (error === undefined || error === null) watch.answered();
    else watch.failed(error);
  };
  const watched = (connected?: Connected<Client>): Promise<Client> | undefined => {
    if (connected !== undefined) {
      connect((error, client, done) => {
        note(error);
        connected(error, client, done);
      });
      return undefined;
    }
    const connecting = connect();
    connecting.then(() => note(undefined), note);
    return connecting;
  };
  Object.assign(pool, { connect: watched });
}

/**
 * Tables are rewritten, together with the statistics that quote their values. A new segment of the log is begun, and
 * segments that are not recycled are deleted.
 */
const REWRITE = [
  "VACUUM (FULL, ANALYZE)",
  "SET wal_recycle = off",
  "CHECKPOINT",
  "SELECT pg_switch_wal()",
  "CHECKPOINT",
  "RESET wal_recycle",
];

async function connectPglite(folder: string): Promise<Connection> {
  const unlock = folder === "" ? () => undefined : lockDatabase(folder);
  try {
    if (folder !== "") makePrivate(folder);
    const client = await PGlite.create(folder === "" ? "memory://" : folder);
    // PGlite makes the files of a new database readable by all users
    if (folder !== "") makePrivate(folder);
    return embeddedConnection(client, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

/** An open embedded database, as a connection. Closing the connection closes the database and then runs `onClose`. */
export function embeddedConnection(client: PGlite, onClose: () => void = () => undefined): Connection {
  const close = async (): Promise<void> => {
    await client.close();
    onClose();
  };
  const rewrite = async (): Promise<void> => {
    // one call for each statement: none of them may run in a transaction, and several statements in one text are one
    // transaction
    for (const statement of REWRITE) await client.exec(statement);
  };
  Object.assign(client.parsers, AS_TEXT, { [types.BYTEA]: bytesOf });
  Object.assign(client.serializers, { [types.BYTEA]: textOfBytes });
  const db = asDatabase(drizzlePglite({ client: inTurns(client) as PGlite }));
  return { db, exclusive: true, exec: execEach, rewrite, close };
}

const unchanged = (value: string): string => value;
/** What drizzle reads as the text that the database wrote: numeric[], and times, dates and intervals with their arrays. */
const AS_TEXT = Object.fromEntries(
  [types.TIMESTAMP, types.TIMESTAMPTZ, types.INTERVAL, types.DATE, 1231, 1115, 1185, 1187, 1182].map((type) => [
    type,
    unchanged,
  ]),
);

/** PGlite's own go byte by byte: a piece of a file would take a tenth of a second. */
const bytesOf = (text: string): Buffer => Buffer.from(text.slice("\\x".length), "hex");
const textOfBytes = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString("hex")}`;

/** What drizzle calls of PGlite. */
type Statements = Pick<PGlite, "query">;

/**
 * The client with each statement in a turn of the event loop of its own. PGlite runs in this thread and answers in microtasks: a loop
 * of statements, or many that wait for each other, would stop every timer and connection of this process until its end.
 */
function inTurns(client: PGlite): Statements & Pick<PGlite, "transaction"> {
  let last: Promise<unknown> = Promise.resolve();
  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    const before = last;
    const done = Promise.withResolvers<void>();
    last = done.promise;
    try {
      await before;
      return await work();
    } finally {
      done.resolve();
    }
  };
  const { query } = afterTurn(client);
  return {
    query: async (text, params, options) => await alone(async () => await query(text, params, options)),
    transaction: async (work) =>
      await alone(async () => await client.transaction(async (tx) => await work({ ...tx, ...afterTurn(tx) }))),
  };
}

/**
 * Each statement, without the parsers that drizzle names in it, because `client.parsers` has them already. PGlite would copy its
 * table of some hundred parsers for each, which is a tenth of the time of a write.
 */
const afterTurn = (client: Statements): Statements => ({
  query: async (text, params, { parsers: _same, ...options } = {}) => {
    await nextTurn();
    return await client.query(text, params, options);
  },
});

async function execWhole(tx: Database | Transaction, statements: string): Promise<void> {
  await tx.execute(statements);
}

/** PGlite prepares what it executes, and a prepared text can have only one statement. */
async function execEach(tx: Database | Transaction, statements: string): Promise<void> {
  for (const statement of statements.split(/;\s*(?:\n|$)/)) if (statement.trim() !== "") await tx.execute(statement);
}
