/**
 * A database server that cuts connections (a restart, a failover, an idle timeout): the service answers 503 at worst, keeps
 * running, and continues with new connections.
 */
import { sql } from "drizzle-orm";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { connect } from "../../control/db/connect.ts";
import { withDatabaseErrors } from "../../control/kernel/database-errors.ts";
import { startControl, type TestControl } from "../harness/control.ts";
import { useNeonProxy } from "../harness/neon-proxy.ts";
import { waitFor } from "../harness/wait-for.ts";

/** A port that nothing listens on. */
const NOWHERE = 9;

let control: TestControl;
let server: pg.Client;

beforeAll(async () => {
  control = await startControl();
  const { host, port } = inject("databaseServer");
  server = new pg.Client({ host, port, user: "gateway", database: "postgres" });
  await server.connect();
});
afterAll(async () => {
  await server.end();
  await control.close();
});

it("survives the loss of all its connections", async () => {
  const { rows } = (await control.connection.db.execute(sql`SELECT current_database() AS name`)) as unknown as {
    rows: { name: string }[];
  };
  const create = async (name: string) => (await control.request("POST", "/api/v1/tenants", { name })).status;
  for (const round of [1, 2, 3]) {
    const many = await Promise.all(Array.from({ length: 8 }, async (_, at) => await create(`before-${round}-${at}`)));
    expect(new Set(many)).toEqual(new Set([200]));
    // It waits until they have ended: one that ends later would end within the next round.
    const cut = await server.query("SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE datname = $1", [
      rows[0]?.name,
    ]);
    expect(cut.rowCount).toBeGreaterThan(0);
    let attempt = 0;
    const next = async (): Promise<number> => {
      attempt += 1;
      const status = await create(`after-${round}-${attempt}`);
      expect([200, 503]).toContain(status);
      return status;
    };
    await waitFor(next, (status) => status === 200);
  }
});

it("reports a server that cannot be reached as unavailable", async () => {
  useNeonProxy(NOWHERE);
  const url = new URL(control.places.databaseUrl);
  if (inject("databaseServer").neonPort === null) url.port = String(NOWHERE);
  const connection = await connect(url.href);
  const unavailable = { code: "database_unavailable" };
  await expect(withDatabaseErrors(async () => await connection.db.execute(sql`SELECT 1`))).rejects.toMatchObject(
    unavailable,
  );
  await expect(
    withDatabaseErrors(async () => await connection.db.transaction(async () => undefined)),
  ).rejects.toMatchObject(unavailable);
  await connection.close();
});
