/** A Cell whose owner answers nothing any more, and the next one, as an isolate sees them. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { CellLifeWatch } from "./cell-life-watch.ts";

const LEASE_MS = 25_000;
const never = async (): Promise<never> => await new Promise<never>(() => undefined);
const pass = async (ms: number): Promise<unknown> => await vi.advanceTimersByTimeAsync(ms);

/** `ask` answers with `life`, or never while that is null. */
function isolate() {
  const cell = { life: "first" as string | null, asked: 0 };
  const lives = new CellLifeWatch(
    async () => {
      cell.asked += 1;
      return cell.life ?? (await never());
    },
    Date.now,
    LEASE_MS,
  );
  return { cell, lives };
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
    const { cell, lives } = isolate();
    for (let call = 0; call < 1_000; call += 1) {
      expect(await lives.watched({ stats: async () => 7 }).stats()).toBe(7);
      await pass(10);
    }
    expect(cell.asked).toBe(100);
    await pass(60_000);
    expect(cell.asked).toBe(100);
  });

  it("waits as long as the same life answers", async () => {
    const { cell, lives } = isolate();
    const waiting = outcome(lives.watched({ news: never }).news());
    await pass(60_000);
    // Once as it begins, and five times a second.
    expect({ outcome: waiting.now, asked: cell.asked }).toEqual({ outcome: "waits", asked: 301 });
  });

  it("fails as retryable, with every other one of that life, when another life answers", async () => {
    const { cell, lives } = isolate();
    const stub = lives.watched({ news: never, exchange: never });
    const all = [outcome(stub.news()), outcome(stub.exchange())];
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
    await expect(stub.exchange()).rejects.toThrow("the Cell lives elsewhere");
    const next = outcome(lives.watched({ news: never }).news());
    await pass(1_000);
    expect(next.now).toBe("waits");
  });

  it("fails too when the isolate knows no life yet and the first owner never answered", async () => {
    const { cell, lives } = isolate();
    cell.life = null;
    const waiting = outcome(lives.watched({ openSession: never }).openSession());
    await pass(1_000);
    cell.life = "second";
    await pass(400);
    expect(waiting.now).toMatchObject({ retryable: true });
  });
});

it("makes no call for a moment after a connection broke", async () => {
  const { cell, lives } = isolate();
  const called: number[] = [];
  const stub = lives.watched({
    openSession: async (fails: boolean) => {
      called.push(Date.now());
      if (fails) throw Object.assign(new Error("disconnected"), { retryable: true });
    },
    refuse: async () => {
      throw new Error("an error of the Cell itself");
    },
  });
  await expect(stub.refuse()).rejects.toThrow("an error of the Cell itself");
  await expect(stub.openSession(true)).rejects.toThrow("disconnected");
  const askedBefore = cell.asked;
  const next = outcome(stub.openSession(false));
  await pass(249);
  expect({ callCount: called.length, outcome: next.now, asked: cell.asked }).toEqual({
    callCount: 1,
    outcome: "waits",
    asked: askedBefore,
  });
  await pass(1);
  expect(called.map((at) => at - (called[0] ?? 0))).toEqual([0, 250]);
});

it("watches the session in an answer, and disposes it", async () => {
  const { cell, lives } = isolate();
  const disposed: string[] = [];
  const session = { news: never, [Symbol.dispose]: () => void disposed.push("session") };
  const got = await lives.watched({ openSession: async () => ({ answer: "first", session }) }).openSession();
  expect(got.answer).toBe("first");
  const news = outcome(got.session.news());
  await pass(400);
  cell.life = "second";
  await pass(400);
  expect(news.now).toMatchObject({ retryable: true });
  got.session[Symbol.dispose]();
  expect(disposed).toEqual(["session"]);
});

describe("a Cell that is out of reach, with nobody else in its place", () => {
  it("fails every call after a lease, not as retryable, and gets back what a late answer holds", async () => {
    const { cell, lives } = isolate();
    const answer = Promise.withResolvers<object>();
    const waiting = outcome(lives.watched({ openSession: async () => await answer.promise }).openSession());
    await pass(1_000);
    cell.life = null;
    await pass(LEASE_MS - 400);
    expect(waiting.now).toBe("waits");
    await pass(400);
    expect(waiting.now).toEqual(new Error("the Cell is out of reach"));
    const disposed = vi.fn();
    answer.resolve({ session: { [Symbol.dispose]: disposed } });
    await pass(0);
    expect(disposed).toHaveBeenCalledOnce();
  });

  it("ends the leases of running requests, and none while it answers, whatever the clock shows", async () => {
    const { cell, lives } = isolate();
    const ended = vi.fn();
    const lease = lives.begin();
    lease.watch(ended);
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
    const { cell, lives } = isolate();
    await expect(
      lives
        .watched({ openSession: async () => await Promise.reject(Object.assign(new Error(), { retryable: true })) })
        .openSession(),
    ).rejects.toThrow();
    vi.setSystemTime(Date.now() - 3_600_000);
    const asked = cell.asked;
    lives.begin().watch(() => undefined);
    await pass(1_000);
    expect(cell.asked - asked).toBe(5);
  });

  it("costs a lease one timer until it lasts, and none after it", async () => {
    const { lives } = isolate();
    const lease = lives.begin();
    expect(vi.getTimerCount()).toBe(1);
    lease.watch(() => undefined);
    await pass(10_000);
    lease.release();
    expect(vi.getTimerCount()).toBe(0);
  });
});

/** What the lease answers, once the timer that is due for the answer has run. */
async function isHeld(lease: { isHeld(): Promise<boolean> }): Promise<boolean> {
  const [held] = await Promise.all([lease.isHeld(), pass(0)]);
  return held;
}
