/**
 * One random world, measured (docs/rules/adaptive-capacity.md#figures): the adaptive capacity against the knee of the server, alone,
 * while another load is there, and after it has gone; each from 60 s after the change.
 */
import { AdaptiveLimit } from "../../../edge/domain/adaptive/adaptive-limit.ts";
import { seededRandom } from "../random.ts";
import { drawnWorld } from "./batching-server.ts";
import { kneeOf, loadFiguresOf, runLoaded, type Span, WEIGHTS } from "./loaded-world.ts";

const PHASE_MS = 120_000;
const SETTLE_MS = 60_000;
const PHASES = ["alone", "with others", "alone again"] as const;
export const BOUNDS = { min: 1, max: 256 };

interface MeasuredPhase {
  readonly phase: (typeof PHASES)[number];
  /** Throughput by that at the knee. */
  readonly throughput: number;
  /** p95 of the time to the first token by that at the knee. */
  readonly firstToken: number;
  /** How far the share of a tenant was from its weight, at most, as a part of it. */
  readonly shareError: number;
}

export interface MeasuredWorld {
  readonly phases: readonly MeasuredPhase[];
  readonly overCap: number;
  readonly inOrder: boolean;
  readonly limits: readonly number[];
}

export function measuredWorld(seed: number): MeasuredWorld {
  const world = drawnWorld(seededRandom(seed));
  const alone = kneeOf(world, 0, seededRandom(seed + 1));
  const others = Math.round(alone.limit * (0.3 + 0.4 * seededRandom(seed + 2).next()));
  const crowded = kneeOf(world, others, seededRandom(seed + 3));
  const run = runLoaded(
    world,
    new AdaptiveLimit(BOUNDS, null, 0),
    {
      untilMs: PHASES.length * PHASE_MS,
      others: (nowMs) => (nowMs >= PHASE_MS && nowMs < 2 * PHASE_MS ? others : 0),
    },
    seededRandom(seed + 4),
  );
  const phases = PHASES.map((phase, at): MeasuredPhase => {
    const span = { fromMs: at * PHASE_MS + SETTLE_MS, toMs: (at + 1) * PHASE_MS };
    const knee = phase === "with others" ? crowded : alone;
    const { tokensPerSec, ttftP95Ms } = loadFiguresOf(run, span);
    return {
      phase,
      throughput: tokensPerSec / knee.tokensPerSec,
      firstToken: ttftP95Ms / knee.ttftP95Ms,
      shareError: shareErrorOf(run.ended, span),
    };
  });
  return { phases, overCap: run.overCap, inOrder: run.inOrder, limits: run.changes.map(({ to }) => to) };
}

function shareErrorOf(ended: ReturnType<typeof runLoaded>["ended"], { fromMs, toMs }: Span): number {
  const served = WEIGHTS.map(() => 0);
  for (const { endedMs, tenant, tokens } of ended)
    if (endedMs >= fromMs && endedMs < toMs) served[tenant] = (served[tenant] ?? 0) + tokens;
  const total = served.reduce((sum, tokens) => sum + tokens, 0);
  const weights = WEIGHTS.reduce<number>((sum, weight) => sum + weight, 0);
  return Math.max(...WEIGHTS.map((weight, at) => Math.abs(((served[at] ?? 0) / total / weight) * weights - 1)));
}

interface Spread {
  readonly median: number;
  readonly p5: number;
  readonly p95: number;
  readonly worst: number;
  /** The part of the worlds that reach the target. */
  readonly reached: number;
}

/** `isBetter` -1: smaller is better. */
export function worldSpreadOf(values: readonly number[], target: number, isBetter: 1 | -1): Spread {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
  return {
    median: at(0.5),
    p5: at(0.05),
    p95: at(0.95),
    worst: isBetter > 0 ? at(0) : at(1),
    reached: values.filter((value) => isBetter * (value - target) >= 0).length / values.length,
  };
}
