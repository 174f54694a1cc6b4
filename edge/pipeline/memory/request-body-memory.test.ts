import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RequestBodyMemory } from "./request-body-memory.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const BOUNDS = { totalBytes: 20, tenantBytes: 10 };
const client = (): AbortSignal => new AbortController().signal;
const roomOf = (): RequestBodyMemory => new RequestBodyMemory(Date.now, BOUNDS);

/** What a promise has come to by the time that everything that needs no time has happened. */
async function nowOf<T>(promise: Promise<T>): Promise<T | "waits"> {
  let state: T | "waits" = "waits";
  void promise.then((value) => {
    state = value;
  });
  await vi.advanceTimersByTimeAsync(0);
  return state;
}

describe("room for bodies", () => {
  it("is waited for, and handed on in turn as soon as somebody gives it back", async () => {
    const room = roomOf();
    const [first, second, third] = [0, 1, 2].map(() => room.open("a", 10, client()));
    expect(await first?.take(10)).toBe(true);
    first?.complete();
    const turns = [second?.take(4), third?.take(2)] as [Promise<boolean>, Promise<boolean>];
    expect([await nowOf(turns[0]), await nowOf(turns[1])]).toEqual(["waits", "waits"]);
    first?.close();
    first?.close();
    expect(await turns[0]).toBe(true);
    // the rest of the second one comes first
    expect(await nowOf(turns[1])).toBe("waits");
    second?.close();
    expect(await turns[1]).toBe(true);
    third?.close();
    expect([room.usedBytes, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("goes back when its client leaves, and a client that leaves waits no longer nor keeps others waiting", async () => {
    const room = roomOf();
    const [holding, leaving] = [new AbortController(), new AbortController()];
    const held = room.open("a", 10, holding.signal);
    await held.take(10);
    held.complete();
    const left = room.open("a", 10, leaving.signal).take(6);
    const next = room.open("a", 10, client()).take(10);
    leaving.abort();
    expect(await left).toBe(false);
    expect(await nowOf(next)).toBe("waits");
    holding.abort();
    expect(await next).toBe(true);
    expect(room.usedBytes).toBe(10);
    expect(await room.open("a", 1, AbortSignal.abort()).take(1)).toBe(false);
  });

  it("is looked at again while somebody waits: who is waited for may fall silent", async () => {
    const room = roomOf();
    const silent = room.open("a", 10, client());
    await silent.take(2);
    const next = room.open("a", 8, client());
    const turn = next.take(8);
    expect(await nowOf(turn)).toBe("waits");
    await vi.advanceTimersByTimeAsync(1000);
    expect(await nowOf(turn)).toBe(true);
  });
});
