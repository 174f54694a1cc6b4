/** A call to an object that is not waited for longer than its deadline (docs/rules/budgets.md#unreachable). */

/**
 * The answer to a message: sent again once, on a fresh stub, when the first call fails, all within one deadline. Null: no
 * answer. `send` gets a stub and sends.
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
