/** A call to an object with a deadline (docs/rules/budgets.md#unreachable). */

/**
 * The answer to a message. When the first call fails it is sent once more, on a fresh stub; both calls share one
 * deadline. Null: no answer. `send` gets a stub and sends.
 */
export async function callWithRetry<T>(send: () => Promise<T>, deadlineMs: number): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), deadlineMs);
  try {
    return await Promise.race([late, send()]);
  } catch {
    try {
      return await Promise.race([late, send()]);
    } catch {
      return null;
    }
  } finally {
    clearTimeout(timer);
  }
}
