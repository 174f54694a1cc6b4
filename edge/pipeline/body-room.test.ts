import { describe, expect, it } from "vitest";
import { BodyRoom } from "./body-room.ts";
import { ClientGone } from "./context.ts";

const patient = 60_000;
const client = (): AbortSignal => new AbortController().signal;

/** Whether a promise has settled by the time that everything else has. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => {
      settled = true;
    },
    () => undefined,
  );
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe("room for bodies", () => {
  it("is given in turn, and one that does not fit holds back those behind it", async () => {
    const room = new BodyRoom(10, patient);
    const first = await room.take(6, client());
    const large = room.take(8, client());
    const small = room.take(2, client());
    expect([await isSettled(large), await isSettled(small)]).toEqual([false, false]);
    first();
    first();
    const second = await large;
    expect([room.usedBytes, await isSettled(small)]).toEqual([10, true]);
    second();
    (await small)();
    expect(room.usedBytes).toBe(0);
  });

  it("is given to a body larger than all of it when nobody else has any", async () => {
    const room = new BodyRoom(10, patient);
    const giveBack = await room.take(25, client());
    const next = room.take(1, client());
    expect(await isSettled(next)).toBe(false);
    giveBack();
    (await next)();
    expect(room.usedBytes).toBe(0);
  });

  it("is not waited for without end", async () => {
    const room = new BodyRoom(10, 1);
    await room.take(10, client());
    (await room.take(10, client()))();
    expect(room.usedBytes).toBe(10);
  });

  it("is not kept for a client that leaves, nor does it keep the others waiting", async () => {
    const room = new BodyRoom(10, patient);
    const first = await room.take(10, client());
    const leaving = new AbortController();
    const left = room.take(5, leaving.signal);
    const next = room.take(5, client());
    leaving.abort();
    await expect(left).rejects.toBeInstanceOf(ClientGone);
    await expect(room.take(5, AbortSignal.abort())).rejects.toBeInstanceOf(ClientGone);
    first();
    (await next)();
    expect(room.usedBytes).toBe(0);
  });
});
