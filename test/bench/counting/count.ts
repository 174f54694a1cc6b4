/**
 * Counts the billed operations of a request, on a separate stack whose Worker counts them: with one request after another,
 * where few operations can be joined, and with many requests at once.
 */

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startGoverned } from "../governed.ts";
import { LOADS, type Load } from "../loads.ts";
import type { Places } from "../places.ts";
import { cpuMsOf } from "../process-usage.ts";
import { sliceOf, type Target } from "../targets.ts";
import { lessOf, type Operations } from "./operations.ts";

/** A load of the bench, and how much of it is counted. */
export interface CountedLoad {
  readonly load: string;
  readonly requests: number;
  /** One request alone in every so many ms, where none can be joined with another; null: as the load sends them. */
  readonly everyMs: number | null;
}

export interface Counted {
  readonly of: CountedLoad;
  readonly operations: Operations;
  /** CPU time of the whole runtime per request, counters included; null: this system does not say. */
  readonly cpuMs: number | null;
}

/** Enough requests for a meaningful count of each load, in a second or two. */
const COUNTED: readonly CountedLoad[] = [
  { load: "c1", requests: 200, everyMs: null },
  { load: "c32", requests: 2000, everyMs: null },
];

/** Starts the stack, counts each load, and stops it. Throws when a request fails. */
export async function countOperations(
  places: Pick<Places, "generator" | "folder" | "origin" | "beforeClosing">,
  loads = COUNTED,
): Promise<readonly Counted[]> {
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
    const sendSparsely = async (load: Load, requests: number, everyMs: number): Promise<void> => {
      const {
        url,
        headers: [first = {}],
        body,
      } = sliceOf(load, target, 1);
      for (let at = 0; at < requests; at += 1) {
        const response = await fetch(url, { method: "POST", headers: first, body });
        await response.arrayBuffer();
        if (!response.ok) throw new Error(`a request was answered ${response.status} while operations were counted`);
        sent += 1;
        await pause(everyMs);
      }
    };
    /** The counts after the rows have been inserted, so that the inserts are counted as well. */
    const counts = async (): Promise<Operations> => {
      await governed.rows(sent);
      return (await (await fetch(`${base}/bench/operations`)).json()) as Operations;
    };
    const all: Counted[] = [];
    for (const of of loads) {
      const { requests, everyMs } = of;
      const load = LOADS.find((each) => each.name === of.load);
      if (load === undefined) throw new Error(`there is no load ${of.load}`);
      await send(load, load.concurrency);
      const pid = governed.stack.parts.get("workerd")?.pid ?? 0;
      const before = await counts();
      const cpuBeforeMs = cpuMsOf(pid);
      if (everyMs === null) await send(load, requests);
      else await sendSparsely(load, requests, everyMs);
      const cpuAfterMs = cpuMsOf(pid);
      const operations = lessOf(await counts(), before);
      const cpuMs =
        cpuBeforeMs === null || cpuAfterMs === null ? null : (cpuAfterMs - cpuBeforeMs) / operations.requests;
      all.push({ of, operations, cpuMs });
    }
    return all;
  } finally {
    await governed.stack.stop();
  }
}
