/**
 * One database behind drizzle, over one of three drivers chosen by its URL
 * (docs/rules/storage-layouts.md#database-drivers): `*.neon.tech`, any other postgres URL, or `pglite:<folder>`.
 */
import { PGlite } from "@electric-sql/pglite";
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
  /** Runs a file of statements. */
  readonly exec: (tx: Database | Transaction, statements: string) => Promise<void>;
  /** Nobody else can have this database open. */
  readonly exclusive: boolean;
  /** Rewrites the database's files, so that none holds what was deleted or overwritten. Absent: they are somebody else's. */
  readonly rewrite?: () => Promise<void>;
  close(): Promise<void>;
}

/** Opens the database. Throws DatabaseLocked; connecting itself happens with the first query. */
export async function connect(url: string): Promise<Connection> {
  if (url.startsWith("pglite:")) return await connectPglite(url.slice("pglite:".length));
  const options = { connectionString: url, max: MAX_CONNECTIONS, connectionTimeoutMillis: CONNECT_WITHIN_MS };
  if (new URL(url).hostname.endsWith(".neon.tech")) {
    const pool = new NeonPool(options);
    return pooled(pool, asDatabase(drizzleNeon(pool)), (client: NeonPoolClient) => asDatabase(drizzleNeon(client)));
  }
  const pool = new pg.Pool(options);
  return pooled(pool, asDatabase(drizzleNode(pool)), (client: pg.PoolClient) => asDatabase(drizzleNode(client)));
}

/** The drivers differ in the raw result of a statement only, and that is read in one shape: `rows`. */
const asDatabase = (db: unknown): Database => db as Database;

interface PoolLike<Client> {
  connect(): Promise<Client>;
  end(): Promise<void>;
  on(event: "error", listener: () => void): unknown;
  on(event: "connect", listener: (client: { on(event: "error", listener: () => void): unknown }) => void): unknown;
}

/**
 * Drizzle over a pool, with transactions whose connection always goes back: drizzle's own keep it when BEGIN fails, and
 * ten failures later the pool is empty for good.
 */
function pooled<Client extends { release(): void }>(
  pool: PoolLike<Client>,
  db: Database,
  over: (client: Client) => Database,
): Connection {
  surviveCuts(pool);
  const transaction: Database["transaction"] = async (work, config) => {
    const client = await pool.connect();
    try {
      return await over(client).transaction(work, config);
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
 * A server that cuts a connection ends that connection, not this process: without a listener the event would. The pool
 * listens for those that rest, so those in use are listened to here; their next statement fails and says so.
 */
function surviveCuts(pool: PoolLike<unknown>): void {
  pool.on("error", () => undefined);
  pool.on("connect", (client) => void client.on("error", () => undefined));
}

/**
 * Tables are written anew, with the statistics that quote them, and a new segment of the log is begun; a log that is not
 * recycled is deleted.
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
    // it makes a new database's files for everybody
    if (folder !== "") makePrivate(folder);
    return embeddedConnection(client, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

/** An embedded database that is open, as a connection; closing it closes the database, and runs `onClose` after that. */
export function embeddedConnection(client: PGlite, onClose: () => void = () => undefined): Connection {
  const close = async (): Promise<void> => {
    await client.close();
    onClose();
  };
  const rewrite = async (): Promise<void> => {
    // each by itself: none of them bears a transaction, and several in one text are one
    for (const statement of REWRITE) await client.exec(statement);
  };
  return { db: asDatabase(drizzlePglite(client)), exclusive: true, exec: execEach, rewrite, close };
}

async function execWhole(tx: Database | Transaction, statements: string): Promise<void> {
  await tx.execute(statements);
}

/** PGlite prepares what it executes, and a prepared statement is one statement. */
async function execEach(tx: Database | Transaction, statements: string): Promise<void> {
  for (const statement of statements.split(/;\s*(?:\n|$)/)) if (statement.trim() !== "") await tx.execute(statement);
}
