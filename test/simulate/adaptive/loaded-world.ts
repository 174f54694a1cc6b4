/**
 * A batching server behind the scheduler of a Cell, with clients that always have requests waiting. The capacity of the
 * model is fixed, or found by the adaptive limit. Another load comes to the server and goes.
 */
import type { AdaptiveLimit, CapacityChange } from "../../../edge/domain/adaptive/adaptive-limit.ts";
import type { EndedCall } from "../../../edge/domain/adaptive/capacity-window.ts";
import { createScheduler } from "../../../edge/domain/fairshare/scheduler.ts";
import type { Scheduler } from "../../../edge/domain/fairshare/types.ts";
import type { Random } from "../random.ts";
import { BatchingServer, drawnLengths, type Job, type ServerWorld } from "./batching-server.ts";

/** The weights of the tenants. */
export const WEIGHTS = [1, 2, 3] as const;
const MODEL = "m";

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Ended {
  readonly endedMs: number;
  readonly tenant: number;
  readonly tokens: number;
  readonly ttftMs: number;
}

interface LoadedRun {
  readonly ended: readonly Ended[];
  /** Of the other load. */
  readonly others: readonly { readonly endedMs: number; readonly tokens: number }[];
  readonly changes: readonly CapacityChange[];
  /** Requests in flight of the model after a grant, at most, minus its capacity at that moment. */
  readonly overCap: number;
  /** Whether each tenant got its slots in the order of its requests. */
  readonly inOrder: boolean;
}

interface LoadPlan {
  readonly untilMs: number;
  /** Requests that others keep at the server. */
  readonly others: (nowMs: number) => number;
  /** What the Cell is told of a call; the truth unless the server lies. */
  readonly told?: (call: EndedCall) => EndedCall;
}

/** `capacity`: a number, or the limit that moves. */
export function runLoaded(
  world: ServerWorld,
  capacity: number | AdaptiveLimit,
  plan: LoadPlan,
  random: Random,
): LoadedRun {
  const server = new BatchingServer(world.server);
  const jobs = new Map<number, { readonly requestId: string; readonly tenant: number } | "other">();
  const ended: Ended[] = [];
  const changes: CapacityChange[] = [];
  const otherTokens: LoadedRun["others"][number][] = [];
  /** The last request of each tenant that was granted. */
  const lastGranted = new Map<number, number>();
  let inOrder = true;
  const limitNow = () => (typeof capacity === "number" ? capacity : capacity.limit);
  let inFlight = 0;
  let overCap = Number.NEGATIVE_INFINITY;
  let others = 0;
  let arrivals = 0;
  const tenantOf = new Map<string, number>();
  const scheduler = createScheduler({ algorithm: "weighted", maxInFlight: 100_000 });

  const grant = (grants: ReturnType<Scheduler["apply"]>): void => {
    for (const { requestId } of grants) {
      const [tenant, order] = [tenantOf.get(requestId) ?? 0, Number(requestId.slice(1))];
      inOrder &&= order > (lastGranted.get(tenant) ?? 0);
      lastGranted.set(tenant, order);
    }
    for (const { requestId } of grants) {
      const tenant = tenantOf.get(requestId) ?? 0;
      jobs.set(server.submit(...drawnLengths(world, random), server.nowMs), { requestId, tenant });
      inFlight += 1;
      overCap = Math.max(overCap, inFlight - limitNow());
      arrive(tenant);
    }
  };
  const arrive = (tenant: number): void => {
    arrivals += 1;
    const requestId = `r${arrivals}`;
    tenantOf.set(requestId, tenant);
    const arrival = {
      requestId,
      tenant: { id: `t${tenant}`, name: `t${tenant}`, weight: WEIGHTS[tenant] ?? 1, maxInFlight: null },
      group: { name: "g", weight: 1 },
      model: { name: MODEL, admissionWeight: 100, maxInFlight: limitNow() },
      costTokens: world.meanInput + world.meanOutput,
    };
    grant(scheduler.apply({ type: "arrive", arrival }, server.nowMs));
  };
  const end = (job: Job): void => {
    const nowMs = server.nowMs;
    const of = jobs.get(job.id);
    jobs.delete(job.id);
    if (of === undefined) return;
    if (of === "other") {
      others -= 1;
      otherTokens.push({ endedMs: nowMs, tokens: job.inputTokens + job.outputTokens });
      return;
    }
    const call: EndedCall = {
      upstreamMs: nowMs - job.arrivedMs,
      ttftMs: job.firstMs - job.arrivedMs,
      inputTokens: job.inputTokens,
      outputTokens: job.outputTokens,
      outcome: "served",
      inFlight,
      tenantId: `t${of.tenant}`,
      isAmongOthers: inFlight > scheduler.inFlightBy(`t${of.tenant}`),
    };
    const tokens = job.inputTokens + job.outputTokens;
    ended.push({ endedMs: nowMs, tenant: of.tenant, tokens, ttftMs: call.ttftMs });
    if (typeof capacity !== "number") {
      const change = capacity.ended(plan.told?.(call) ?? call, nowMs, () => random.next());
      if (change !== null) {
        changes.push(change);
        grant(scheduler.apply({ type: "model", name: MODEL, maxInFlight: change.to }, nowMs));
      }
    }
    inFlight -= 1;
    tenantOf.delete(of.requestId);
    grant(scheduler.apply({ type: "release", requestId: of.requestId, actualTokens: tokens }, nowMs));
  };

  for (const tenant of WEIGHTS.keys()) for (let at = 0; at < 8; at += 1) arrive(tenant);
  while (server.nowMs < plan.untilMs) {
    for (const wanted = plan.others(server.nowMs); others < wanted; others += 1)
      jobs.set(server.submit(...drawnLengths(world, random), server.nowMs), "other");
    for (const job of server.step()) end(job);
  }
  return { ended, others: otherTokens, changes, overCap, inOrder };
}

interface Figures {
  readonly tokensPerSec: number;
  readonly ttftP95Ms: number;
}

function tokensPerSec(ended: LoadedRun["others"], { fromMs, toMs }: Span): number {
  const within = ended.filter(({ endedMs }) => endedMs >= fromMs && endedMs < toMs);
  return (1000 * within.reduce((sum, { tokens }) => sum + tokens, 0)) / (toMs - fromMs);
}

export function loadFiguresOf({ ended }: LoadedRun, { fromMs, toMs }: Span): Figures {
  const within = ended.filter(({ endedMs }) => endedMs >= fromMs && endedMs < toMs);
  const ttfts = within.map(({ ttftMs }) => ttftMs).toSorted((one, other) => one - other);
  return {
    tokensPerSec: tokensPerSec(ended, { fromMs, toMs }),
    ttftP95Ms: ttfts[Math.floor(0.95 * ttfts.length)] ?? 0,
  };
}

interface Knee extends Figures {
  readonly limit: number;
}

const KNEE_WARM_MS = 8_000;
const KNEE_MS = 30_000;
const GRID = 1.15;

/**
 * The knee: the fixed capacity at which the server has the greatest power, throughput by time in the server (Kleinrock). By
 * Little's law this is the square of the throughput by the load; both include the other load. Neighbours are averaged,
 * because each is measured with noise.
 */
export function kneeOf(world: ServerWorld, others: number, random: Random): Knee {
  const measured: (Knee & { readonly power: number })[] = [];
  let best = Number.NEGATIVE_INFINITY;
  const span = { fromMs: KNEE_WARM_MS, toMs: KNEE_WARM_MS + KNEE_MS };
  for (let exact = 1; exact <= 300; exact = Math.max(exact * GRID, Math.round(exact) + 1)) {
    const limit = Math.round(exact);
    const run = runLoaded(world, limit, { untilMs: span.toMs, others: () => others }, random);
    const figures = loadFiguresOf(run, span);
    const power = Math.log((figures.tokensPerSec + tokensPerSec(run.others, span)) ** 2 / (limit + others));
    measured.push({ limit, ...figures, power });
    best = Math.max(best, power);
    if (power < best - 0.3) break;
  }
  const smooth = measured.map((_, at) => {
    const near = measured.slice(Math.max(0, at - 1), at + 2);
    return near.reduce((sum, { power }) => sum + power, 0) / near.length;
  });
  return measured[smooth.indexOf(Math.max(...smooth))] as Knee;
}
