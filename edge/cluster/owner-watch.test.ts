/** A Cell whose owner answers nothing any more, and the next one, as an isolate sees them. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { OwnerWatch } from "./owner-watch.ts";

const LEASE_MS = 25_000;
const never = async (): Promise<never> => await new Promise<never>(() => undefined);
const pass = async (ms: number): Promise<unknown> => await vi.advanceTimersByTimeAsync(ms);

/** `ask` answers with `life`, or never while that is null. */
function isolate() {
  const cell = { life: "first" as string | null, asked: 0 };
  const owner = new OwnerWatch(
    async () => {
      cell.asked += 1;
      return cell.life ?? (await never());
    },
    Date.now,
    LEASE_MS,
  );
  return { cell, owner };
}

/** What became of some work, by now. */
function outcome(work: Promise<unknown>): { now: unknown } {
  const seen: { now: unknown } = { now: "waits" };
  work.then(
    (value) => (seen.now = value),
    (error: unknown) => (seen.now = error),
  );
  return seen;
}

beforeEach(() => void vi.useFakeTimers());

describe("a call to a Cell", () => {
  it("that is short shares a few checks a second with others, and leaves none running", async () => {
    const { cell, owner } = isolate();
    for (let call = 0; call < 1_000; call += 1) {
      expect(await owner.calls()(async () => 7)).toBe(7);
      await pass(10);
    }
    expect(cell.asked).toBe(100);
    await pass(60_000);
    expect(cell.asked).toBe(100);
  });

  it("waits as long as the same life answers", async () => {
    const { cell, owner } = isolate();
    const waiting = outcome(owner.calls()(never));
    await pass(60_000);
    // Once at the start, and five times a second.
    expect({ outcome: waiting.now, asked: cell.asked }).toEqual({ outcome: "waits", asked: 301 });
  });

  it("fails as retryable, with every other one of that life, when another life answers", async () => {
    const { cell, owner } = isolate();
    const call = owner.calls();
    const all = [outcome(call(never)), outcome(call(never))];
    await pass(400);
    cell.life = null;
    await pass(20_000);
    expect(all.map(({ now }) => now)).toEqual(["waits", "waits"]);
    cell.life = "second";
    await pass(400);
    expect(all.map(({ now }) => now)).toEqual([
      expect.objectContaining({ retryable: true }),
      expect.objectContaining({ retryable: true }),
    ]);
    await expect(call(never)).rejects.toThrow("the Cell lives elsewhere");
    const next = outcome(owner.calls()(never));
    await pass(1_000);
    expect(next.now).toBe("waits");
  });

  it("fails too when the isolate knows no life yet and the first owner never answered", async () => {
    const { cell, owner } = isolate();
    cell.life = null;
    const waiting = outcome(owner.calls()(never));
    await pass(1_000);
    cell.life = "second";
    await pass(400);
    expect(waiting.now).toMatchObject({ retryable: true });
  });
});

it("makes no call for a moment after a connection broke", async () => {
  const { cell, owner } = isolate();
  const called: number[] = [];
  const call = async (failure: Error | null) =>
    await owner.calls()(async () => {
      called.push(Date.now());
      if (failure !== null) throw failure;
    });
  await expect(call(new Error("an error of the Cell itself"))).rejects.toThrow("an error of the Cell itself");
  const disconnected = Object.assign(new Error("disconnected"), { retryable: true });
  await expect(call(disconnected)).rejects.toThrow("disconnected");
  const askedBefore = cell.asked;
  const next = outcome(call(null));
  await pass(249);
  expect({ callCount: called.length - 1, outcome: next.now, asked: cell.asked }).toEqual({
    callCount: 1,
    outcome: "waits",
    asked: askedBefore,
  });
  await pass(1);
  expect(called.map((at) => at - (called[0] ?? 0))).toEqual([0, 0, 250]);
});

describe("a Cell that is out of reach, with nobody else in its place", () => {
  it("fails every call after a lease, not as retryable", async () => {
    const { cell, owner } = isolate();
    const waiting = outcome(owner.calls()(never));
    await pass(1_000);
    cell.life = null;
    await pass(LEASE_MS - 400);
    expect(waiting.now).toBe("waits");
    await pass(400);
    expect(waiting.now).toEqual(new Error("the Cell is out of reach"));
  });

  it("ends the leases of running requests, and none while it answers, whatever the clock shows", async () => {
    const { cell, owner } = isolate();
    const ended = vi.fn();
    const lease = owner.begin(ended);
    for (const stepMs of [3_600_000, -7_200_000, 0]) {
      await pass(60_000);
      vi.setSystemTime(Date.now() + stepMs);
      expect({ endedCalls: ended.mock.calls.length, isHeld: await isHeld(lease) }).toEqual({
        endedCalls: 0,
        isHeld: true,
      });
    }
    cell.life = null;
    vi.setSystemTime(Date.now() + 3_600_000);
    await pass(LEASE_MS - 400);
    vi.setSystemTime(Date.now() - 7_200_000);
    expect(ended).not.toHaveBeenCalled();
    await pass(400);
    expect({ endedCalls: ended.mock.calls.length, isHeld: await isHeld(lease) }).toEqual({
      endedCalls: 1,
      isHeld: false,
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("asks again soon after a connection broke, though the clock is set back", async () => {
    const { cell, owner } = isolate();
    const disconnected = Object.assign(new Error("disconnected"), { retryable: true });
    await expect(owner.calls()(async () => await Promise.reject(disconnected))).rejects.toThrow("disconnected");
    vi.setSystemTime(Date.now() - 3_600_000);
    const asked = cell.asked;
    owner.begin(() => undefined);
    await pass(1_000);
    expect(cell.asked - asked).toBe(5);
  });

  it("costs a lease no timer after it", async () => {
    const { owner } = isolate();
    const lease = owner.begin(() => undefined);
    await pass(10_000);
    lease.release();
    expect(vi.getTimerCount()).toBe(0);
  });
});

/** The state of the lease, once the timer that is due for the answer has run. */
async function isHeld(lease: { isHeld(): Promise<boolean> }): Promise<boolean> {
  const [held] = await Promise.all([lease.isHeld(), pass(0)]);
  return held;
}
