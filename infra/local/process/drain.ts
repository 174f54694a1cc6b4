/**
 * Ends the data plane without losing a row: requests under way may finish for a while; then the remaining clients are cut
 * off as if they had left, and the Cell settles their requests; only then may the runtime end, because the permits are in
 * its memory.
 */
import { setTimeout as pause } from "node:timers/promises";

/** The runtime that {@link drainRequests} drains, and the time limits. */
interface Draining {
  /** The runtime's loopback port; undefined while it is not running. */
  readonly port: () => number | undefined;
  readonly internalToken: string;
  /** Cuts off every client. */
  readonly cut: () => void;
  /** How long requests may go on, in milliseconds. */
  readonly finishMs: number;
  /** How long the requests that were cut off may take to be settled, in milliseconds. */
  readonly settleMs: number;
}

const EVERY_MS = 50;
/** A slot is free as soon as its row is sent to the ledger; the row needs a little longer to be on the disk. */
const ROW_MS = 300;

/** Resolves when no request is under way and all rows are on disk, or when the time is over. */
export async function drainRequests({ port, internalToken, cut, finishMs, settleMs }: Draining): Promise<void> {
  const underWay = async (signal: AbortSignal): Promise<boolean> => {
    const at = port();
    if (at === undefined) return false;
    const response = await fetch(`http://127.0.0.1:${at}/internal/stats`, {
      headers: { authorization: `Bearer ${internalToken}` },
      signal,
    });
    const stats = (await response.json()) as { in_flight?: number; queued?: number };
    return (stats.in_flight ?? 0) + (stats.queued ?? 0) > 0;
  };
  const quiet = async (limitMs: number): Promise<void> => {
    const signal = AbortSignal.timeout(limitMs);
    try {
      while (await underWay(signal)) await pause(EVERY_MS, undefined, { signal });
    } catch {
      // The time is over, or the runtime does not answer: waiting longer would not help.
    }
  };
  await quiet(finishMs);
  cut();
  await quiet(settleMs);
  if (port() !== undefined) await pause(ROW_MS);
}
