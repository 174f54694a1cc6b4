/**
 * Rows that the store refuses for their content: they delay no other row, they are kept as dead letters and reported, and
 * they are sent again when the store takes them. Every other row arrives once and in order.
 *
 * @module-tag check
 */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { DEAD_LETTER_MAX_ROWS, DEAD_LETTER_RETRY_MS } from "../../edge/domain/ledger/send-plan.ts";
import type { SpanRecord } from "../../edge/domain/trace/trace.ts";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import { batchOf, drain, freshLedger, ids, order, seen, stored, tokensOf } from "./ledger-world.ts";
import { UNREADABLE } from "./store-sink.ts";

/** A batch whose rows at the places `at` are unreadable to the store. */
const withUnreadable = (requests: readonly string[], sequence: number, ...at: number[]) =>
  batchOf(requests, sequence, { over: (id) => (at.includes(requests.indexOf(id)) ? { model: UNREADABLE } : {}) });

const without = (requests: readonly string[], ...at: number[]) => requests.filter((_, place) => !at.includes(place));

async function sql(stub: DurableObjectStub<LedgerObject>, statement: string): Promise<void> {
  await runInDurableObject(stub, (_ledger, state) => void state.storage.sql.exec(statement));
}

/** Fills the storage for dead letters completely. */
async function fillAside(stub: DurableObjectStub<LedgerObject>): Promise<void> {
  await stub.status();
  await sql(
    stub,
    `WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ${DEAD_LETTER_MAX_ROWS})
     INSERT INTO aside (request_id, bytes, at, line) SELECT at, 1, ${Date.now()}, '{}' FROM n`,
  );
  await evictDurableObject(stub);
}

describe("a row that the store refuses for its content", () => {
  it("becomes a counted and reported dead letter; all other rows arrive once, in order", async () => {
    const { stub } = freshLedger("refusing");
    const requests = ids(300);
    await stub.append(withUnreadable(requests.slice(0, 200), 1, 0, 77, 199));
    await stub.append(batchOf(requests.slice(200), 2));
    await drain(stub);
    expect(await stored(requests)).toEqual(without(requests, 0, 77, 199));
    await evictDurableObject(stub);
    expect(await stub.status()).toMatchObject({ segments: 0, bytes: 0, dropped: 0, aside: 3 });
    expect((await stub.alerts(null)).alerts).toMatchObject([
      {
        issueKey: "usage_rows_refused",
        title: "Usage records refused",
        detail: "the analytics store refuses 3 records; kept aside",
      },
    ]);
  });

  it("keeps other rows in order through lost acknowledgements and restarts between the halves", async () => {
    const { name, stub } = freshLedger("refusing");
    const requests = ids(64);
    await order({ ledger: name, fault: "lose_ack", times: 6 });
    await stub.append(withUnreadable(requests, 1, 40));
    for (let attempt = 0; attempt < 6; attempt += 1) {
      await runDurableObjectAlarm(stub);
      await evictDurableObject(stub);
    }
    await drain(stub);
    expect(await stored(requests)).toEqual(without(requests, 40));
    expect((await stub.status()).aside).toBe(1);
  });

  it("is sent again after an hour, and is deleted once the store takes it", async () => {
    const { name, stub } = freshLedger("refusing");
    const requests = ids(3);
    await stub.append(withUnreadable(requests, 1, 1));
    await drain(stub);
    const anHourPasses = async (): Promise<void> => {
      await sql(stub, `UPDATE aside SET at = at - ${DEAD_LETTER_RETRY_MS + 1}`);
      await evictDurableObject(stub);
      await stub.status();
      await runDurableObjectAlarm(stub);
    };
    await anHourPasses();
    expect((await stub.status()).aside).toBe(1);
    await order({ ledger: name, fault: "repair", times: 1 });
    await anHourPasses();
    expect(await stub.status()).toMatchObject({ segments: 0, bytes: 0, dropped: 0, aside: 0 });
    expect(await stored(requests)).toEqual([requests[0], requests[2], requests[1]]);
  });

  it("waits in its segment when dead letters are full and the store takes no other row", async () => {
    const { name, stub } = freshLedger("refusing");
    await fillAside(stub);
    const requests = ids(2);
    await stub.append(withUnreadable(requests, 1, 0, 1));
    for (let attempt = 0; attempt < 3; attempt += 1) await runDurableObjectAlarm(stub);
    expect(await stub.status()).toMatchObject({ segments: 1, dropped: 0, aside: DEAD_LETTER_MAX_ROWS });
    await order({ ledger: name, fault: "repair", times: 1 });
    await drain(stub);
    expect(await stored(requests)).toEqual(requests);
  });

  it("replaces the oldest dead letter, counted as lost, when they are full and other rows pass", async () => {
    const { stub } = freshLedger("refusing");
    await fillAside(stub);
    const requests = ids(3);
    await stub.append(withUnreadable(requests, 1, 0, 2));
    await drain(stub);
    expect(await stored(requests)).toEqual([requests[1]]);
    expect(await stub.status()).toMatchObject({ segments: 0, dropped: 2, aside: DEAD_LETTER_MAX_ROWS });
  });

  it("differs from a row that only the rollup refuses: that insert is resent whole, by its token", async () => {
    const { name, stub } = freshLedger("refusing");
    const requests = ids(4);
    await order({ ledger: name, fault: "view_refuses", times: 2 });
    await stub.append(batchOf(requests, 1));
    await drain(stub);
    expect(await stub.status()).toMatchObject({ segments: 0, bytes: 0, dropped: 0, aside: 0 });
    expect(await stored(requests)).toEqual(requests);
    expect(await tokensOf(name)).toEqual(["1-0", "1-0", "1-0"]);
  });

  it("does not stop spans that follow one that the store refuses", async () => {
    const { stub } = freshLedger("refusing");
    const [first, second, third] = ids(3) as [string, string, string];
    const span = (model: string): SpanRecord => {
      const attributes = { model };
      return { span_name: "upstream", parent_span: "", start_ms: 1, duration_ms: 1, status: "ok", attributes };
    };
    await stub.spans(first, [span("a")]);
    await stub.spans(second, [span(UNREADABLE)]);
    await stub.spans(third, [span("b")]);
    await runDurableObjectAlarm(stub);
    expect(await stored([first, second, third])).toEqual([first, third]);
    expect((await seen()).rows.some((row) => row.includes(UNREADABLE) && row.includes(second))).toBe(false);
  });
});
