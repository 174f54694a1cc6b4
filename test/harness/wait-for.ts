/** Waits for a condition, never for a fixed time: reads until the condition holds, and fails with the last value. */

const DEADLINE_MS = 20_000;
const EVERY_MS = 20;

/** The first result of `read` that `holds` accepts. Throws after a generous deadline. */
export async function waitFor<T>(
  read: () => T | Promise<T>,
  holds: (value: T) => boolean,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const until = Date.now() + deadlineMs;
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    if (Date.now() > until) throw new Error(`waited in vain; last seen: ${JSON.stringify(value)?.slice(0, 500)}`);
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}
