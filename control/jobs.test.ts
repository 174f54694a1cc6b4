import { pino } from "pino";
import { expect, it } from "vitest";
import { startJobs } from "./jobs.ts";

const log = pino({ level: "silent" });

it("runs a job again after a failure, and one turn at a time", async () => {
  let turns = 0;
  let running = 0;
  let most = 0;
  const enough = Promise.withResolvers<void>();
  const stop = startJobs(
    [
      {
        name: "failing",
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
    log,
  );
  await enough.promise;
  await stop();
  expect(most).toBe(1);
});

it("waits at its end for what is running, and starts nothing after", async () => {
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let turns = 0;
  let finished = false;
  const stop = startJobs(
    [
      {
        name: "slow",
        everyMs: 0,
        run: async () => {
          turns += 1;
          started.resolve();
          await release.promise;
          finished = true;
        },
      },
    ],
    log,
  );
  await started.promise;
  const stopped = stop();
  release.resolve();
  await stopped;
  expect([finished, turns]).toEqual([true, 1]);
});
