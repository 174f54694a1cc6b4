/**
 * The use of a budget by the ledger, on the real tables, in the embedded engine.
 *
 * @module-tag long
 */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { dropExpired } from "../../../control/usage/analytics/retention.ts";
import { ledgerSum } from "../../../edge/adapters/ledger-sums.ts";
import { KEY, ledgerRow, TENANT, TestLedger } from "../../../test/harness/ledger.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The first of the days of these tests; all are old enough that no row is still on its way. */
const FIRST = Math.floor(Date.now() / DAY_MS - 20) * DAY_MS;
const ledger = new TestLedger();
ledger.use();

const sum = async (whose: "tenant" | "key", sinceMs: number | null, untilMs = FIRST + 9 * DAY_MS) =>
  await ledgerSum(ledger.place, whose, whose === "tenant" ? TENANT : KEY, sinceMs, untilMs);

const used = (atMs: number, tokens: number, change: Parameters<typeof ledgerRow>[1] = {}) =>
  ledgerRow(atMs, { total_tokens: tokens, cost_usd: tokens / 1000, ...change });
const hit = (atMs: number, tokens: number) => used(atMs, tokens, { cache_status: "hit", cost_usd: 0 });

/** Drops the rows of the days before the given one. */
const dropBefore = async (day: number): Promise<void> => {
  await dropExpired(ledger.store, 1, FIRST + (day + 1) * DAY_MS);
};

describe("the ledger's sums", () => {
  it.each(["ann", "it's \\' OR 1=1 --", "a/b\n'", "\u{1f600}"])(
    "of an end user are those of the tenant's: %j",
    async (name) => {
      await ledger.insert([
        used(FIRST, 7, { end_user: name }),
        used(FIRST, 1),
        used(FIRST, 2, { end_user: `${name}2` }),
      ]);
      await ledger.insert([
        used(FIRST, 4, { end_user: name, tenant_id: randomUUID() }),
        used(FIRST - 1, 8, { end_user: name }),
      ]);
      const read = async (id: string) => await ledgerSum(ledger.place, "key", id, FIRST, FIRST + 9 * DAY_MS);
      expect(await read(`${TENANT}/${name}`)).toEqual({ tokens: 7, nanoUsd: 7_000_000 });
      expect(await read(`${TENANT}/nobody`)).toEqual({ tokens: 0, nanoUsd: 0 });
    },
  );

  it("are sums of the rows since the period began", async () => {
    expect(await sum("tenant", FIRST)).toEqual({ tokens: 0, nanoUsd: 0 });
    await ledger.insert([used(FIRST - 1, 100), used(FIRST, 7)]);
    await ledger.insert([used(FIRST + DAY_MS, 5, { key_id: randomUUID() })]);
    expect(await sum("tenant", FIRST)).toEqual({ tokens: 12, nanoUsd: 12_000_000 });
    expect(await sum("key", FIRST)).toEqual({ tokens: 7, nanoUsd: 7_000_000 });
    expect(await sum("tenant", null)).toEqual({ tokens: 112, nanoUsd: 112_000_000 });
  });

  it("come from the rollup for days whose rows were dropped, from the start's day on", async () => {
    await ledger.insert([used(FIRST, 100), used(FIRST + DAY_MS, 10), used(FIRST + 2 * DAY_MS, 1)]);
    await dropBefore(1);
    expect(await sum("tenant", FIRST)).toEqual({ tokens: 111, nanoUsd: 111_000_000 });
    expect(await sum("tenant", FIRST + HOUR_MS)).toMatchObject({ tokens: 11 });
    expect(await sum("tenant", FIRST + DAY_MS + HOUR_MS)).toMatchObject({ tokens: 1 });
    await dropBefore(3);
    expect(await sum("key", null)).toMatchObject({ tokens: 111 });
  });

  it("leave out what the day used before a period began in it, also when its rows were dropped", async () => {
    const startMs = FIRST + 15 * HOUR_MS + 60_000;
    await ledger.insert([
      used(FIRST + HOUR_MS, 1000),
      used(startMs - 1, 100),
      used(startMs + HOUR_MS, 10),
      used(FIRST + DAY_MS, 1),
    ]);
    expect(await sum("tenant", startMs)).toMatchObject({ tokens: 11 });
    await dropBefore(1);
    expect(await sum("tenant", startMs)).toMatchObject({ tokens: 11 });
    await dropBefore(2);
    expect(await sum("tenant", startMs)).toMatchObject({ tokens: 11 });
    expect(await sum("key", FIRST)).toMatchObject({ tokens: 1111 });
  });

  it("count a request in the period in which it was let through, not in which it ended", async () => {
    const long = { total_ms: 2 * HOUR_MS, queue_wait_ms: 0 };
    const queued = { total_ms: 2 * HOUR_MS, queue_wait_ms: 2 * HOUR_MS };
    await ledger.insert([
      used(FIRST + HOUR_MS, 100, long),
      used(FIRST + HOUR_MS, 10, queued),
      used(FIRST + 3 * HOUR_MS, 1, long),
    ]);
    expect(await sum("tenant", FIRST)).toMatchObject({ tokens: 11 });
  });

  it("count a late row of a day whose rows were dropped once", async () => {
    await ledger.insert([used(FIRST, 100), used(FIRST + DAY_MS, 10)]);
    await dropBefore(1);
    await ledger.insert([used(FIRST + HOUR_MS, 5)]);
    expect(await sum("tenant", FIRST)).toMatchObject({ tokens: 115 });
    expect(await sum("tenant", null)).toMatchObject({ tokens: 115 });
  });

  it("leave out requests that ended after the given time", async () => {
    const untilMs = FIRST + 2 * DAY_MS + HOUR_MS;
    await ledger.insert([used(FIRST, 1000), used(FIRST + DAY_MS, 100), used(untilMs - 1, 10)]);
    await ledger.insert([used(untilMs, 7), used(untilMs + 1000, 5)]);
    expect(await sum("tenant", FIRST, untilMs)).toEqual({ tokens: 1110, nanoUsd: 1_110_000_000 });
    expect(await sum("key", FIRST + DAY_MS, untilMs)).toMatchObject({ tokens: 110 });
    await dropBefore(1);
    expect(await sum("tenant", FIRST, untilMs)).toEqual({ tokens: 1110, nanoUsd: 1_110_000_000 });
    expect(await sum("tenant", untilMs, untilMs)).toEqual({ tokens: 0, nanoUsd: 0 });
  });

  it("leave out answers from the cache, while their rows are kept and afterwards", async () => {
    const hits = Array.from({ length: 12 }, (_, at) => hit(FIRST + at, 100));
    await ledger.insert([used(FIRST, 100, { cache_status: "miss" }), ...hits, used(FIRST + HOUR_MS, 100)]);
    for (const whose of ["tenant", "key"] as const) expect(await sum(whose, FIRST)).toMatchObject({ tokens: 200 });
    await dropBefore(1);
    for (const whose of ["tenant", "key"] as const) expect(await sum(whose, FIRST)).toMatchObject({ tokens: 200 });
  });
});

describe("a ledger that an older version has filled", () => {
  /** The tables as they were before the rollups kept tokens of hits apart, with these rows. */
  const older = async (rows: Parameters<TestLedger["insert"]>[0]): Promise<void> => {
    for (const view of ["usage_daily_hits_mv", "usage_quarter_hits_mv"])
      await ledger.run(`DROP TABLE ${ledger.db}.${view}`);
    for (const table of ["usage_daily", "usage_quarter"])
      await ledger.run(`ALTER TABLE ${ledger.db}.${table} DROP COLUMN hit_tokens`);
    await ledger.run(`ALTER TABLE ${ledger.db}.usage_raw MODIFY COMMENT ''`);
    await ledger.insert(rows);
  };
  const upgrade = async (): Promise<void> => {
    const again = ledger.another();
    await again.migrate();
    await again.close();
  };

  it("has no hits in its sums as long as it has their rows, also when they are dropped later", async () => {
    await older([used(FIRST, 100), hit(FIRST, 100)]);
    await upgrade();
    await ledger.insert([hit(FIRST + HOUR_MS, 100), used(FIRST + DAY_MS, 10), hit(FIRST + DAY_MS, 10)]);
    expect(await sum("tenant", FIRST)).toMatchObject({ tokens: 110 });
    await dropBefore(1);
    await dropBefore(1);
    expect(await sum("tenant", FIRST)).toMatchObject({ tokens: 110 });
    await dropBefore(2);
    expect(await sum("tenant", null)).toMatchObject({ tokens: 110 });
  });

  it("counts the hits of days whose rows were dropped before, of which nothing more is known", async () => {
    await older([used(FIRST, 100), hit(FIRST, 100), used(FIRST + DAY_MS, 10), hit(FIRST + DAY_MS, 10)]);
    await ledger.store.dropPartition("usage_raw", new Date(FIRST).toISOString().slice(0, 10).replaceAll("-", ""));
    await upgrade();
    await ledger.insert([used(FIRST + HOUR_MS, 1)]);
    expect(await sum("tenant", FIRST)).toMatchObject({ tokens: 211 });
  });
});
