/** The resident memory of a process over time. */
import { execFile } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

const EVERY_MS = 1000;

/** Reads the memory of `pid` in megabytes, once per second until it is stopped. */
export function watchMemory(pid: number) {
  const readings: number[] = [];
  const stopping = new AbortController();
  const run = promisify(execFile);
  const reading = (async () => {
    while (!stopping.signal.aborted) {
      const { stdout } = await run("ps", ["-o", "rss=", "-p", String(pid)]);
      readings.push(Number(stdout) / 1024);
      await pause(EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();
  return {
    readings,
    stop: async (): Promise<void> => {
      stopping.abort();
      await reading;
    },
  };
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
