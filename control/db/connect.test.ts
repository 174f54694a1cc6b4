/**
 * The embedded database runs in the thread of the service, and leaves room for its other work.
 *
 * @module-tag check
 */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Connection, connect, type Database, type Transaction } from "./connect.ts";

let connection: Connection;

beforeAll(async () => {
  connection = await connect("pglite:");
  await connection.db.execute(sql`CREATE TABLE pieces (n integer, bytes bytea)`);
});
afterAll(async () => await connection.close());

/** How many turns of the event loop others had while it ran. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  await work();
  clearImmediate(next);
  return turns;
}

const STATEMENTS = 20;
const inARow = async (db: Database | Transaction): Promise<void> => {
  for (let at = 0; at < STATEMENTS; at += 1) await db.execute(sql`SELECT ${at}`);
};

it("gives each statement a turn of the event loop, in loops and transactions too", async () => {
  const { db } = connection;
  const loop = await turnsDuring(async () => await inARow(db));
  const transaction = await turnsDuring(async () => await db.transaction(inARow));
  const callers = await turnsDuring(async () => {
    const others = Array.from({ length: STATEMENTS }, async (_, at) => await db.execute(sql`SELECT ${at}`));
    await Promise.all([db.transaction(inARow), ...others]);
  });
  expect({
    loop: loop >= STATEMENTS - 1,
    transaction: transaction >= STATEMENTS - 1,
    callers: callers >= 2 * STATEMENTS - 1,
  }).toEqual({ loop: true, transaction: true, callers: true });
});

it("bytes come back as they were, and a statement that fails does not stop the next one", async () => {
  const { db } = connection;
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
  await db.execute(sql`INSERT INTO pieces VALUES (1, ${bytes}::bytea), (2, ${Buffer.alloc(0)}::bytea)`);
  await expect(db.execute(sql`SELECT nothing`)).rejects.toThrow();
  await expect(
    db.transaction(async (tx) => {
      await tx.execute(sql`DELETE FROM pieces`);
      throw new Error("no");
    }),
  ).rejects.toThrow("no");
  const { rows } = (await db.execute(sql`SELECT bytes FROM pieces ORDER BY n`)) as unknown as {
    rows: { bytes: Uint8Array }[];
  };
  expect(rows.map((row) => Buffer.from(row.bytes))).toEqual([bytes, Buffer.alloc(0)]);
});
