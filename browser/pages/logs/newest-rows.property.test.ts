/** The live list under random histories of a ledger: no row twice, none missing, in order, whatever arrives when. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Feed, LATE_MS, type LedgerKey, newestFirst, readTop, rowsOfPages, withNewest } from "./newest-rows.ts";

const PAGE_ROWS = 3;
const MOST = 40;

/** A ledger as the Management API pages it: by a cursor of time and request id. */
class Ledger {
  readonly rows: LedgerKey[] = [];
  reads = 0;

  page(address: string | null): Feed<LedgerKey> {
    this.reads += 1;
    const sorted = this.rows.toSorted(newestFirst);
    const [ts = "", request_id = ""] = address?.split("/") ?? [];
    const cursor = { ts_ms: Number(ts), request_id };
    const rows = sorted.filter((row) => address === null || newestFirst(cursor, row) < 0).slice(0, PAGE_ROWS);
    const last = rows.at(-1);
    return { rows, next: rows.length < PAGE_ROWS || last === undefined ? null : addressAfter(last) };
  }
}
const addressAfter = ({ ts_ms, request_id }: LedgerKey): string => `${ts_ms}/${request_id}`;
const ids = (rows: readonly LedgerKey[]): readonly string[] => rows.map(({ request_id }) => request_id);

type Step =
  | { readonly kind: "arrive"; readonly count: number; readonly lateMs: number; readonly afterMs: number }
  | { readonly kind: "poll" }
  | { readonly kind: "more" };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("arrive" as const),
    count: fc.integer({ min: 1, max: 6 }),
    lateMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: LATE_MS })),
    afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20_000 })),
  }),
  fc.record({ kind: fc.constant("poll" as const) }),
  fc.record({ kind: fc.constant("more" as const) }),
);

describe("the live list", () => {
  it("is a piece of the ledger's list from its top, each row once, after every poll", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.infiniteStream(fc.string({ unit: fc.constantFrom("0", "7", "a", "f"), maxLength: 3 })),
        async (steps, names) => {
          const ledger = new Ledger();
          let nowMs = 1_000_000;
          let feed = ledger.page(null);
          for (const one of steps) {
            if (one.kind === "arrive") {
              nowMs += one.afterMs;
              for (let at = 0; at < one.count; at += 1)
                ledger.rows.push({
                  ts_ms: nowMs - one.lateMs,
                  request_id: `${names.next().value}-${ledger.rows.length}`,
                });
            } else if (one.kind === "more") {
              if (feed.next === null) continue;
              const page = ledger.page(feed.next);
              feed = { rows: rowsOfPages([feed, page]), next: page.next };
            } else {
              const before = new Set(ids(feed.rows));
              const end = feed.next === null ? undefined : feed.rows.at(-1);
              const top = await readTop(feed.rows[0], async (address) => ledger.page(address));
              const merged = withNewest(feed, top, MOST, addressAfter);
              feed = merged.feed;
              expect([...merged.fresh].toSorted()).toEqual(
                ids(top.rows.filter((row) => end === undefined || newestFirst(row, end) < 0))
                  .filter((id) => !before.has(id))
                  .toSorted(),
              );
              const whole = ids(ledger.rows.toSorted(newestFirst));
              expect(ids(feed.rows)).toEqual(whole.slice(0, feed.rows.length));
              expect(new Set(ids(feed.rows)).size).toBe(feed.rows.length);
              expect(feed.rows).toEqual(feed.rows.toSorted(newestFirst));
              expect(feed.rows.length).toBeLessThanOrEqual(MOST);
              if (feed.next === null) expect(feed.rows.length).toBe(whole.length);
            }
          }
        },
      ),
    );
  });

  it("reaches every row of the ledger by going on from its end", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 60 }), fc.nat(60), async (times, cut) => {
        const ledger = new Ledger();
        const add = (from: number, to: number): void => {
          for (const [at, ts] of times.slice(from, to).entries())
            ledger.rows.push({ ts_ms: 1_000_000 + from * 10_000 + ts, request_id: `r${from + at}` });
        };
        add(0, cut);
        let feed = ledger.page(null);
        add(cut, times.length);
        feed = withNewest(
          feed,
          await readTop(feed.rows[0], async (address) => ledger.page(address)),
          MOST,
          addressAfter,
        ).feed;
        while (feed.next !== null) {
          const page = ledger.page(feed.next);
          feed = { rows: rowsOfPages([feed, page]), next: page.next };
        }
        expect(ids(feed.rows)).toEqual(ids(ledger.rows.toSorted(newestFirst)));
      }),
    );
  });

  it("counts as new no row that the next page of the list has", async () => {
    const ledger = new Ledger();
    for (let at = 0; at < 2 * PAGE_ROWS; at += 1) ledger.rows.push({ ts_ms: 1_000_000 + at, request_id: `r${at}` });
    const feed = ledger.page(null);
    const top = await readTop(feed.rows[0], async (address) => ledger.page(address));
    expect(ids(top.rows).length).toBeGreaterThan(feed.rows.length);
    expect([...withNewest(feed, top, MOST, addressAfter).fresh]).toEqual([]);
    ledger.rows.push({ ts_ms: 1_000_050, request_id: "new" });
    const later = await readTop(feed.rows[0], async (address) => ledger.page(address));
    expect([...withNewest(feed, later, MOST, addressAfter).fresh]).toEqual(["new"]);
  });

  it("starts over when more rows arrived than are read at once", async () => {
    const ledger = new Ledger();
    ledger.rows.push({ ts_ms: 1, request_id: "old" });
    const feed = ledger.page(null);
    for (let at = 0; at < 100; at += 1) ledger.rows.push({ ts_ms: 1_000_000, request_id: `n${at}` });
    ledger.reads = 0;
    const top = await readTop(feed.rows[0], async (address) => ledger.page(address));
    const merged = withNewest(feed, top, MOST, addressAfter);
    expect({ reads: ledger.reads, feed: merged.feed, freshCount: merged.fresh.size }).toEqual({
      reads: 5,
      feed: top,
      freshCount: 15,
    });
  });
});
