import { beforeEach, describe, expect, it, vi } from "vitest";
import { GatewayError } from "../../../../shared/errors.ts";
import { Interruption } from "../interruption.ts";
import { RequestBodyMemory } from "./request-body-memory.ts";

beforeEach(() => void vi.useFakeTimers());

const waiting = (signal: AbortSignal) => ({ request: { signal }, interruption: new Interruption() });
const BOUNDS = { totalBytes: 20, tenantBytes: 10 };
const client = () => waiting(new AbortController().signal);
const roomOf = (): RequestBodyMemory => new RequestBodyMemory(Date.now, BOUNDS);

/** The result of a promise once everything has happened that needs no time, or "waits". */
async function nowOf<T>(promise: Promise<T>): Promise<T | "waits"> {
  let state: T | "waits" = "waits";
  void promise.then((value) => {
    state = value;
  });
  await vi.advanceTimersByTimeAsync(0);
  return state;
}

describe("memory for bodies", () => {
  it("is waited for, and goes to the next in turn as soon as it is released", async () => {
    const room = roomOf();
    const [first, second, third] = [0, 1, 2].map(() => room.open("a", 10, client()));
    expect(await first?.reserve(10)).toBe(true);
    first?.complete();
    const turns = [second?.reserve(4), third?.reserve(2)] as [Promise<boolean>, Promise<boolean>];
    expect({ first: await nowOf(turns[0]), second: await nowOf(turns[1]) }).toEqual({
      first: "waits",
      second: "waits",
    });
    first?.release();
    first?.release();
    expect(await turns[0]).toBe(true);
    // the rest of the second body comes first
    expect(await nowOf(turns[1])).toBe("waits");
    second?.release();
    expect(await turns[1]).toBe(true);
    third?.release();
    expect({ usedBytes: room.usedBytes, timerCount: vi.getTimerCount() }).toEqual({ usedBytes: 0, timerCount: 0 });
  });

  it("is released when its client leaves, which then neither waits nor blocks others", async () => {
    const room = roomOf();
    const [holding, leaving] = [new AbortController(), new AbortController()];
    const held = room.open("a", 10, waiting(holding.signal));
    await held.reserve(10);
    held.complete();
    const left = room.open("a", 10, waiting(leaving.signal)).reserve(6);
    const next = room.open("a", 10, client()).reserve(10);
    leaving.abort();
    expect(await left).toBe(false);
    expect(await nowOf(next)).toBe("waits");
    holding.abort();
    expect(await next).toBe(true);
    expect(room.usedBytes).toBe(10);
    expect(await room.open("a", 1, waiting(AbortSignal.abort())).reserve(1)).toBe(false);
  });

  it("is not waited for once the call is interrupted", async () => {
    const room = roomOf();
    const held = room.open("a", 10, client());
    await held.reserve(10);
    const call = client();
    const waits = room.open("a", 10, call).reserve(6);
    expect(await nowOf(waits)).toBe("waits");
    call.interruption.interrupt(new GatewayError("api_key_disabled"));
    expect(await nowOf(waits)).toBe(false);
  });

  it("is checked again while a body waits, because the body that is waited for may stall", async () => {
    const room = roomOf();
    const silent = room.open("a", 10, client());
    await silent.reserve(2);
    const next = room.open("a", 8, client());
    const turn = next.reserve(8);
    expect(await nowOf(turn)).toBe("waits");
    await vi.advanceTimersByTimeAsync(1000);
    expect(await nowOf(turn)).toBe(true);
  });
});
