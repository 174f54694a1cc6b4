/**
 * The database of a test's own control service. The vitest project chooses its kind: PGlite in memory (`unit`), or a new
 * database on a real PostgreSQL, through node-postgres (`postgres`) or the Neon driver (`neon`).
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import type { TestProject } from "vitest/node";
import { startNeonProxy, useNeonProxy } from "./neon-proxy.ts";
import { startPostgres } from "./postgres.ts";

interface DatabaseServer {
  readonly host: string;
  readonly port: number;
  /** Port of the WebSocket front; null to connect directly. */
  readonly neonPort: number | null;
}

declare module "vitest" {
  export interface ProvidedContext {
    readonly databaseServer: DatabaseServer;
  }
}

/** Starts the server of the projects `postgres` and `neon`; returns the function that stops it. @exported Vitest calls it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  const proxy = project.name === "neon" ? await startNeonProxy(server) : null;
  project.provide("databaseServer", { host: server.host, port: server.port, neonPort: proxy?.port ?? null });
  return async () => {
    await proxy?.close();
    await server.stop();
  };
}

/** The URL of an embedded database in memory. */
export const EMBEDDED = "pglite:";

/** The URL of an empty database that no other test uses. */
export async function newDatabase(): Promise<string> {
  const server = inject("databaseServer") as DatabaseServer | undefined;
  if (server === undefined) return EMBEDDED;
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const client = new pg.Client({ host: server.host, port: server.port, user: "gateway", database: "postgres" });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  if (server.neonPort === null) return `postgres://gateway@${server.host}:${server.port}/${name}`;
  useNeonProxy(server.neonPort);
  return `postgres://gateway:any@tests.neon.tech/${name}`;
}
