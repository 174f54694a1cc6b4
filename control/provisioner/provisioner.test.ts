/** What a tick costs, and what it does in cases that the random histories reach seldom. */
import { expect, it } from "vitest";
import { ProvisionerWorld } from "../../test/harness/provisioner-world.ts";

/** Ticks until nothing changes any more, with jobs that start and serve at once. */
async function settle(world: ProvisionerWorld): Promise<void> {
  for (let tick = 0; tick < 4; tick += 1) {
    await world.tick();
    for (const [index, job] of world.jobs.entries()) {
      world.start(job, `n${index}`);
      job.serves = true;
    }
  }
}

it("asks for the four lists and nothing else while 1,000 replicas of 200 specs are well", async () => {
  const world = new ProvisionerWorld();
  for (let model = 0; model < 200; model += 1) world.addSpec(model, { target_replicas: 5 });
  await settle(world);
  expect([...world.rows.values()].filter(({ state }) => state === "healthy")).toHaveLength(1000);
  world.calls.length = 0;
  expect(await world.tick()).toBe("ok");
  expect(world.calls).toEqual(["settings", "specs", "replicas", "jobs"]);
  expect(world.broken).toEqual([]);
});

it("resubmits a refused row instead of adding rows, and reports the scheduler's error once", async () => {
  const world = new ProvisionerWorld();
  world.addSpec(1, { target_replicas: 3 });
  world.refuses = true;
  for (let tick = 0; tick < 10; tick += 1) expect(await world.tick()).toBe("ok");
  expect(world.rows.size).toBe(1);
  expect(world.calls.filter((call) => call === "reportError")).toHaveLength(1);
  expect([...world.specs.values()][0]?.provision_error).toBe("Invalid qos specification");
  world.refuses = false;
  await world.tick();
  expect({
    rowCount: world.rows.size,
    jobCount: world.jobs.length,
    provision_error: [...world.specs.values()][0]?.provision_error,
  }).toEqual({ rowCount: 3, jobCount: 3, provision_error: null });
});

it("gives a job its row after a scheduler reset reused the ID of a lost job", async () => {
  const world = new ProvisionerWorld();
  for (const model of [1, 2]) world.addSpec(model, { target_replicas: 2 });
  await settle(world);
  world.loseState();
  await settle(world);
  const rows = [...world.rows.values()];
  expect(rows.filter(({ state }) => state === "lost").map(({ job_id }) => job_id)).toEqual(["1", "2", "3", "4"]);
  expect(rows.filter(({ state }) => state === "healthy").map(({ job_id }) => job_id)).toEqual(["1", "2", "3", "4"]);
  expect({ jobCount: world.jobs.length, broken: world.broken }).toEqual({ jobCount: 4, broken: [] });
});

it("cancels a job without a row although its number is a lost row's", async () => {
  const world = new ProvisionerWorld();
  world.addSpec(1, { target_replicas: 1 });
  await settle(world);
  world.loseState();
  await world.tick();
  await world.tick();
  const fresh = [...world.rows.values()].find(({ state }) => state !== "lost");
  if (fresh !== undefined) world.removeRow(fresh);
  await world.tick();
  expect(world.jobs.map(({ id, state }) => [id, state[0]])).toEqual([
    [1, "CANCELLED"],
    [2, "PENDING"],
  ]);
  expect(world.broken).toEqual([]);
});

it("never submits beyond the failures that a spec allows, until lost rows are gone", async () => {
  const world = new ProvisionerWorld();
  world.addSpec(1, { target_replicas: 1, max_job_failures: 2 });
  for (let tick = 0; tick < 6; tick += 1) {
    await world.tick();
    for (const job of world.jobs) world.end(job, "FAILED", false);
  }
  expect(world.jobs).toHaveLength(2);
  expect([...world.specs.values()][0]?.provision_error).toBe("job failed 2 times; clear lost replicas to retry");
  for (const row of world.rows.values()) world.removeRow(row);
  await world.tick();
  expect({ jobCount: world.jobs.length, provision_error: [...world.specs.values()][0]?.provision_error }).toEqual({
    jobCount: 3,
    provision_error: null,
  });
});
