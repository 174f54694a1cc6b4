/**
 * Keeps one part running: a part that dies is started again, with growing pauses, until it dies too often; then the whole
 * stack learns why. A part that cannot be started the first time is an error of the start, never retried.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Child } from "./child.ts";

/** What others may know of a part. Parts that live in the launcher have no pid. */
export interface PartHandle {
  readonly name: string;
  /** Of the process that runs now; null while it is being restarted, and for a part in this process. */
  readonly pid: number | null;
  /** Resolves when the part is ready (again). Rejects when it was given up or stopped. */
  ready(): Promise<void>;
}

/** A supervised part. */
export interface Supervised extends PartHandle {
  /** Stops it for good. */
  stop(graceMs: number): Promise<void>;
}

/** How often and how fast a part is started again. */
export interface RestartPolicy {
  readonly restarts: number;
  readonly withinMs: number;
  readonly firstPauseMs: number;
}

const POLICY: RestartPolicy = { restarts: 5, withinMs: 60_000, firstPauseMs: 100 };

/** What {@link supervise} needs. */
export interface SuperviseOptions {
  readonly name: string;
  /** Starts the part and resolves when it is ready. `isRestart` tells the first start from the later ones. */
  readonly start: (isRestart: boolean) => Promise<Child>;
  readonly onGiveUp: (reason: string) => void;
  readonly log: (line: string) => void;
  readonly policy?: RestartPolicy;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Starts the part and watches it. Rejects when the first start fails. */
export async function supervise(options: SuperviseOptions): Promise<Supervised> {
  const { name, log, policy = POLICY } = options;
  let current: Child | null = await options.start(false);
  let readiness = Promise.resolve();
  let stopping = false;
  const { promise: over, resolve: end } = Promise.withResolvers<undefined>();
  const deaths: number[] = [];

  /** Starts until it runs; resolves with the reason when that is given up. */
  const again = async (reason: string): Promise<string | undefined> => {
    for (let why = reason; !stopping; ) {
      const now = performance.now();
      deaths.push(now);
      while ((deaths[0] ?? now) < now - policy.withinMs) deaths.shift();
      if (deaths.length > policy.restarts) return why;
      log(`${name} ${why}; starting it again`);
      await Promise.race([delay(policy.firstPauseMs * 2 ** (deaths.length - 1), undefined, { ref: false }), over]);
      if (stopping) break;
      try {
        const child = await options.start(true);
        current = child;
        return undefined;
      } catch (error) {
        why = messageOf(error);
      }
    }
    return undefined;
  };

  const watch = async (child: Child): Promise<void> => {
    const reason = await child.exited;
    current = null;
    if (stopping) return;
    const restarted = again(reason);
    readiness = restarted.then((gaveUp) => {
      if (gaveUp !== undefined || stopping) throw new Error(`${name} ${gaveUp ?? "was stopped"}`);
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
    stop: async (graceMs) => {
      stopping = true;
      end(undefined);
      await readiness.catch(() => undefined);
      await current?.stop(graceMs);
    },
  };
}
