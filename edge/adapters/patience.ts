/**
 * Waiting for work that another request began: the platform may have cut that request off, and its promises with it, so
 * nobody waits longer than the work may take.
 */

/** What the work answers, or null when it takes longer. Throws what the work throws. */
export async function withinPatience<T>(work: Promise<T>, ms: number): Promise<{ readonly value: T } | null> {
  const patience = Promise.withResolvers<null>();
  const timer = setTimeout(() => patience.resolve(null), ms);
  try {
    return await Promise.race([work.then((value) => ({ value })), patience.promise]);
  } finally {
    clearTimeout(timer);
  }
}
