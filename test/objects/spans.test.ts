/**
 * The spans of a Ledger inside the runtime: they are kept until the store has them, sent again unchanged, and bounded in
 * number.
 */
import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { SpanRecord } from "../../edge/domain/trace/trace.ts";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import { SpanStore } from "../../edge/objects/ledger/span-store.ts";
import { waitFor } from "../harness/wait-for.ts";
import { SINK_CONTROL, type SinkOrder } from "./store-sink.ts";

const namespace = (env as unknown as { LEDGER: DurableObjectNamespace<LedgerObject> }).LEDGER;

const span = (change: Partial<SpanRecord> = {}): SpanRecord => ({
  span_name: "proxy_request",
  parent_span: "",
  start_ms: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  duration_ms: 7,
  status: "ok",
  attributes: { path: "/v1/x" },
  ...change,
});

async function stored(requestId: string): Promise<readonly Record<string, unknown>[]> {
  const { rows } = (await (await fetch(SINK_CONTROL)).json()) as { rows: readonly string[] };
  return rows.map((row) => JSON.parse(row) as Record<string, unknown>).filter((row) => row["request_id"] === requestId);
}

/** The spans of a request once the store has so many. The Ledger may already be shipping when its alarm is run. */
async function shipped(
  stub: DurableObjectStub<LedgerObject>,
  requestId: string,
  count: number,
): Promise<readonly Record<string, unknown>[]> {
  return await waitFor(
    async () => {
      await runDurableObjectAlarm(stub);
      return await stored(requestId);
    },
    (spans) => spans.length >= count,
  );
}

async function order(given: SinkOrder): Promise<void> {
  await fetch(SINK_CONTROL, { method: "POST", body: JSON.stringify(given) });
}

describe("the spans of a Ledger", () => {
  it("reach the store with its columns", async () => {
    const stub = namespace.getByName("spans-1:0");
    const id = crypto.randomUUID();
    await stub.spans(id, [span(), span({ span_name: "upstream", parent_span: "proxy_request" })]);
    expect(await shipped(stub, id, 2)).toEqual([
      {
        request_id: id,
        span_name: "proxy_request",
        parent_span: "",
        duration_ms: 7,
        status: "ok",
        start: "2026-01-02 03:04:05.006",
        attributes: '{"path":"/v1/x"}',
      },
      expect.objectContaining({ span_name: "upstream", parent_span: "proxy_request" }),
    ]);
  });

  it("survive a store that fails and a restart, and are not doubled when an answer is lost", async () => {
    const name = "spans-2:0";
    const stub = namespace.getByName(name);
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    await order({ ledger: name, fault: "lose_ack", times: 1 });
    await stub.spans(first, [span()]);
    await runDurableObjectAlarm(stub);
    await stub.spans(second, [span()]);
    await evictDurableObject(stub);
    // By the alarm that was set before the restart.
    await waitFor(
      async () => await stored(second),
      (spans) => spans.length > 0,
    );
    expect({ firstCount: (await stored(first)).length, secondCount: (await stored(second)).length }).toEqual({
      firstCount: 1,
      secondCount: 1,
    });
  });

  it("are bounded: the oldest are deleted", async () => {
    const stub = namespace.getByName("spans-3:0");
    await runInDurableObject(stub, (_ledger, state) => {
      const store = new SpanStore(state.storage);
      const line = "x".repeat(1024 * 1024);
      for (let n = 0; n < 12; n += 1) store.add([`${n}${line}`]);
      const part = store.seal();
      expect(part?.lines.map((text) => Number.parseInt(text, 10))).toEqual([5, 6, 7, 8, 9, 10, 11]);
      if (part !== null) store.sent(part);
      expect({ waiting: store.waiting, part: store.seal() }).toEqual({ waiting: false, part: null });
    });
  });
});
