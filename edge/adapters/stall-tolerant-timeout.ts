/**
 * Timeouts that count time only while the isolate runs. In a burst the isolate may be too busy to read an answer that has
 * arrived long ago; an ordinary deadline would then blame the other side for the isolate's own delay.
 */

/** How many looks at the clock a wait consists of. */
const TICKS = 5;

/** Runs `run` after `ms`, and later by as much as the isolate was busy meanwhile. The returned function cancels it. */
export function stallTolerantTimeout(ms: number, run: () => void): () => void {
  let left = TICKS;
  const tick = (): void => {
    left -= 1;
    if (left === 0) run();
    else timer = setTimeout(tick, ms / TICKS);
  };
  let timer = setTimeout(tick, ms / TICKS);
  return () => clearTimeout(timer);
}

/**
 * The result of the work, or null when it takes longer than `ms`. Use it for work that another request started: the platform
 * may have cut off that request together with its promises, so that the work never ends. Throws what the work throws.
 */
export async function withStallTolerantTimeout<T>(work: Promise<T>, ms: number): Promise<{ readonly value: T } | null> {
  const timeout = Promise.withResolvers<null>();
  const cancel = stallTolerantTimeout(ms, () => timeout.resolve(null));
  try {
    return await Promise.race([work.then((value) => ({ value })), timeout.promise]);
  } finally {
    cancel();
  }
}
