/** Ledgers of their own for tests, batches for them, and what the store's stand-in has of these. */
import { env, runDurableObjectAlarm } from "cloudflare:test";
import type { LedgerBatch } from "../../edge/domain/admission/rpc.ts";
import type { Ledger } from "../../edge/objects/ledger/ledger.ts";
import type { UsageRow } from "../../shared/usage-row.ts";
import { waitFor } from "../harness/wait-for.ts";
import { rowFor } from "./asks.ts";
import { SINK_CONTROL, type SinkOrder } from "./store-sink.ts";

const namespace = (env as unknown as { LEDGER: DurableObjectNamespace<Ledger> }).LEDGER;

let nextLedger = 1;

/** A ledger that no other test has; `prefix` tells test files apart. */
export function freshLedger(prefix = "ledger"): { readonly name: string; readonly stub: DurableObjectStub<Ledger> } {
  const name = `${prefix}-${nextLedger++}:0`;
  return { name, stub: namespace.getByName(name) };
}

/** New request ids. */
export const ids = (count: number): string[] => Array.from({ length: count }, () => crypto.randomUUID());

/** A batch of one cell. `over` changes the row of a request. */
export function batchOf(
  requestIds: readonly string[],
  sequence: number,
  { orphan = false, over = () => ({}) }: { orphan?: boolean; over?: (id: string) => Partial<UsageRow> } = {},
): LedgerBatch {
  return { cell: "c", epoch: "e", sequence, orphan, rows: requestIds.map((id) => rowFor(id, over(id))) };
}

/** Tells the store's stand-in what to do. */
export async function order(given: SinkOrder): Promise<void> {
  await fetch(SINK_CONTROL, { method: "POST", body: JSON.stringify(given) });
}

/** Everything the store's stand-in took, and every token that it was sent. */
export const seen = async (): Promise<{ readonly rows: readonly string[]; readonly tokens: readonly string[] }> =>
  (await fetch(SINK_CONTROL)).json();

/** The tokens of a ledger's inserts as they came, without what all of them begin with. */
export async function tokensOf(ledger: string): Promise<string[]> {
  const { tokens } = await seen();
  return tokens
    .filter((token) => token.startsWith(`${ledger}-`))
    .map((token) => token.replace(/^.*-[0-9a-f-]{36}-/, ""));
}

/** Each of these requests as often as it is in the store, in the order of arrival. */
export async function stored(requestIds: readonly string[]): Promise<string[]> {
  const wanted = new Set(requestIds);
  return (await seen()).rows
    .map((row) => String((JSON.parse(row) as { request_id: unknown }).request_id))
    .filter((id) => wanted.has(id));
}

/** Runs the alarm at once, however far its backoff is, until nothing waits. */
export async function drain(stub: DurableObjectStub<Ledger>): Promise<void> {
  await waitFor(
    async () => {
      await runDurableObjectAlarm(stub);
      return await stub.status();
    },
    (status) => status.segments === 0,
  );
}
