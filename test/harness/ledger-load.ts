/**
 * Load whose rows are accounted for: clients that send one request after another, the requests that were answered in full,
 * and the wait until each of them has its row in the raw ledger and in the rollup.
 */
import { expect } from "vitest";
import type { DailyUsage } from "../../shared/schema/usage-reads.ts";
import { reportFault } from "./fault-table.ts";
import type { Gateway, Minted } from "./gateway.ts";
import { waitFor } from "./wait-for.ts";

/**
 * A process that is killed may lose the rows that it has had for less than this time
 * (docs/rules/settlement-and-rows.md#custody).
 */
const PROMISED_AFTER_MS = 1000;

/** A request whose whole answer a client got. */
export interface Ended {
  readonly requestId: string;
  readonly atMs: number;
  /** How many requests were sent before it. */
  readonly place: number;
}

/** Starts the clients. `headers` returns those of the request with the given number. */
export function startLoad(
  gateway: Gateway,
  minted: Minted,
  clients: number,
  headers: (place: number) => Readonly<Record<string, string>> = () => ({}),
) {
  const ended: Ended[] = [];
  /** Statuses other than 200 that were seen, and 0 for a request that got no whole answer. */
  const others = new Set<number>();
  let [sent, stopped] = [0, false];
  const client = async (): Promise<void> => {
    while (!stopped) {
      const place = sent;
      sent += 1;
      try {
        const response = await gateway.chat(minted, { stream: place % 2 === 0, headers: headers(place) });
        await response.text();
        const requestId = response.headers.get("x-gateway-request-id") ?? "";
        if (response.status === 200) ended.push({ requestId, atMs: Date.now(), place });
        else others.add(response.status);
      } catch {
        // The gateway was killed during this request, so it owes no row.
        others.add(0);
      }
    }
  };
  const running = Array.from({ length: clients }, client);
  return {
    clients,
    ended,
    others,
    /** Resolves when this many more requests have ended. */
    more: async (count: number): Promise<void> => {
      const enough = ended.length + count;
      await waitFor(
        () => ended.length,
        (length) => length >= enough,
      );
    },
    /** Resolves when this many requests ended long enough ago that a kill from now on must not lose their rows. */
    promised: async (count: number): Promise<void> => {
      await waitFor(
        () => ended.filter(({ atMs }) => isPromised(atMs, Date.now())).length,
        (owed) => owed >= count,
      );
    },
    stop: async (): Promise<readonly Ended[]> => {
      stopped = true;
      await Promise.all(running);
      return ended;
    },
  };
}

interface Accounting {
  readonly fault: string;
  readonly gateway: Gateway;
  readonly minted: Minted;
  readonly load: { readonly clients: number; readonly ended: readonly Ended[] };
  /** Whether a request must have its row; without this function every request must. */
  readonly expected?: (ended: Ended) => boolean;
  readonly dropped?: number;
  readonly deadLetters?: number;
  readonly servedAfterMs?: number;
}

/**
 * Whether an answer that ended at a time must have its row, although the process that served it was killed and came back.
 */
export function isPromised(atMs: number, killedAtMs: number, backAtMs = Number.POSITIVE_INFINITY): boolean {
  return atMs < killedAtMs - PROMISED_AFTER_MS || atMs > backAtMs;
}

/** Waits until every expected row is in the store and the rollup agrees; adds the line to the table and checks it. */
export async function account(given: Accounting): Promise<void> {
  const { fault, gateway, minted, load, expected = () => true, dropped = 0, deadLetters = 0, servedAfterMs } = given;
  const ids = load.ended.filter(expected).map((each) => each.requestId);
  await waitFor(
    async () => new Set(await gateway.requestIds(minted.tenant.id)),
    (known) => ids.every((id) => known.has(id)),
  ).catch(() => undefined);
  const path = `/usage/daily?tenant_id=${minted.tenant.id}&group_by=tenant`;
  const read = async () => {
    const rows = await gateway.requestIds(minted.tenant.id);
    const known = new Set(rows);
    const inRollup = (await gateway.must<DailyUsage[]>("GET", path))[0]?.requests ?? 0;
    return { rows, known, rollupOff: inRollup - known.size };
  };
  // the store shows the rows of an insert before it has added them to the rollup, and more rows may still arrive
  const { rows, known, rollupOff } = await waitFor(read, (now) => now.rollupOff === 0, 10_000).catch(read);
  const line = {
    fault,
    clients: load.clients,
    requests: load.ended.length,
    rowsExpected: ids.length,
    rowsFound: ids.filter((id) => known.has(id)).length,
    doubled: rows.length - known.size,
    rollupOff,
    dropped,
    deadLetters,
    servedAfterMs,
  };
  reportFault(line);
  expect(ids.length).toBeGreaterThan(0);
  expect(line).toMatchObject({ rowsFound: ids.length, doubled: 0, rollupOff: 0 });
}
