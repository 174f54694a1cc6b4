/** The Ledger object inside the runtime: no failure, retry or restart loses a row or writes it twice. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { objectName } from "../../edge/objects/object-name.ts";
import { rowFor } from "./admission-messages.ts";
import { batchOf, drain, freshLedger, ids, order, seen, stored, tokensOf } from "./ledger-world.ts";

describe("Ledger", () => {
  it("ships rows in order, each with its columns, and forgets them when the store has them", async () => {
    const { stub } = freshLedger();
    const requests = ids(5);
    await stub.append(batchOf(requests.slice(0, 3), 1));
    await stub.append(batchOf(requests.slice(3), 2));
    await drain(stub);
    expect(await stored(requests)).toEqual(requests);
    const line = (await seen()).rows.find((row) => row.includes(requests[0] ?? "")) ?? "";
    expect(JSON.parse(line)["ts"]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/);
    expect(Object.keys(JSON.parse(line))).not.toContain("ts_ms");
    expect(await stub.status()).toMatchObject({ segments: 0, bytes: 0, dropped: 0, aside: 0, oldestMs: null });
  });

  it("applies a batch once, also across a restart", async () => {
    const { stub } = freshLedger();
    const requests = ids(3);
    await stub.append(batchOf(requests, 1));
    await stub.append(batchOf(requests, 1));
    await evictDurableObject(stub);
    await stub.append(batchOf(requests, 1));
    await drain(stub);
    await stub.append(batchOf(requests, 1));
    await drain(stub);
    expect(await stored(requests)).toEqual(requests);
  });

  it("keeps rows while the store fails, sets its alarm again, and sends them once", async () => {
    const { name, stub } = freshLedger();
    const requests = ids(4);
    await order({ ledger: name, fault: "refuse", times: 8 });
    await stub.append(batchOf(requests.slice(0, 2), 1));
    for (let attempt = 0; attempt < 8; attempt += 1) {
      await runDurableObjectAlarm(stub);
      const alarm = await runInDurableObject(stub, (_ledger, state) => state.storage.getAlarm());
      expect(alarm).not.toBeNull();
    }
    await evictDurableObject(stub);
    await stub.append(batchOf(requests.slice(2), 2));
    await drain(stub);
    expect(await stored(requests)).toEqual(requests);
  });

  it("sends the same segment under the same token when an acknowledgement is lost", async () => {
    const { name, stub } = freshLedger();
    const requests = ids(3);
    await order({ ledger: name, fault: "lose_ack", times: 2 });
    await stub.append(batchOf(requests.slice(0, 2), 1));
    await runDurableObjectAlarm(stub);
    await stub.append(batchOf(requests.slice(2), 2));
    await evictDurableObject(stub);
    await drain(stub);
    expect(await stored(requests)).toEqual(requests);
    const tokens = (await seen()).tokens.filter((token) => token.startsWith(`${name}-`));
    expect(tokens.length).toBe(4);
    expect(new Set(tokens).size).toBe(2);
  });

  it("knows its name when the runtime does not, so that its tokens stay the same", async () => {
    const { name, stub } = freshLedger();
    await stub.status();
    await evictDurableObject(stub);
    const known = await runInDurableObject(stub, (_ledger, { id, storage }) => {
      const nameless = { ...id, name: undefined, toString: () => id.toString() };
      return objectName({ id: nameless, storage } as unknown as DurableObjectState);
    });
    expect(known).toBe(name);
  });

  it("sends a backlog of many segments in order, each under its own token", async () => {
    const { name, stub } = freshLedger();
    await order({ ledger: name, fault: "refuse", times: 1 });
    const requests = ids(2_300);
    for (let at = 0; at < requests.length; at += 500) {
      await stub.append(batchOf(requests.slice(at, at + 500), 1 + at / 500));
    }
    await drain(stub);
    expect(await stored(requests)).toEqual(requests);
    const tokens = (await seen()).tokens.filter((token) => token.startsWith(`${name}-`));
    expect(new Set(tokens).size).toBe(tokens.length);
  });

  it("sends a backlog in parts, and each run of its alarm starts the next", async () => {
    const { stub } = freshLedger();
    await stub.status();
    await runInDurableObject(stub, (_ledger, state) => {
      state.storage.sql.exec(
        "WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 40) INSERT INTO commits (id, bytes, orphan, lines) SELECT at * 1048576, 1, 0, '{}' FROM n",
      );
      state.storage.sql.exec("INSERT INTO meta (name, value) VALUES ('open_segment', '41')");
    });
    await evictDurableObject(stub);
    const runs: { left: number; next: boolean }[] = [];
    // The alarm that the new instance sets comes after this call, however late the call is.
    await runInDurableObject(stub, (ledger, state) => {
      const alarm = ledger.alarm.bind(ledger);
      ledger.alarm = async () => {
        await alarm();
        runs.push({ left: (await ledger.status()).segments, next: (await state.storage.getAlarm()) !== null });
      };
    });
    await drain(stub);
    expect(runs.slice(0, 4)).toEqual([
      { left: 28, next: true },
      { left: 16, next: true },
      { left: 4, next: true },
      { left: 0, next: true },
    ]);
  });

  it("recognises an orphan row in the log, in the store, and twice in one batch", async () => {
    const { stub } = freshLedger();
    const [early, twice, stray] = ids(3) as [string, string, string];
    await stub.append(batchOf([early], 1));
    await stub.appendOrphan(rowFor(early));
    await stub.append(batchOf([early, twice, twice], 2, { orphan: true }));
    await drain(stub);
    await stub.appendOrphan(rowFor(early));
    await stub.append(batchOf([twice], 3, { orphan: true }));
    await stub.append(batchOf([stray], 4));
    await drain(stub);
    expect(await stored([early, twice, stray])).toEqual([early, twice, stray]);
    const { stub: other } = freshLedger();
    await other.appendOrphan(rowFor(early));
    await drain(other);
    expect(await stored([early])).toEqual([early]);
  });

  it("says again which rows it held, when the answer to a batch was lost", async () => {
    const { stub } = freshLedger();
    const [early, late] = ids(2) as [string, string];
    await stub.append(batchOf([early], 1));
    const batch = batchOf([early, late], 2, { orphan: true });
    expect([await stub.append(batch), await stub.append(batch)]).toEqual([[early], [early]]);
    expect(await stub.append(batchOf(ids(1), 3))).toEqual([]);
  });

  it("resends an unacknowledged orphan row under its token, because the rollup can lack it", async () => {
    const { name, stub } = freshLedger();
    const [row] = ids(1) as [string];
    await order({ ledger: name, fault: "lose_ack", times: 2 });
    await stub.appendOrphan(rowFor(row));
    await runDurableObjectAlarm(stub);
    await evictDurableObject(stub);
    await drain(stub);
    expect(await stored([row])).toEqual([row]);
    expect(await tokensOf(name)).toEqual(["1-0", "1-0", "1-0"]);
  });

  it("counts rows that a Worker has lost with those that it dropped itself, also after a restart", {
    tags: ["check"],
  }, async () => {
    const { stub } = freshLedger();
    await stub.lost(2);
    await stub.lost(1);
    await evictDurableObject(stub);
    expect((await stub.status()).dropped).toBe(3);
  });

  it("drops a row of its cell that came before as an orphan, also after a restart", async () => {
    const { stub } = freshLedger();
    const [direct, batched] = ids(2) as [string, string];
    await stub.appendOrphan(rowFor(direct));
    await stub.append(batchOf([batched], 1, { orphan: true }));
    await evictDurableObject(stub);
    expect(await stub.append(batchOf([direct, batched], 2))).toEqual([direct, batched]);
    await drain(stub);
    expect((await stored([direct, batched])).toSorted()).toEqual([direct, batched].toSorted());
  });

  it("keeps one row of its disk for one group commit", async () => {
    const { stub } = freshLedger();
    await stub.append(batchOf(ids(200), 1));
    const commits = await runInDurableObject(
      stub,
      (_ledger, state) => state.storage.sql.exec("SELECT count(*) AS n FROM commits").one()["n"],
    );
    expect(commits).toBe(1);
  });

  it("refuses storage of a newer version", async () => {
    const { stub } = freshLedger();
    await stub.status();
    await runInDurableObject(stub, (_ledger, state) => {
      state.storage.sql.exec("UPDATE meta SET value = '99' WHERE name = 'schema'");
    });
    await evictDurableObject(stub);
    await expect((async () => await stub.status())()).rejects.toThrow("newer than");
  });
});
