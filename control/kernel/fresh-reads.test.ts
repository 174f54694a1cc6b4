/** Reads of sessions (docs/rules/console.md#sessions): one at a time, and none is older than the request that asks. */
import { expect, it } from "vitest";
import { FreshReads } from "./fresh-reads.ts";

/** A value that changes, and reads of it that end on a signal. */
function changing() {
  const reads = new FreshReads<number>();
  const running: (() => void)[] = [];
  const state = { value: 0, most: 0 };
  const read = async (): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { value } = state;
    running.push(resolve);
    state.most = Math.max(state.most, running.length);
    await promise;
    return value;
  };
  const ask = async () => await reads.get("a", read);
  const end = async (count = 1): Promise<void> => {
    for (let nth = 0; nth < count; nth += 1) {
      await expect.poll(() => running.length).toBeGreaterThan(0);
      running.shift()?.();
    }
  };
  return { ask, end, running, state };
}

it("a question during a read gets what was written meanwhile, from one more read", async () => {
  const { ask, end, running, state } = changing();
  const first = ask();
  state.value = 1;
  const later = Promise.all(Array.from({ length: 20 }, async () => await ask()));
  await end(2);
  expect({ first: await first, later: new Set(await later), left: running.length, most: state.most }).toEqual({
    first: 0,
    later: new Set([1]),
    left: 0,
    most: 1,
  });
  const last = ask();
  await end();
  expect(await last).toBe(1);
});

it("a read that fails is that of those alone who have waited for it", async () => {
  const reads = new FreshReads<number>();
  const failing = reads.get("a", async () => await Promise.reject(new Error("away")));
  const next = reads.get("a", async () => 1);
  await expect(failing).rejects.toThrow("away");
  expect({ next: await next, later: await reads.get("a", async () => 2) }).toEqual({ next: 1, later: 2 });
});
