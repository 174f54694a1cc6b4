/** Waits for a condition, never for a fixed time: reads until the condition holds, and fails with the last value. */

/**
 * What is waited for comes as soon as it can, so this bounds only what never comes: a machine that is busy with other work may need
 * many times as long as a quiet one.
 */
const DEADLINE_MS = 150_000;
/** Between two reads. What takes long to read, such as usage rows, takes processor time from what is waited for. */
const LEAST_PAUSE_MS = 20;
const MOST_PAUSE_MS = 250;
const PAUSE_PER_READ = 3;

/** Something is there, or true. */
type There<T> = Exclude<T, null | undefined | false>;

/**
 * The first result of `read` that `holds` accepts; without it the first that is not null, undefined or false. After each other result it pauses three times as long as the read took,
 * within bounds. Throws after a generous deadline.
 */
export async function waitFor<T>(read: () => T | Promise<T>): Promise<There<T>>;
export async function waitFor<T>(
  read: () => T | Promise<T>,
  holds: (value: T) => boolean,
  deadlineMs?: number,
): Promise<T>;
export async function waitFor<T>(
  read: () => T | Promise<T>,
  holds = (value: T): boolean => value !== null && value !== undefined && value !== false,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const until = Date.now() + deadlineMs;
  for (;;) {
    const began = Date.now();
    const value = await read();
    if (holds(value)) return value;
    // Only a read that began after the deadline counts: this process may have stood still during the one before.
    if (began > until) throw new Error(`waited in vain; last seen: ${JSON.stringify(value)?.slice(0, 500)}`);
    const pauseMs = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, PAUSE_PER_READ * (Date.now() - began)));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
