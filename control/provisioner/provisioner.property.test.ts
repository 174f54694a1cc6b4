/**
 * The laws of the provisioner (docs/rules/provisioner.md#laws) under random histories: states of jobs, failed calls, kills
 * between any two effects, edits of specs and rows. The laws themselves are checked at every call by the world.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { propertyRuns } from "../../test/harness/property-runs.ts";
import { type Fate, ProvisionerWorld } from "../../test/harness/provisioner-world.ts";

const MODELS = 2;
const NODES = ["n1", "n2"];
/** Draining, a submission that was not answered, and lost rows are all over within this many ticks. */
const STILL_TICKS = 80;

type Step = (world: ProvisionerWorld, choose: number) => unknown;

const pick = <T>(list: readonly T[], choose: number): T | undefined => list[choose % Math.max(1, list.length)];

const jobStep =
  (change: (world: ProvisionerWorld, job: ProvisionerWorld["jobs"][number], choose: number) => void): Step =>
  (world, choose) => {
    const job = pick(world.jobs, choose);
    if (job !== undefined) change(world, job, choose);
  };

const edit =
  (change: (spec: { target: number; choose: number }) => object): Step =>
  (world, choose) => {
    const [id, spec] = pick([...world.specs], choose) ?? [];
    if (id !== undefined && spec !== undefined)
      world.specs.set(id, { ...spec, ...change({ target: choose % 4, choose }) });
  };

const STEPS: Readonly<Record<string, Step>> = {
  tick: async (world) => await world.tick(),
  start: jobStep((world, job, choose) => world.start(job, pick(NODES, choose >> 3) ?? "n1")),
  serve: jobStep((_world, job) => {
    job.serves = job.port !== null;
  }),
  serveAll: (world, choose) => {
    for (const job of world.jobs) world.start(job, pick(NODES, choose + job.id) ?? "n1");
    for (const job of world.jobs) job.serves = job.port !== null;
  },
  silence: jobStep((_world, job) => {
    job.serves = false;
  }),
  suspend: jobStep((_world, job) => {
    if (job.state[0] === "RUNNING") job.state = ["SUSPENDED"];
  }),
  mystery: jobStep((_world, job) => {
    if (job.state[0] === "RUNNING") job.state = ["MYSTERY"];
  }),
  fail: jobStep((world, job, choose) =>
    world.end(job, pick(["FAILED", "TIMEOUT", "COMPLETED"], choose) ?? "FAILED", choose % 2 === 0),
  ),
  settle: (world, choose) => world.settle(choose % 2 === 0),
  loseState: (world, choose) => {
    if (choose % 3 === 0) world.loseState();
  },
  target: edit(({ target }) => ({ target_replicas: target })),
  disable: edit(({ choose }) => ({ enabled: choose % 2 === 0 })),
  gate: edit(({ choose }) => ({ max_job_failures: choose % 3 })),
  removeModel: (world, choose) => {
    const id = pick([...world.specs.keys()], choose);
    if (id !== undefined && choose % 5 === 0) world.removeModel(id);
  },
  removeSpec: (world, choose) => {
    const id = pick([...world.specs.keys()], choose);
    if (id !== undefined && choose % 3 === 0) world.specs.delete(id);
  },
  addSpec: (world, choose) => world.addSpec(choose % MODELS, { target_replicas: choose % 4 }),
  restart: (world, choose) => {
    const row = pick([...world.rows.values()], choose);
    if (row !== undefined) world.rows.set(row.id, { ...row, cancel_requested: true });
  },
  removeRow: (world, choose) => {
    const row = pick([...world.rows.values()], choose);
    if (row !== undefined) world.removeRow(row);
  },
  removeEndpoint: (world, choose) => {
    const id = pick([...world.endpoints.keys()], choose);
    if (id !== undefined) world.removeEndpoint(id);
  },
  refuse: (world, choose) => {
    world.refuses = choose % 2 === 0;
  },
  later: (world, choose) => {
    world.nowMs += (choose % 60) * 1000;
  },
};

/** Mostly ticks, and jobs that do what they should: without replicas that serve there is nothing to break. */
const step = fc.oneof(
  { weight: 8, arbitrary: fc.constant("tick") },
  { weight: 4, arbitrary: fc.constant("serveAll") },
  { weight: 8, arbitrary: fc.constantFrom(...Object.keys(STEPS)) },
);
const fate = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Fate>("done") },
  { weight: 1, arbitrary: fc.constantFrom<Fate>("fails", "done but fails", "killed", "done, then killed") },
);
const steps = fc.array(
  fc.record({
    step,
    choose: fc.nat(1000),
    fates: fc.array(fate, { minLength: 5, maxLength: 25 }),
    faulty: fc.boolean(),
  }),
  { minLength: 10, maxLength: 60, size: "max" },
);

describe("the provisioner", () => {
  it("keeps its laws under every history, and brings the world in order once it is still", async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 0, max: 45_000 }), async (history, lateMs) => {
        const world = new ProvisionerWorld();
        world.lateMs = lateMs;
        for (let model = 0; model < MODELS; model += 1) world.addSpec(model);
        for (const { step, choose, fates, faulty } of history) {
          if (step === "tick") world.fates = faulty ? [...fates] : [];
          await STEPS[step]?.(world, choose);
          expect(world.broken).toEqual([]);
        }
        await comeToRest(world);
        expect(world.broken).toEqual([]);
        expect(found(world)).toEqual(wanted(world));
      }),
      { numRuns: propertyRuns(320) },
    );
  });
});

/** No more faults, jobs start at once and serve, what ended is over. */
async function comeToRest(world: ProvisionerWorld): Promise<void> {
  world.fates = [];
  world.refuses = false;
  for (let tick = 0; tick < STILL_TICKS; tick += 1) {
    world.settle(true);
    for (const [index, job] of world.jobs.entries()) {
      if (job.state[0] === "SUSPENDED" || job.state[0] === "MYSTERY") world.end(job, "FAILED", false);
      world.start(job, pick(NODES, index) ?? "n1");
      job.serves = job.port !== null;
    }
    await world.tick();
  }
}

/** For each model: healthy rows, endpoints that answer, live jobs; and what should not be there. */
function found(world: ProvisionerWorld): object {
  const rows = [...world.rows.values()];
  const addresses = new Set(world.jobs.map(({ node, port }) => `http://${node}:${port}/v1`));
  const models = [...world.specs.keys()].sort().map((id) => ({
    id,
    healthy: rows.filter(({ model_id, state }) => model_id === id && state === "healthy").length,
    endpoints: [...world.endpoints.values()].filter(({ modelId, apiBase }) => modelId === id && addresses.has(apiBase))
      .length,
  }));
  return { models, rows: rows.length, endpoints: world.endpoints.size, jobs: world.jobs.length };
}

function wanted(world: ProvisionerWorld): object {
  const targets = [...world.specs.values()].map(({ enabled, target_replicas }) => (enabled ? target_replicas : 0));
  const sum = targets.reduce((total, target) => total + target, 0);
  const models = [...world.specs.values()]
    .map(({ model_id, enabled, target_replicas }) => {
      const target = enabled ? target_replicas : 0;
      return { id: model_id, healthy: target, endpoints: target };
    })
    .sort((left, right) => (left.id < right.id ? -1 : 1));
  return { models, rows: sum, endpoints: sum, jobs: sum };
}
