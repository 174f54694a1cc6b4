/**
 * Waiting that ends. Time counts only while the isolate keeps up: a burst may keep it from hearing what has long been
 * answered, and a deadline that passes meanwhile would blame somebody else for it.
 */

/** Looks at the clock that a wait is made of. */
const TICKS = 5;

/** Runs `run` after `ms`, or later by as much as the isolate was busy meanwhile. The answer calls it off. */
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
 * What the work answers, or null when it takes longer. For work that another request began: the platform may have cut that
 * request off, and its promises with it, so that nobody waits longer than the work may take. Throws what the work throws.
 */
export async function withStallTolerantTimeout<T>(work: Promise<T>, ms: number): Promise<{ readonly value: T } | null> {
  const patience = Promise.withResolvers<null>();
  const callOff = stallTolerantTimeout(ms, () => patience.resolve(null));
  try {
    return await Promise.race([work.then((value) => ({ value })), patience.promise]);
  } finally {
    callOff();
  }
}
