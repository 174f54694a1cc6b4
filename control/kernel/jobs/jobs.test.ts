import { pino } from "pino";
import { expect, it, vi } from "vitest";
import { JobRuns } from "./job-runs.ts";
import { startJobs } from "./jobs.ts";

const runs = new JobRuns({ replica: "a", log: pino({ level: "silent" }) });
const everywhere = { holds: () => true };

it("runs a job again after a failure, and one run at a time", async () => {
  let turns = 0;
  let running = 0;
  let most = 0;
  const enough = Promise.withResolvers<void>();
  const stop = startJobs(
    [
      {
        name: "failing",
        replicas: "one",
        everyMs: 0,
        run: async () => {
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          turns += 1;
          if (turns === 5) enough.resolve();
          throw new Error("store is down");
        },
      },
    ],
    everywhere,
    runs,
  );
  await enough.promise;
  await stop();
  expect(most).toBe(1);
});

it("waits at its end for running jobs, and starts none after", async () => {
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let turns = 0;
  let finished = false;
  const stop = startJobs(
    [
      {
        name: "slow",
        replicas: "one",
        everyMs: 0,
        run: async () => {
          turns += 1;
          started.resolve();
          await release.promise;
          finished = true;
        },
      },
    ],
    everywhere,
    runs,
  );
  await started.promise;
  const stopped = stop();
  release.resolve();
  await stopped;
  expect({ finished, turns }).toEqual({ finished: true, turns: 1 });
});

it("runs an hourly job soon after the start, and again within a minute when it failed", async () => {
  vi.useFakeTimers();
  let turns = 0;
  const run = async (): Promise<void> => {
    turns += 1;
    if (turns === 1) throw new Error("store is down");
  };
  const stop = startJobs([{ name: "hourly", replicas: "each", everyMs: 3_600_000, run }], everywhere, runs);
  try {
    await vi.advanceTimersByTimeAsync(5000);
    expect(turns).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(turns).toBe(2);
    await vi.advanceTimersByTimeAsync(3_599_999);
    expect(turns).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(turns).toBe(3);
  } finally {
    await stop();
  }
});

it("runs a job of one replica only while it holds its lease, others always", async () => {
  vi.useFakeTimers();
  let held = false;
  const turns = { one: 0, each: 0 };
  const jobs = (["one", "each"] as const).map((replicas) => ({
    name: replicas,
    replicas,
    everyMs: 10_000,
    run: async () => {
      turns[replicas] += 1;
    },
  }));
  const stop = startJobs(jobs, { holds: (name) => held && name === "one" }, runs);
  try {
    await vi.advanceTimersByTimeAsync(5000);
    expect(turns).toEqual({ one: 0, each: 1 });
    held = true;
    await vi.advanceTimersByTimeAsync(500);
    expect(turns).toEqual({ one: 1, each: 1 });
    held = false;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(turns).toEqual({ one: 1, each: 3 });
  } finally {
    await stop();
  }
});
