/**
 * The Ledger's disk inside the runtime: what a group commit writes, what stays after the commits are deleted, and disks of
 * an earlier layout.
 */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { usageRowLine } from "../../edge/domain/ledger/row-line.ts";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import { rowFor } from "./admission-messages.ts";
import { batchOf, drain, freshLedger, ids, stored, tokensOf } from "./ledger-world.ts";

type Stub = DurableObjectStub<LedgerObject>;

/** Runs statements on the disk; returns the rows of the last one. */
async function sql(stub: Stub, ...statements: readonly string[]): Promise<Record<string, SqlStorageValue>[]> {
  return await runInDurableObject(stub, (_ledger, state) =>
    statements.map((statement) => state.storage.sql.exec(statement).toArray()).at(-1),
  ).then((rows) => rows ?? []);
}

describe("the Ledger's disk", () => {
  it("writes one row for a group commit, whatever its contents", async () => {
    const { stub } = freshLedger("disk");
    await stub.append(batchOf(ids(1), 1));
    const written = async (work: () => Promise<unknown>): Promise<number> => {
      const total = async () => Number((await sql(stub, "SELECT total_changes() AS n"))[0]?.["n"]);
      const before = await total();
      await work();
      return (await total()) - before;
    };
    expect(await written(async () => await stub.append(batchOf(ids(200), 2)))).toBe(1);
    expect(await sql(stub, "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'commits'")).toEqual([]);
  });

  it("recognises a batch after its commit was deleted, also across a restart", async () => {
    const { stub } = freshLedger("disk");
    const [first, second] = [ids(2), ids(2)];
    await stub.append(batchOf(first, 1));
    await stub.append(batchOf(second, 2));
    await drain(stub);
    await sql(stub, `UPDATE shipped SET at = at - 120001`);
    await runDurableObjectAlarm(stub);
    expect(await sql(stub, "SELECT id FROM commits UNION ALL SELECT segment FROM shipped")).toEqual([]);
    await evictDurableObject(stub);
    for (const [rows, sequence] of [
      [first, 1],
      [second, 2],
    ] as const)
      await stub.append(batchOf(rows, sequence));
    await drain(stub);
    expect(await stored([...first, ...second])).toEqual([...first, ...second]);
  });

  it("upgrades the first disk layout: waiting rows are sent once, in order; batches stay applied", async () => {
    const { name, stub } = freshLedger("disk");
    await stub.status();
    const [gone, one, two, three] = ids(4) as [string, string, string, string];
    const lines = (id: string): string => `'${usageRowLine(rowFor(id)).json.replaceAll("'", "''")}'`;
    await sql(
      stub,
      "DROP TABLE commits",
      "DROP TABLE shipped",
      "CREATE TABLE commits (id INTEGER PRIMARY KEY AUTOINCREMENT, segment INTEGER NOT NULL, bytes INTEGER NOT NULL, orphan INTEGER NOT NULL, lines TEXT NOT NULL, shipped_at INTEGER)",
      "CREATE INDEX commits_segment ON commits (segment)",
      `INSERT INTO commits (segment, bytes, orphan, lines, shipped_at) VALUES (3, 9, 0, ${lines(gone)}, ${Date.now()})`,
      `INSERT INTO commits (segment, bytes, orphan, lines) VALUES (4, 9, 0, ${lines(one)}), (4, 9, 0, ${lines(two)}), (5, 9, 0, ${lines(three)})`,
      "INSERT INTO applied (source, sequence, at) VALUES ('c/e', 7, 0)",
      "UPDATE meta SET value = '1' WHERE name = 'schema'",
      "INSERT INTO meta (name, value) VALUES ('open_segment', '5')",
    );
    await evictDurableObject(stub);
    expect((await stub.status()).segments).toBe(2);
    await stub.append(batchOf(ids(1), 7));
    const late = ids(1);
    await stub.append(batchOf(late, 8));
    for (const known of [gone, one]) await stub.appendOrphan(rowFor(known));
    await drain(stub);
    // Rows that the store may have from an earlier send are sent again under the same tokens.
    expect((await tokensOf(name)).slice(0, 2)).toEqual(["4-0", "5-0"]);
    expect(await stored([gone, one, two, three, ...late])).toEqual([one, two, three, ...late]);
    await evictDurableObject(stub);
    expect((await sql(stub, "SELECT value FROM meta WHERE name = 'schema'"))[0]?.["value"]).toBe("3");
  });
});
