/**
 * Decides when a process that is alive no longer works: when several health checks in a row went unanswered. Exits are not
 * its business, and a check that says nothing of the process (this one was stalled itself) is not counted.
 */
import { setTimeout as delay } from "node:timers/promises";

/**
 * What a health check says of the checked process. `answered`: any HTTP answer came. `silent`: none came within the
 * deadline, or the connection failed. `unknown`: the check itself could not be made.
 */
export type HealthAnswer = "answered" | "silent" | "unknown";

/** How often a process is checked, and what counts as hung. All times in milliseconds. */
export interface LivenessPolicy {
  /** From ready to the first check. */
  readonly graceMs: number;
  /** Between the end of one check and the next. */
  readonly everyMs: number;
  /** Deadline of one check. */
  readonly answerWithinMs: number;
  /** Unanswered checks in a row that mean hung. */
  readonly checks: number;
}

const USUAL = { graceMs: 10_000, everyMs: 2_000, answerWithinMs: 5_000 };

/**
 * The Worker runtime is hung after 26 s without an answer. Its longest healthy pauses are far below one check's deadline:
 * a full garbage collection takes 150 ms, a body of 32 MiB less than a second, and a queue of 256 requests 250 ms.
 */
export const RUNTIME_LIVENESS: LivenessPolicy = { ...USUAL, checks: 4 };

/** The control service is hung after 54 s: the embedded database runs in it, and one long statement blocks it. */
export const CONTROL_LIVENESS: LivenessPolicy = { ...USUAL, checks: 8 };

/** The embedded analytics store is hung after 82 s: reading a large result, or closing a session, blocks its process. */
export const ANALYTICS_LIVENESS: LivenessPolicy = { ...USUAL, checks: 12 };

/** Monotonic time and pauses, in milliseconds. */
export interface Clock {
  nowMs(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** The time of this process. */
const processTime: Clock = {
  nowMs: () => performance.now(),
  pause: async (ms, signal) => await delay(ms, undefined, { ref: false, signal }).catch(() => undefined),
};

/** A deadline that fires later than this was held up in this process: the answer may lie here unread. */
const OWN_STALL_MS = 1_000;

/**
 * Checks a process until it is hung. Resolves with how long it has not answered, in milliseconds; with null when `stopped`
 * aborts first. `ask` makes one check with the given deadline and never rejects.
 */
export async function waitUntilUnresponsive(
  ask: (withinMs: number) => Promise<HealthAnswer>,
  policy: LivenessPolicy,
  stopped: AbortSignal,
  time: Clock = processTime,
): Promise<number | null> {
  let silent = 0;
  let silentFromMs = 0;
  await time.pause(policy.graceMs, stopped);
  while (!stopped.aborted) {
    const askedMs = time.nowMs();
    const answer = await ask(policy.answerWithinMs);
    const stalled = time.nowMs() - askedMs > policy.answerWithinMs + OWN_STALL_MS;
    if (answer === "answered") silent = 0;
    if (answer === "silent" && !stalled) {
      if (silent === 0) silentFromMs = askedMs;
      silent += 1;
    }
    if (stopped.aborted) return null;
    if (silent >= policy.checks) return time.nowMs() - silentFromMs;
    await time.pause(policy.everyMs, stopped);
  }
  return null;
}
