/**
 * Exchanges between isolates and their Cell (docs/rules/admission.md#exchanges), with the real parts of both sides in
 * simulated time: every law of docs/architecture.md#admission holds.
 * EXCHANGE_SIMULATION_RUNS=5000 runs more worlds.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { isNothing } from "../../../edge/domain/budget/amounts.ts";
import { propertyRuns } from "../../harness/property-runs.ts";
import { printedSeed } from "../seed.ts";
import { LATE_OPENING } from "./found-worlds.ts";
import type { Life } from "./isolate.ts";
import type { Kind, Tenant } from "./records.ts";
import { CALM } from "./wire.ts";
import { type Setup, World } from "./world.ts";

const TIGHT: readonly Tenant[] = [
  { maxInFlight: null, tokensPerMinute: 0, termTokens: null },
  { maxInFlight: 3, tokensPerMinute: 0, termTokens: null },
  { maxInFlight: null, tokensPerMinute: 3_000, termTokens: null },
  { maxInFlight: null, tokensPerMinute: 0, termTokens: 1_500 },
];
const AMPLE: readonly Tenant[] = [
  { maxInFlight: null, tokensPerMinute: 0, termTokens: null },
  { maxInFlight: 40, tokensPerMinute: 0, termTokens: null },
  { maxInFlight: null, tokensPerMinute: 900_000, termTokens: null },
  { maxInFlight: null, tokensPerMinute: 0, termTokens: 500_000 },
];
const TENANTS = AMPLE.length;
const MODELS = 2;

const at = fc.nat({ max: 5 });
const burst = fc.record({
  do: fc.constant("burst" as const),
  isolate: at,
  tenantAt: fc.nat({ max: TENANTS - 1 }),
  modelAt: fc.nat({ max: MODELS - 1 }),
  requests: fc.integer({ min: 5, max: 80 }),
  everyMs: fc.integer({ min: 1, max: 12 }),
  lastsMs: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<number>(3, 10, 20, 40) },
    { weight: 1, arbitrary: fc.constantFrom(250, 900, 4_000) },
  ),
});
const change = fc.record({
  do: fc.constant("change" as const),
  kind: fc.constantFrom<Kind>("key", "tenant", "group", "model", "all"),
  which: at,
  cap: fc.constantFrom(null, 40, 6, 1),
});
const capacity = fc.record({ do: fc.constant("capacity" as const), slots: fc.constantFrom(200, 100, 60, 40, 20, 5) });
const stall = fc.record({
  do: fc.constant("stall" as const),
  isolate: at,
  ms: fc.integer({ min: 10, max: 200 }),
  tenantAt: fc.nat({ max: TENANTS - 1 }),
  requests: fc.integer({ min: 1, max: 10 }),
});
/** The isolate stops for so long that its sessions are considered broken. */
const freeze = stall.map((step) => ({ ...step, ms: 15 * step.ms }));
/** Calls take long, and none is lost. */
const haze = fc.record({
  do: fc.constant("weather" as const),
  lossy: fc.constant(0),
  sessionLossy: fc.constant(0),
  slow: fc.constantFrom(0, 0.02, 0.2),
  slowMs: fc.constantFrom(20, 100, 400, 1_500),
});
const weather = fc.record({
  do: fc.constant("weather" as const),
  lossy: fc.constantFrom(0, 0, 0.01, 0.05),
  sessionLossy: fc.constantFrom(0, 0, 0.02, 0.1),
  slow: fc.constantFrom(0, 0.02, 0.2),
  slowMs: fc.constantFrom(20, 100, 400, 1_500),
});
const misfortune = fc.record({
  do: fc.constantFrom("reset" as const, "kill" as const, "cutOff" as const, "cutSession" as const),
  isolate: at,
});

const gentle = [
  { weight: 5, arbitrary: burst },
  { weight: 4, arbitrary: change },
  { weight: 1, arbitrary: capacity },
  { weight: 3, arbitrary: stall },
] as const;

const timed = <T>(step: fc.Arbitrary<T>) =>
  fc.record({ afterMs: fc.constantFrom<number>(0, 3, 20, 70, 200, 500), step });
/** No isolate and no Cell dies and no call is lost; calls take long at most. */
const orderly = fc.array(timed(fc.oneof(...gentle, { weight: 2, arbitrary: haze })), {
  minLength: 1,
  maxLength: 10,
  size: "max",
});
/** Any fault may happen. */
const stormy = fc.array(
  timed(
    fc.oneof(
      ...gentle,
      { weight: 3, arbitrary: weather },
      { weight: 4, arbitrary: misfortune },
      { weight: 1, arbitrary: freeze },
    ),
  ),
  { minLength: 1, maxLength: 12, size: "max" },
);

type Timed = (typeof stormy extends fc.Arbitrary<infer T> ? T : never)[number];

/** Requests of one kind that keep arriving while the steps are played. */
const stream = fc.record({
  isolate: fc.nat({ max: 1 }),
  tenantAt: fc.nat({ max: TENANTS - 1 }),
  modelAt: fc.nat({ max: MODELS - 1 }),
  everyMs: fc.integer({ min: 3, max: 15 }),
  lastsMs: fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 2, max: 40 }) },
    { weight: 1, arbitrary: fc.integer({ min: 200, max: 600 }) },
  ),
});
const setupPlay: fc.Arbitrary<Setup & Streams> = fc.record({
  algorithm: fc.constantFrom("weighted" as const, "hierarchical" as const),
  streams: fc.array(stream, { minLength: 1, maxLength: 3 }),
  // Long enough that, in some runs, one session is followed by another.
  afterMs: fc.constantFrom(400, 400, 400, 4_000),
  capacity: fc.constantFrom(300, 150, 100, 60, 40, 20, 6),
  tenants: fc.constantFrom(AMPLE, AMPLE, AMPLE, TIGHT),
  modelCaps: fc.constantFrom([null, 50], [null, 50], [null, 8]),
  isolates: fc.integer({ min: 2, max: 4 }),
  seed: fc.integer(),
});

interface Streams {
  readonly streams: readonly Omit<Extract<Timed["step"], { do: "burst" }>, "do" | "requests">[];
  /** How long the streams continue after the last step. */
  readonly afterMs: number;
}

/** Longer than any session and than the longest request. */
const AFTER_MS = 12_000;
/** A cell with few slots needs many rounds for many long requests. */
const ROUNDS_MAX = 200;
/** After this time a later request has taken over the tasks of a request whose code was cut off. */
const FOUND_MS = 31_000;

/** Without faults, the Cell knows after this time of every request that runs. */
const COUNTED_MS = 9_000;

/** Plays the steps, ends all faults, and lets all requests finish. */
async function playExchanges(given: Setup & Streams, steps: readonly Timed[], watch: Watch): Promise<World> {
  const world = new World(given);
  vi.stubGlobal("setTimeout", world.time.setTimeout);
  vi.stubGlobal("clearTimeout", world.time.clearTimeout);
  vi.stubGlobal("setInterval", world.time.setInterval);
  vi.stubGlobal("clearInterval", world.time.clearTimeout);
  try {
    const after = () => watch.look(world);
    const forMs = steps.reduce((sum, { afterMs }) => sum + afterMs, given.afterMs);
    for (const stream of given.streams) {
      const requests = Math.ceil(forMs / stream.everyMs);
      take(world, { ...stream, do: "burst", requests });
    }
    for (const { afterMs, step } of steps) {
      await world.run(afterMs, after);
      take(world, step);
    }
    const lastsMs = 2_500 + AFTER_MS;
    for (const isolate of world.isolates.keys())
      for (const tenantAt of given.tenants.keys())
        world.request(isolate, { tenantAt, modelAt: 0, lastsMs, ends: "settles" });
    await world.run(given.afterMs + 2_500, after);
    world.wire.faults = CALM;
    await world.run(COUNTED_MS, after);
    watch.counted(world);
    await world.run(AFTER_MS - COUNTED_MS, after);
    for (let rounds = 0; rounds < ROUNDS_MAX && world.truth.running.size + world.waiting > 0; rounds += 1)
      await world.run(AFTER_MS, after);
    for (const index of world.isolates.keys()) warmUp(world, index);
    for (const tenantAt of given.tenants.keys())
      world.request(0, { tenantAt, modelAt: 0, lastsMs: 10, ends: "settles" });
    await world.run(FOUND_MS, after);
    for (const index of world.isolates.keys()) warmUp(world, index);
    await world.run(FOUND_MS, after);
    return world;
  } finally {
    vi.unstubAllGlobals();
  }
}

function take(world: World, step: Timed["step"]): void {
  switch (step.do) {
    case "burst":
      for (let index = 0; index < step.requests; index += 1) {
        const lastsMs = world.random.between(1, step.lastsMs);
        const chance = world.random.next();
        const ends = chance < 0.02 ? "givesUp" : chance < 0.15 ? "leaves" : "settles";
        world.time.later(index * step.everyMs, () => world.request(step.isolate, { ...step, lastsMs, ends }));
      }
      return;
    case "stall": {
      const life: Life = { tenantAt: step.tenantAt, modelAt: 0, lastsMs: 30, ends: "settles" };
      world.isolate(step.isolate).context.compute(step.ms, () => {
        for (let index = 0; index < step.requests; index += 1) world.request(step.isolate, life);
      });
      return;
    }
    case "change": {
      const { kind, which, cap } = step;
      const ids = { key: "k", tenant: "t", model: "m" };
      if (kind === "group" || kind === "all") world.change(kind, kind === "all" ? "*" : "g", null);
      else world.change(kind, ids[kind] + (which % (kind === "model" ? MODELS : TENANTS)), cap);
      return;
    }
    case "capacity":
      world.capacity(step.slots);
      return;
    case "weather":
      world.wire.faults = step;
      return;
    case "reset":
      world.reset();
      return;
    case "kill":
      world.kill(step.isolate);
      return;
    case "cutOff":
      world.cutOff(step.isolate);
      return;
    case "cutSession":
      world.cutSession(step.isolate);
      return;
    default:
      step satisfies never;
  }
}

function warmUp(world: World, isolate: number): void {
  for (let index = 0; index < 8; index += 1) {
    world.time.later(index * 5, () =>
      world.request(isolate, { tenantAt: 0, modelAt: 0, lastsMs: 10, ends: "settles" }),
    );
  }
}

/** What must hold after every event, in addition to the checks of each grant, and what must be balanced at the end. */
class Watch {
  readonly wrong: string[] = [];
  readonly #orderly: boolean;
  #held = 0;

  constructor(orderly: boolean) {
    this.#orderly = orderly;
  }

  look({ life: { scheduler }, wire }: World): void {
    const held = scheduler.inFlight;
    if (this.#orderly && wire.longestMs === 0 && held > scheduler.maxInFlight && held > this.#held)
      this.#breaks(`law 1: ${held} slots of ${scheduler.maxInFlight} after ${this.#held}`);
    this.#held = held;
  }

  /** Checks that every running request holds a slot. */
  counted({ truth, life, isolates }: World): void {
    const states = new Map([...life.admission.entries].map(({ request, state }) => [request.requestId, state]));
    for (const { id, heard } of truth.running.values()) {
      const isAlive = isolates.some(({ requests }) => requests.get(id)?.alive === true);
      const state = states.get(id);
      if (heard && isAlive && state !== "running") this.#breaks(`law 6: ${id} runs, and is ${state ?? "not known"}`);
    }
  }

  /** Checks the end: all requests have finished, and no call is lost any more. */
  atLast(world: World): void {
    for (const id of world.asked.keys()) {
      const written = world.rows.get(id) ?? [];
      const rows = written.length;
      if (rows !== 1 && (rows !== 0 || !world.died.has(id)))
        this.#breaks(
          `law 3: ${id} has ${rows} rows: ${written.map((row) => `${row.status_code} ${row.admission}`).join(", ")}`,
        );
    }
    for (const id of world.truth.served) {
      const [row] = world.rows.get(id) ?? [];
      if (row !== undefined && row.status_code !== 200 && world.livedOn(id))
        this.#breaks(`law 3: ${id} was served, and its row says ${row.status_code}`);
    }
    const { scheduler, admission } = world.life;
    const { inFlight, queued } = scheduler;
    if (inFlight + queued + admission.size > 0)
      this.#breaks(`law 5: ${inFlight} in flight, ${queued} wait, ${admission.size} have entries`);
    for (const [at, tenant] of world.tenants.entries()) {
      if (tenant.tokensPerMinute === 0 && tenant.termTokens === null) continue;
      const core = world.budgets.core(`t${at}`);
      const books = world.books(at);
      const limits = world.limits(at);
      if (core.countersAwaitingLedger(world.time.nowMs).length > 0) {
        const { account } = core.read("tenant", limits, world.time.nowMs);
        core.applyLedgerSum("tenant", limits, account.tag, { tokens: books.written, nanoUsd: 0 }, world.time.nowMs);
        core.ledgerSettled();
      }
      const { reserved, account } = core.read("tenant", limits, world.time.nowMs);
      if (account.usedTokens > books.most || account.usedTokens < books.written)
        this.#breaks(`law 4: t${at} is charged ${account.usedTokens}, not ${books.written} to ${books.most}`);
      if (!isNothing(reserved)) this.#breaks(`law 4: ${JSON.stringify(reserved)} of t${at} are out`);
      const used = world.truth.used(`t${at}`);
      if (this.#orderly && account.usedTokens !== used)
        this.#breaks(`law 4: t${at} used ${used}, not ${account.usedTokens}`);
    }
  }

  #breaks(what: string): void {
    this.wrong.push(what);
  }
}

/** How many worlds of each kind are simulated. */
const runs = Number(process.env["EXCHANGE_SIMULATION_RUNS"] ?? propertyRuns(40));
const seed = printedSeed("exchanges.property.test.ts");
/** A run of many worlds is for finding failures. It stops at the first one, because shrinking takes long. */
const options = { numRuns: runs, seed, endOnFailure: runs > 100 };
const timeoutMs = 60_000 + 2_000 * runs;

function wrongWith(world: World, watch: Watch): readonly string[] {
  watch.atLast(world);
  return [...world.truth.broken, ...watch.wrong].slice(0, 6);
}

describe("exchanges in a simulated world", () => {
  it(
    "keep every cap, revision, row and token while no isolate and no Cell dies",
    async () => {
      await fc.assert(
        fc.asyncProperty(setupPlay, orderly, async (given, steps) => {
          const watch = new Watch(true);
          const world = await playExchanges(given, steps, watch);
          expect(wrongWith(world, watch)).toEqual([]);
          expect({ died: world.died.size, uncounted: world.truth.uncounted.size }).toEqual({ died: 0, uncounted: 0 });
        }),
        options,
      );
    },
    timeoutMs,
  );

  it(
    "keep them when calls, isolates, session contexts, sessions or Cells are lost or late",
    async () => {
      await fc.assert(
        fc.asyncProperty(setupPlay, stormy, async (given, steps) => {
          const watch = new Watch(false);
          const world = await playExchanges(given, steps, watch);
          expect(wrongWith(world, watch)).toEqual([]);
        }),
        { ...options, examples: [[LATE_OPENING[0], [...LATE_OPENING[1]]]] },
      );
    },
    timeoutMs,
  );
});
