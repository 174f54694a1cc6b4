/**
 * An upstream in simulated time with a known capacity: a number of servers with one queue, or one machine that all requests
 * share, with or without a sharp limit to its throughput. Its answers take no real time.
 */
import type { LoadOutcome } from "../../../control/autotune/step.ts";

export interface UpstreamModel {
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

export class SimulatedUpstream {
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
export function speedOf({ kind, capacity }: UpstreamModel, served: number): number {
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
export async function inSimulatedTime<T>(upstream: SimulatedUpstream, work: Promise<T>): Promise<T> {
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
