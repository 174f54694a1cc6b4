/** Reads of one second share an answer (docs/rules/console.md#live). */
import { expect, it } from "vitest";
import { SharedReads } from "./shared-reads.ts";

const answer = (status = 200) => ({ status });

it("shares a call for a second from its begin, per address, and none that failed", async () => {
  let nowMs = 1000;
  const calls: string[] = [];
  const reads = new SharedReads<{ status: number }>(({ status }) => status === 200);
  const read = async (address: string, result = async () => await Promise.resolve(answer())) =>
    await reads.get(address, nowMs, async () => {
      calls.push(address);
      return await result();
    });
  await Promise.all([read("a"), read("a"), read("b")]);
  nowMs = 1999;
  await read("a");
  expect(calls).toEqual(["a", "b"]);
  nowMs = 2000;
  await read("a");
  expect(calls).toEqual(["a", "b", "a"]);
  nowMs = 1500; // the clock was set back
  await read("a");
  expect(calls).toHaveLength(4);
  await expect(read("c", async () => await Promise.reject(new Error("down")))).rejects.toThrow("down");
  await read("c", async () => answer(502));
  await read("c");
  await read("c");
  expect(calls.slice(4)).toEqual(["c", "c", "c"]);
});
