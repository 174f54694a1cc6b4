/**
 * The end of the data plane without a lost row: requests under way may finish for a while; whoever is left is cut off as if
 * the client had gone, which the Cell settles; only then may the runtime end, whose permits live in memory.
 */
import { setTimeout as pause } from "node:timers/promises";

/** What {@link drainRequests} works on. */
interface Draining {
  /** The runtime's loopback port; undefined while it is down. */
  readonly port: () => number | undefined;
  readonly internalToken: string;
  /** Cuts off every client. */
  readonly cut: () => void;
  /** How long requests may go on by themselves, in milliseconds. */
  readonly finishMs: number;
  /** How long the cut ones may take to be settled, in milliseconds. */
  readonly settleMs: number;
}

const EVERY_MS = 50;
/** A slot is free the moment its row is on its way; the row needs a moment more to be on the disk. */
const ROW_MS = 300;

/** Resolves when nothing is under way and its rows are kept, or the time for it is over. */
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
