/**
 * Keeps one part running: a part that ends, or runs and no longer answers, is restarted, with growing pauses, until that
 * happens too often; then the whole stack gets the reason and stops. A part that cannot be started the first time is an error
 * of the start, and is not retried.
 */
import { setTimeout as delay } from "node:timers/promises";
import { askHealth } from "./ask-health.ts";
import type { Child } from "./child.ts";
import { type HealthAnswer, type LivenessPolicy, waitUntilUnresponsive } from "./liveness.ts";

/** What other parts may know of a part. Parts that run in the launcher have no pid. */
export interface PartHandle {
  readonly name: string;
  /** The pid of the current process; null while it is being restarted, and for a part in this process. */
  readonly pid: number | null;
  /** Resolves when the part is ready (again). Rejects when it was given up or stopped. */
  ready(): Promise<void>;
}

/** A supervised part. */
export interface Supervised extends PartHandle {
  /** Stops the part permanently. */
  stop(graceMs: number): Promise<void>;
}

/** How often and how fast a part is started again. */
export interface RestartPolicy {
  readonly restarts: number;
  readonly withinMs: number;
  readonly firstPauseMs: number;
}

/** Nothing is under way in a part whose start is given up. */
const ABANDONED_STOP_MS = 2_000;

const POLICY: RestartPolicy = { restarts: 5, withinMs: 60_000, firstPauseMs: 100 };

/** How a running part is checked. */
export interface HealthCheck {
  /** The address of the current process, of its own listener; null if no process runs. */
  readonly url: () => string | null;
  readonly policy: LivenessPolicy;
}

/** What {@link supervise} needs. */
interface SuperviseOptions {
  readonly name: string;
  /** Aborts when the start of everything is given up: the part then ends at once, and is not started again. */
  readonly abandoned?: AbortSignal | undefined;
  /** Starts the part and resolves when it is ready. `stopping` aborts when the result is no longer needed. */
  readonly start: (stopping: AbortSignal) => Promise<Child>;
  /** Absent: only the end of its process is noticed. */
  readonly health?: HealthCheck | undefined;
  readonly onGiveUp: (reason: string) => void;
  readonly log: (line: string) => void;
  readonly policy?: RestartPolicy;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Starts the part and watches it. Rejects when the first start fails. */
export async function supervise(options: SuperviseOptions): Promise<Supervised> {
  const { name, log, policy = POLICY } = options;
  const end = new AbortController();
  const isStopping = () => end.signal.aborted;
  let current: Child | null = null;
  let readiness = Promise.resolve();
  const stop = async (graceMs: number): Promise<void> => {
    end.abort();
    await readiness.catch(() => undefined);
    await current?.stop(graceMs);
  };
  const abandon = (): void => void stop(ABANDONED_STOP_MS);
  options.abandoned?.addEventListener("abort", abandon, { once: true });
  if (options.abandoned?.aborted === true) end.abort();
  current = await options.start(end.signal);
  const deaths: number[] = [];

  /** Starts the part until it runs; resolves with the reason when that is given up. */
  const again = async (reason: string): Promise<string | undefined> => {
    for (let why = reason; !isStopping(); ) {
      const now = performance.now();
      deaths.push(now);
      while ((deaths[0] ?? now) < now - policy.withinMs) deaths.shift();
      if (deaths.length > policy.restarts) return why;
      log(`${name} ${why}; starting it again`);
      const pauseMs = policy.firstPauseMs * 2 ** (deaths.length - 1);
      await delay(pauseMs, undefined, { ref: false, signal: end.signal }).catch(() => undefined);
      if (isStopping()) break;
      try {
        const child = await options.start(end.signal);
        current = child;
        return undefined;
      } catch (error) {
        why = `could not be started: ${messageOf(error)}`;
      }
    }
    return undefined;
  };

  /** Resolves with the reason why the process has ended. A process that no longer answers is killed first. */
  const ended = async (child: Child): Promise<string> => {
    if (options.health === undefined) return await child.exited;
    const { url, policy: liveness } = options.health;
    const gone = new AbortController();
    const unwatched = AbortSignal.any([gone.signal, end.signal]);
    let hung: string | undefined;
    const check = async (withinMs: number): Promise<HealthAnswer> => {
      const address = url();
      return address === null ? "unknown" : await askHealth(address, withinMs);
    };
    void waitUntilUnresponsive(check, liveness, unwatched).then((silentMs) => {
      if (silentMs === null) return;
      hung = `did not answer for ${Math.round(silentMs / 1000)} s`;
      child.kill();
    });
    const reason = await child.exited;
    gone.abort();
    return hung ?? reason;
  };

  const watch = async (child: Child): Promise<void> => {
    const reason = await ended(child);
    current = null;
    if (isStopping()) return;
    const restarted = again(reason);
    readiness = restarted.then((gaveUp) => {
      if (gaveUp !== undefined || isStopping()) throw new Error(`${name} ${gaveUp ?? "was stopped"}`);
    });
    readiness.catch(() => undefined);
    const gaveUp = await restarted;
    if (gaveUp !== undefined) options.onGiveUp(gaveUp);
    else if (current !== null) void watch(current);
  };
  void watch(current);

  return {
    name,
    get pid() {
      return current?.pid ?? null;
    },
    ready: () => readiness,
    stop,
  };
}
