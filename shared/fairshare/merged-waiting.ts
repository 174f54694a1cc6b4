/**
 * The queues that limits hold up, of one cell or of several, as one list (docs/rules/fairshare.md#why-a-request-waits): the
 * longest wait comes first, and the list is bounded.
 */
import type { WaitingQueue } from "../schema/load.ts";

/** More queues than this are not shown: those that have waited longest are. */
const QUEUES_MAX = 1000;

/**
 * One entry for each tenant, group, model and reason: the requests of all cells together, and the longest wait. At most
 * 1000, the longest wait first.
 */
export function mergedWaiting(cells: readonly (readonly WaitingQueue[])[]): WaitingQueue[] {
  const merged = new Map<string, WaitingQueue>();
  for (const queue of cells.flat()) {
    const { tenant_id, group, model, reason } = queue;
    const key = JSON.stringify([tenant_id, group, model, reason]);
    const known = merged.get(key);
    if (known === undefined) merged.set(key, { ...queue });
    else {
      known.queued += queue.queued;
      known.oldest_wait_ms = Math.max(known.oldest_wait_ms, queue.oldest_wait_ms);
    }
  }
  return [...merged.values()].sort(longestFirst).slice(0, QUEUES_MAX);
}

function longestFirst(a: WaitingQueue, b: WaitingQueue): number {
  return b.oldest_wait_ms - a.oldest_wait_ms || compare(a.tenant, b.tenant) || compare(a.model, b.model);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
