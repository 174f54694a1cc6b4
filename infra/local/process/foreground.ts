/** Runs something as the foreground process of a terminal, a container or a service manager. */
import { terminalText } from "../../../shared/text/printable.ts";
import type { Running } from "./running.ts";
import { watchParent } from "./watch-parent.ts";

/** The part to run, and the messages about it. */
interface Foreground<T> {
  /** `unwanted` aborts when the start is given up. */
  readonly start: (unwanted: AbortSignal) => Promise<T>;
  readonly ready: (running: T) => void;
  readonly stopped: () => void;
}

/** npm and service managers may each pass the same signal on. */
const SECOND_SIGNAL_AFTER_MS = 1_000;
/** A start that has not ended by then is killed. */
const GIVEN_UP_MS = 4_000;

/**
 * Starts it and stays until it is stopped. Exit code 1 with one line on standard error when it cannot start, or stops without
 * being asked to; a signal, or the end of the launcher, stops everything first. A second signal ends this process, whose end
 * kills every part (guard.ts).
 */
export async function runInForeground<T extends Running>({ start, ready, stopped }: Foreground<T>): Promise<never> {
  const fail = (message: string): never => {
    process.stderr.write(`gateway: ${terminalText(message)}\n`);
    process.exit(1);
  };
  const end = (): never => {
    stopped();
    // a requested orderly stop is a success, as for other servers
    return process.exit(0);
  };
  let running: T | undefined;
  const unwanted = new AbortController();
  const stop = () => {
    unwanted.abort();
    if (running === undefined) setTimeout(end, GIVEN_UP_MS).unref();
    else void running.stop();
  };
  let signalledMs: number | undefined;
  const onSignal = (signal: string): void => {
    const nowMs = performance.now();
    if (signalledMs !== undefined && nowMs - signalledMs > SECOND_SIGNAL_AFTER_MS)
      fail(`ended at once by a second ${signal}`);
    signalledMs ??= nowMs;
    stop();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  if (process.connected) watchParent(stop);
  try {
    running = await start(unwanted.signal);
  } catch (error) {
    if (unwanted.signal.aborted) return end();
    const message = error instanceof Error ? error.message : String(error);
    return fail(message.split("\n")[0] ?? "");
  }
  if (unwanted.signal.aborted) void running.stop();
  else ready(running);
  const gaveUp = await running.closed;
  if (gaveUp !== null) return fail(`${gaveUp.part} cannot be kept running: ${gaveUp.reason}`);
  return end();
}
