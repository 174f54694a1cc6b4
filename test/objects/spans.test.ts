/** The spans of a Ledger inside the runtime: kept until the store has them, sent again as they were, bounded. */
import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { SpanRecord } from "../../edge/domain/trace/trace.ts";
import type { Ledger } from "../../edge/objects/ledger/ledger.ts";
import { SpanStore } from "../../edge/objects/ledger/span-store.ts";
import { SINK_CONTROL, type SinkOrder } from "./store-sink.ts";

const namespace = (env as unknown as { LEDGER: DurableObjectNamespace<Ledger> }).LEDGER;

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

async function order(given: SinkOrder): Promise<void> {
  await fetch(SINK_CONTROL, { method: "POST", body: JSON.stringify(given) });
}

describe("the spans of a Ledger", () => {
  it("reach the store with its columns", async () => {
    const stub = namespace.getByName("spans-1:0");
    const id = crypto.randomUUID();
    await stub.spans(id, [span(), span({ span_name: "upstream", parent_span: "proxy_request" })]);
    await runDurableObjectAlarm(stub);
    expect(await stored(id)).toEqual([
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

  it("outlive a store that fails and a restart, and are not doubled by a lost answer", async () => {
    const name = "spans-2:0";
    const stub = namespace.getByName(name);
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    await order({ ledger: name, fault: "lose_ack", times: 1 });
    await stub.spans(first, [span()]);
    await runDurableObjectAlarm(stub);
    await stub.spans(second, [span()]);
    await evictDurableObject(stub);
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect([(await stored(first)).length, (await stored(second)).length]).toEqual([1, 1]);
  });

  it("are bounded: the oldest go", async () => {
    const stub = namespace.getByName("spans-3:0");
    await runInDurableObject(stub, (_ledger, state) => {
      const store = new SpanStore(state.storage);
      const line = "x".repeat(1024 * 1024);
      for (let n = 0; n < 12; n += 1) store.add([`${n}${line}`]);
      const part = store.seal();
      expect(part?.lines.map((text) => Number.parseInt(text, 10))).toEqual([5, 6, 7, 8, 9, 10, 11]);
      if (part !== null) store.sent(part);
      expect([store.waiting, store.seal()]).toEqual([false, null]);
    });
  });
});
