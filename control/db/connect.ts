/**
 * One database behind drizzle, over one of three drivers chosen by its URL (design §8): `*.neon.tech`, any other
 * postgres URL, or `pglite:<folder>`.
 */
import { PGlite } from "@electric-sql/pglite";
import { Pool as NeonPool } from "@neondatabase/serverless";
import { drizzle as drizzleNeon } from "drizzle-orm/neon-serverless";
import { drizzle as drizzleNode } from "drizzle-orm/node-postgres";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import { drizzle as drizzlePglite } from "drizzle-orm/pglite";
import pg from "pg";
import { lockDatabase } from "./folder-lock.ts";

export type Database = PgDatabase<PgQueryResultHKT, Record<string, never>>;
export type Transaction = Parameters<Parameters<Database["transaction"]>[0]>[0];

export interface Connection {
  readonly db: Database;
  /** Runs a file of statements. */
  readonly exec: (tx: Database | Transaction, statements: string) => Promise<void>;
  close(): Promise<void>;
}

/** Opens the database. Throws DatabaseLocked; connecting itself happens with the first query. */
export async function connect(url: string): Promise<Connection> {
  if (url.startsWith("pglite:")) return await connectPglite(url.slice("pglite:".length));
  if (new URL(url).hostname.endsWith(".neon.tech")) {
    const pool = new NeonPool({ connectionString: url });
    return { db: drizzleNeon(pool) as unknown as Database, exec: execWhole, close: async () => await pool.end() };
  }
  const pool = new pg.Pool({ connectionString: url, max: 10, connectionTimeoutMillis: 5000 });
  pool.on("error", () => undefined);
  return { db: drizzleNode(pool) as unknown as Database, exec: execWhole, close: async () => await pool.end() };
}

async function connectPglite(folder: string): Promise<Connection> {
  const unlock = folder === "" ? () => undefined : lockDatabase(folder);
  try {
    const client = await PGlite.create(folder === "" ? "memory://" : folder);
    const close = async (): Promise<void> => {
      await client.close();
      unlock();
    };
    return { db: drizzlePglite(client) as unknown as Database, exec: execEach, close };
  } catch (error) {
    unlock();
    throw error;
  }
}

async function execWhole(tx: Database | Transaction, statements: string): Promise<void> {
  await tx.execute(statements);
}

/** PGlite prepares what it executes, and a prepared statement is one statement. */
async function execEach(tx: Database | Transaction, statements: string): Promise<void> {
  for (const statement of statements.split(/;\s*(?:\n|$)/)) if (statement.trim() !== "") await tx.execute(statement);
}
