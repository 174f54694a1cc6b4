/**
 * The search for the knee against upstreams in simulated time whose capacity is known. The true knee is what the same rules
 * give when each concurrency runs for long.
 *
 * @module-tag long
 */
import { describe, expect, it } from "vitest";
import { type Random, seededRandom } from "../../../test/simulate/random.ts";
import { ladderOf, recommend } from "./knee.ts";
import { type KneeFindings, searchKnee } from "./search.ts";
import type { LoadOutcome, LoadStep } from "./step.ts";

/** A known capacity: a number of servers with one queue, or one machine that all requests share. */
interface UpstreamModel {
  /**
   * `servers`: each serves one request at a time, the rest queue. `shared`: all requests are served at once, at full speed
   * up to `capacity` of them, and proportionally slower beyond. `batching`: each further request slows all down a little;
   * at `capacity` requests each runs at half speed.
   */
  readonly kind: "servers" | "shared" | "batching";
  readonly capacity: number;
  /** How long the next request takes when no other request slows it down, ms. */
  readonly serviceMs: () => number;
}

interface Running {
  /** Work left, in ms at full speed. */
  leftMs: number;
  readonly end: (outcome: LoadOutcome) => void;
}

class SimulatedUpstream {
  nowMs = 0;
  readonly #model: UpstreamModel;
  readonly #timeoutMs: number;
  readonly #running: Running[] = [];
  readonly #ends = new WeakMap<Running, number>();
  requests = 0;
  inFlightMax = 0;

  constructor(model: UpstreamModel, timeoutMs: number) {
    this.#model = model;
    this.#timeoutMs = timeoutMs;
  }

  send = async (signal: AbortSignal): Promise<LoadOutcome> => {
    if (signal.aborted) return "error";
    this.requests += 1;
    return await new Promise((resolve) => {
      const running = { leftMs: this.#model.serviceMs(), end: resolve };
      this.#ends.set(running, this.nowMs + this.#timeoutMs);
      this.#running.push(running);
      this.inFlightMax = Math.max(this.inFlightMax, this.#running.length);
    });
  };

  /** Advances the time to the end of the next request. False: there is no request. */
  advance(): boolean {
    const served = this.#model.kind === "servers" ? this.#running.slice(0, this.#model.capacity) : this.#running;
    const speed = speedOf(this.#model, this.#running.length);
    let next: Running | null = null;
    let inMs = Number.POSITIVE_INFINITY;
    let outcome: LoadOutcome = "ok";
    for (const running of served) {
      if (running.leftMs / speed >= inMs) continue;
      [next, inMs, outcome] = [running, running.leftMs / speed, "ok"];
    }
    const [oldest] = this.#running;
    if (oldest === undefined) return false;
    const timesOutInMs = (this.#ends.get(oldest) ?? 0) - this.nowMs;
    if (timesOutInMs < inMs) [next, inMs, outcome] = [oldest, timesOutInMs, "timeout"];
    for (const running of served) running.leftMs -= inMs * speed;
    this.nowMs += inMs;
    if (next === null) return false;
    this.#running.splice(this.#running.indexOf(next), 1);
    next.end(outcome);
    return true;
  }
}

/** The speed of each request while `served` requests run; 1 is the speed of a single request. */
function speedOf({ kind, capacity }: UpstreamModel, served: number): number {
  switch (kind) {
    case "servers":
      return 1;
    case "shared":
      return Math.min(1, capacity / served);
    case "batching":
      return 1 / (1 + served / capacity);
    default:
      return kind satisfies never;
  }
}

/** Runs work that depends on the upstream to its end, in simulated time. */
async function inSimulatedTime<T>(upstream: SimulatedUpstream, work: Promise<T>): Promise<T> {
  let over = false;
  const watched = work.finally(() => {
    over = true;
  });
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    if (over) return await watched;
    if (!upstream.advance()) throw new Error("the work waits for nothing that the upstream does");
  }
}

const KINDS = ["servers", "shared", "batching"] as const;
const SEEDS = 100;
const LONG_RUN = 1200;

interface Case {
  readonly model: UpstreamModel;
  readonly meanMs: number;
  readonly targetP99Ms: number;
  readonly maxConcurrency: number;
}

/** Anything from a small card to a cluster, with answers of a fixed, a spread or an exponential duration. */
function caseOf(random: Random): Case {
  const meanMs = 20 * 20 ** random.next();
  const capacity = Math.ceil(64 ** random.next());
  const durations = [() => meanMs, () => meanMs * (0.7 + 0.6 * random.next()), () => random.gap(meanMs)];
  const serviceMs = durations[random.between(0, 2)] as () => number;
  return {
    model: { kind: KINDS[random.between(0, 2)] as UpstreamModel["kind"], capacity, serviceMs },
    meanMs,
    targetP99Ms: meanMs * (1.5 + 12 * random.next()),
    maxConcurrency: [16, 64, 100, 256][random.between(0, 3)] as number,
  };
}

async function found(upstream: SimulatedUpstream, { targetP99Ms, maxConcurrency }: Case): Promise<KneeFindings> {
  const { signal } = new AbortController();
  const search = { targetP99Ms, maxConcurrency, send: upstream.send, nowMs: () => upstream.nowMs, signal };
  return await inSimulatedTime(upstream, searchKnee(search));
}

/** What a concurrency yields when it runs for long. */
async function longRun({ model, meanMs }: Case, concurrency: number): Promise<LoadStep> {
  const upstream = new SimulatedUpstream(model, Number.POSITIVE_INFINITY);
  const { signal } = new AbortController();
  const latencies: number[] = [];
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < LONG_RUN + concurrency) {
      sent += 1;
      const fromMs = upstream.nowMs;
      await upstream.send(signal);
      latencies.push(upstream.nowMs - fromMs);
    }
  };
  await inSimulatedTime(upstream, Promise.all(Array.from({ length: concurrency }, worker)));
  const served = model.kind === "servers" ? model.capacity : concurrency;
  const settled = latencies.slice(concurrency).sort((a, b) => a - b);
  const throughputRps = (1000 / meanMs) * Math.min(concurrency, served) * speedOf(model, concurrency);
  return {
    concurrency,
    throughputRps,
    lowestRps: throughputRps,
    p50Ms: null,
    p99Ms: settled[Math.ceil(settled.length * 0.99) - 1] ?? null,
    requests: settled.length,
    errors: 0,
  };
}

/** The true knee. As in the search, steps after the first that brings too little are not tried. */
async function trueKnee(tried: Case): Promise<number> {
  const steps: LoadStep[] = [];
  for (const concurrency of ladderOf(tried.maxConcurrency)) {
    steps.push(await longRun(tried, concurrency));
    if (recommend(steps, tried.targetP99Ms).maxInFlight !== concurrency && concurrency > 1) break;
  }
  return recommend(steps, tried.targetP99Ms).maxInFlight;
}

describe("the search", () => {
  it(`recommends within one step of the true knee in at least 95 of ${SEEDS} seeds`, async () => {
    const missed: object[] = [];
    let exact = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const tried = caseOf(seededRandom(seed));
      const knee = await trueKnee(tried);
      const { maxInFlight, steps } = await found(
        new SimulatedUpstream(tried.model, Math.min(30_000, 4 * tried.targetP99Ms)),
        tried,
      );
      const ladder = ladderOf(tried.maxConcurrency);
      const away = Math.abs(ladder.indexOf(maxInFlight) - ladder.indexOf(knee));
      if (away === 0) exact += 1;
      if (away > 1) missed.push({ seed, ...tried, knee, maxInFlight, steps });
    }
    expect(missed.length, JSON.stringify(missed)).toBeLessThanOrEqual(SEEDS * 0.05);
    expect(exact).toBeGreaterThanOrEqual(SEEDS * 0.8);
  });

  it("recommends at most one step too much for a slow server with uneven answers", async () => {
    const recommended: number[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const random = seededRandom(seed);
      const meanMs = 300;
      const model = { kind: "servers", capacity: 4, serviceMs: () => random.gap(meanMs) } as const;
      const upstream = new SimulatedUpstream(model, 30_000);
      const tried = { model, meanMs, targetP99Ms: 60_000, maxConcurrency: 64 };
      recommended.push((await found(upstream, tried)).maxInFlight);
    }
    expect(recommended.filter((concurrency) => concurrency > 8)).toEqual([]);
  });

  it("stays within 20,000 requests even when a fast upstream lets it try the whole ladder", async () => {
    const fast = { model: { kind: "servers", capacity: 1000, serviceMs: () => 0.5 }, meanMs: 0.5 } as const;
    const upstream = new SimulatedUpstream(fast.model, 1000);
    const { maxInFlight, reason, requests, steps } = await found(upstream, {
      ...fast,
      targetP99Ms: 250,
      maxConcurrency: 256,
    });
    expect({ maxInFlight, reason, stepCount: steps.length }).toEqual({
      maxInFlight: 256,
      reason: "max_concurrency",
      stepCount: 9,
    });
    expect({ requests: upstream.requests, inFlightMax: upstream.inFlightMax }).toEqual({ requests, inFlightMax: 256 });
    expect(requests).toBeLessThanOrEqual(20_000);
  });

  it("stops after a few requests when the upstream fails", async () => {
    let sent = 0;
    const send = async (): Promise<LoadOutcome> => {
      sent += 1;
      return "error";
    };
    const { signal } = new AbortController();
    const down = await searchKnee({ targetP99Ms: 100, maxConcurrency: 8, send, nowMs: () => sent, signal });
    expect(down).toMatchObject({ reason: "no_data", maxInFlight: 1, throughputRps: 0, requests: 20 });
  });

  it("uses the complete steps when it is cut off, and sends nothing more", async () => {
    const upstream = new SimulatedUpstream({ kind: "servers", capacity: 64, serviceMs: () => 100 }, 10_000);
    const ending = new AbortController();
    const send = async (signal: AbortSignal): Promise<LoadOutcome> => {
      if (upstream.nowMs > 12_000) ending.abort();
      return signal.aborted ? "error" : await upstream.send(signal);
    };
    const search = { targetP99Ms: 2500, maxConcurrency: 64, send, nowMs: () => upstream.nowMs, signal: ending.signal };
    const cut = await inSimulatedTime(upstream, searchKnee(search));
    expect(cut).toMatchObject({ reason: "max_concurrency", maxInFlight: 2 });
    expect(cut.steps.map(({ concurrency }) => concurrency)).toEqual([1, 2]);
    const before = new AbortController();
    before.abort();
    expect(await searchKnee({ ...search, signal: before.signal })).toMatchObject({ reason: "no_data", requests: 0 });
  });
});
