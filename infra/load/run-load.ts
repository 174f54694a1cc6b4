/** Runs a load: decides when each request starts, and when the load is over. */
import { setTimeout as after } from "node:timers/promises";
import { type LoadSample, requestOf, sendOne } from "./one-request.ts";
import type { LoadOptions } from "./options.ts";

/** The results of a load. */
export interface LoadRun {
  readonly samples: readonly LoadSample[];
  /** Requests that a rate asked for while as many as may be were under way. */
  readonly notSent: number;
  /** From the start of the first request to the end of the last one. */
  readonly lastedMs: number;
}

/**
 * Starts requests until the time or their number is used up, and waits for those under way. With a rate each one starts at its
 * time, so that a slow gateway does not get fewer requests (coordinated omission). When `signal` aborts, no further request
 * starts, and those under way are cut off, as by a client that leaves.
 */
export async function runLoad(options: LoadOptions, signal: AbortSignal): Promise<LoadRun> {
  const beganMs = performance.now();
  const clock = (): number => performance.now() - beganMs;
  const request = requestOf(options);
  const samples: LoadSample[] = [];
  const underWay = new Set<Promise<void>>();
  let begun = 0;
  let notSent = 0;
  const mayBegin = (): boolean => !signal.aborted && begun < options.requestsMax && clock() < options.durationMs;
  const send = async (): Promise<void> => {
    begun += 1;
    samples.push(await sendOne(options.baseUrl, request, clock, signal));
  };
  const loop = async (): Promise<void> => {
    while (mayBegin()) await send();
  };
  if (options.rate === null) await Promise.all(Array.from({ length: options.concurrency }, loop));
  else {
    const everyMs = 1000 / options.rate;
    for (let turn = 0; mayBegin() && turn * everyMs < options.durationMs; turn += 1) {
      const waitMs = turn * everyMs - clock();
      if (waitMs > 0) await after(waitMs, undefined, { signal }).catch(() => undefined);
      if (!mayBegin()) break;
      if (underWay.size >= options.concurrency) {
        notSent += 1;
        continue;
      }
      const sent = send().finally(() => underWay.delete(sent));
      underWay.add(sent);
    }
    await Promise.all(underWay);
  }
  return { samples, notSent, lastedMs: clock() };
}
