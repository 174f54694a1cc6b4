/** Helpers for tests of the Ledger: a ledger for one test, batches of rows, and what the store's stand-in has received. */
import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import type { LedgerBatch } from "../../edge/domain/ledger/rpc.ts";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import type { UsageRow } from "../../shared/usage/usage-row.ts";
import { waitFor } from "../harness/wait-for.ts";
import { rowFor } from "./admission-messages.ts";
import { SINK_CONTROL, type SinkOrder } from "./store-sink.ts";

const namespace = (env as unknown as { LEDGER: DurableObjectNamespace<LedgerObject> }).LEDGER;

let nextLedger = 1;

/** A ledger that only one test uses; `prefix` makes its name different from those of other test files. */
export function freshLedger(prefix = "ledger"): {
  readonly name: string;
  readonly stub: DurableObjectStub<LedgerObject>;
} {
  const name = `${prefix}-${nextLedger++}:0`;
  return { name, stub: namespace.getByName(name) };
}

/** The rows on the disk of a cell's first ledger. */
export async function rowsOnDisk(cell: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const commits = await runInDurableObject(namespace.getByName(`${cell}:0`), (_ledger, state) =>
    state.storage.sql.exec<{ lines: string }>("SELECT lines FROM commits ORDER BY id").toArray(),
  );
  return commits.flatMap(({ lines }) => lines.split("\n").map((line) => JSON.parse(line) as Record<string, unknown>));
}

export const ids = (count: number): string[] => Array.from({ length: count }, () => crypto.randomUUID());

/** A batch of one cell. `over` changes the row of a request. */
export function batchOf(
  requestIds: readonly string[],
  sequence: number,
  { orphan = false, over = () => ({}) }: { orphan?: boolean; over?: (id: string) => Partial<UsageRow> } = {},
): LedgerBatch {
  return { cell: "c", epoch: "e", sequence, orphan, rows: requestIds.map((id) => rowFor(id, over(id))) };
}

export async function order(given: SinkOrder): Promise<void> {
  await fetch(SINK_CONTROL, { method: "POST", body: JSON.stringify(given) });
}

/** Everything that the store's stand-in took, and every token that was sent to it. */
export const seen = async (): Promise<{ readonly rows: readonly string[]; readonly tokens: readonly string[] }> =>
  (await fetch(SINK_CONTROL)).json();

/** The tokens of a ledger's inserts in the order of arrival, without their common prefix. */
export async function tokensOf(ledger: string): Promise<string[]> {
  const { tokens } = await seen();
  return tokens
    .filter((token) => token.startsWith(`${ledger}-`))
    .map((token) => token.replace(/^.*-[0-9a-f-]{36}-/, ""));
}

/**
 * The request ids among `requestIds` that the store has, in the order of arrival; an id appears once for each of its rows.
 */
export async function stored(requestIds: readonly string[]): Promise<string[]> {
  const wanted = new Set(requestIds);
  return (await seen()).rows
    .map((row) => String((JSON.parse(row) as { request_id: unknown }).request_id))
    .filter((id) => wanted.has(id));
}

/** Runs the alarm at once, without waiting for its backoff, until no row waits. */
export async function drain(stub: DurableObjectStub<LedgerObject>): Promise<void> {
  await waitFor(
    async () => {
      await runDurableObjectAlarm(stub);
      return await stub.status();
    },
    (status) => status.segments === 0,
  );
}
