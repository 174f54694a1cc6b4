/**
 * Decides when a living process no longer works: when several health checks in a row got no answer. Exits are handled
 * elsewhere, and a check that says nothing about the process (because this process was stalled) is not counted.
 */
import { setTimeout as delay } from "node:timers/promises";

/**
 * The result of a health check. `answered`: any HTTP answer came. `silent`: no answer came within the deadline, or the
 * connection failed. `unknown`: the check itself could not be made.
 */
export type HealthAnswer = "answered" | "silent" | "unknown";

/** How often a process is checked, and when it counts as hung. All times are in milliseconds. */
export interface LivenessPolicy {
  /** From ready until the first check. */
  readonly graceMs: number;
  /** From the end of one check until the next. */
  readonly everyMs: number;
  /** The deadline of one check. */
  readonly answerWithinMs: number;
  /** After this many unanswered checks in a row the process is hung. */
  readonly checks: number;
}

const USUAL = { graceMs: 10_000, everyMs: 2_000, answerWithinMs: 5_000 };

/**
 * The Worker runtime counts as hung after 26 s without an answer. Its longest healthy pauses are far below the deadline of
 * one check: a full garbage collection takes 150 ms, a body of 32 MiB less than a second, and a queue of 256 requests 250
 * ms.
 */
export const RUNTIME_LIVENESS: LivenessPolicy = { ...USUAL, checks: 4 };

/** The control service counts as hung after 54 s: the embedded database runs in it, and one long statement blocks it. */
export const CONTROL_LIVENESS: LivenessPolicy = { ...USUAL, checks: 8 };

/**
 * The embedded analytics store counts as hung after 82 s: reading a large result, or closing a session, blocks its process.
 */
export const ANALYTICS_LIVENESS: LivenessPolicy = { ...USUAL, checks: 12 };

/** Monotonic time and pauses, in milliseconds. */
export interface Clock {
  nowMs(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** The clock of this process. */
const processTime: Clock = {
  nowMs: () => performance.now(),
  pause: async (ms, signal) => await delay(ms, undefined, { ref: false, signal }).catch(() => undefined),
};

/** A deadline that fires later than this was delayed in this process, which may have an unread answer. */
const OWN_STALL_MS = 1_000;

/**
 * Checks a process until it is hung. Resolves with how long it has not answered, in milliseconds; with null when `stopped`
 * aborts first. `check` makes one check with the given deadline and never rejects.
 */
export async function waitUntilUnresponsive(
  check: (withinMs: number) => Promise<HealthAnswer>,
  policy: LivenessPolicy,
  stopped: AbortSignal,
  time: Clock = processTime,
): Promise<number | null> {
  let silent = 0;
  let silentFromMs = 0;
  await time.pause(policy.graceMs, stopped);
  while (!stopped.aborted) {
    const checkedMs = time.nowMs();
    const answer = await check(policy.answerWithinMs);
    const stalled = time.nowMs() - checkedMs > policy.answerWithinMs + OWN_STALL_MS;
    if (answer === "answered") silent = 0;
    if (answer === "silent" && !stalled) {
      if (silent === 0) silentFromMs = checkedMs;
      silent += 1;
    }
    if (stopped.aborted) return null;
    if (silent >= policy.checks) return time.nowMs() - silentFromMs;
    await time.pause(policy.everyMs, stopped);
  }
  return null;
}
