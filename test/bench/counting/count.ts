/**
 * Counts the billed operations of a request, on a separate stack whose Worker counts them: with one request after another,
 * where few operations can be joined, and with many requests at once.
 */

import { join } from "node:path";
import { startGoverned } from "../governed.ts";
import { LOADS, type Load } from "../loads.ts";
import type { Places } from "../places.ts";
import { sliceOf, type Target } from "../targets.ts";
import { lessOf, type Operations } from "./operations.ts";

export interface Counted {
  readonly concurrency: number;
  readonly operations: Operations;
}

/** Enough requests for a meaningful count of each load, in a second or two. */
const COUNTED: readonly (readonly [load: string, requests: number])[] = [
  ["c1", 200],
  ["c32", 2000],
];

/** Starts the stack, counts, and stops it. Throws when a request fails. */
export async function countOperations(places: Places): Promise<readonly Counted[]> {
  const { generator } = places;
  const folder = join(places.folder, "counting");
  const governed = await startGoverned(folder, places.origin, { workerEntry: "test/bench/counting/worker.ts" });
  places.beforeClosing(async () => await governed.stack.stop());
  try {
    const base = governed.stack.runtimeUrls()[0] ?? governed.stack.proxyUrl;
    const headers = [{ authorization: `Bearer ${governed.secret}` }];
    const target: Target = {
      name: "governed",
      pid: null,
      beside: [],
      base: () => `${base}/v1`,
      headers: () => headers,
    };
    let sent = 0;
    const send = async (load: Load, leastRequests: number): Promise<void> => {
      const result = await generator.call({ ...sliceOf(load, target, 1), leastRequests });
      const [failure] = Object.keys(result.failures);
      if (failure !== undefined) throw new Error(`a request failed while operations were counted: ${failure}`);
      sent += result.sent;
    };
    /** The counts after the rows have been inserted, so that the inserts are counted as well. */
    const counts = async (): Promise<Operations> => {
      await governed.rows(sent);
      return (await (await fetch(`${base}/bench/operations`)).json()) as Operations;
    };
    const all: Counted[] = [];
    for (const [name, requests] of COUNTED) {
      const load = LOADS.find((each) => each.name === name);
      if (load === undefined) throw new Error(`there is no load ${name}`);
      await send(load, load.concurrency);
      const before = await counts();
      await send(load, requests);
      all.push({ concurrency: load.concurrency, operations: lessOf(await counts(), before) });
    }
    return all;
  } finally {
    await governed.stack.stop();
  }
}
