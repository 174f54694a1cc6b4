/** Resolves after `ms`. Node has its own in `node:timers/promises`; a Worker has none. */
export async function sleep(ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, ms);
  await promise;
}
