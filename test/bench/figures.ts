/**
 * The figures of one load, from its samples: target by target, compared with the upstream alone and with the bare Worker.
 * Pure.
 */
import { latencies, type Percentiles } from "./histogram.ts";
import type { TargetName } from "./loads.ts";
import type { Sample } from "./measure.ts";
import { type ByRound, ratioOf, type Spread, spreadOf } from "./spread.ts";

export type Figures = ReturnType<typeof figuresOf>;

const less = (a: Percentiles, b: Percentiles): Percentiles => ({
  p50: a.p50 - b.p50,
  p99: a.p99 - b.p99,
  p999: a.p999 - b.p999,
  max: a.max - b.max,
});

const rate = ({ result }: Sample): number => (1000 * result.endedWell) / result.elapsedMs;
const measured = (samples: readonly Sample[], target: TargetName): readonly Sample[] =>
  samples.filter((sample) => sample.target === target && sample.round >= 0);
const rates = (samples: readonly Sample[], target: TargetName): ByRound =>
  new Map(measured(samples, target).map((sample) => [sample.round, rate(sample)]));

function percentilesOf(samples: readonly Sample[], list: "firstMs" | "addedGapMs"): Percentiles | null {
  const lists = samples.map(({ result }) => result[list]).filter((values) => values.length > 0);
  return lists.length === 0 ? null : latencies(lists).seen;
}

function failuresOf(samples: readonly Sample[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const { result } of samples)
    for (const [what, count] of Object.entries(result.failures)) all[what] = (all[what] ?? 0) + count;
  return all;
}

function medians(samples: readonly Sample[]): ByRound {
  return new Map(samples.map(({ round, result }) => [round, latencies([result.latencyMs]).seen.p50]));
}

function cpuTimes(samples: readonly Sample[]): ByRound {
  return new Map(
    samples.flatMap(({ round, cpuMs, result }) =>
      cpuMs === null || result.sent === 0 ? [] : [[round, cpuMs / result.sent] as const],
    ),
  );
}

/** Values of the first minus values of the second, round by round. */
function above(over: ByRound, under: ByRound): Spread | null {
  return spreadOf(
    [...over].flatMap(([round, value]) => value - (under.get(round) ?? Number.NaN)).filter(Number.isFinite),
  );
}

/** The figures of one target; `samples` are all samples of the load. */
export function figuresOf(samples: readonly Sample[], target: TargetName) {
  const own = measured(samples, target);
  const direct = measured(samples, "direct");
  const { seen, corrected } = latencies(own.map(({ result }) => result.latencyMs));
  const alone = latencies(direct.map(({ result }) => result.latencyMs)).seen;
  const [first, firstAlone] = [percentilesOf(own, "firstMs"), percentilesOf(direct, "firstMs")];
  const ownRates = rates(samples, target);
  const cpu = (of: "cpuMs" | "besideCpuMs"): Spread | null =>
    spreadOf(own.flatMap(({ [of]: ms, result }) => (ms === null || result.sent === 0 ? [] : [ms / result.sent])));
  const peaks = own.flatMap(({ peakMb }) => (peakMb === null ? [] : [peakMb]));
  const timed = own.filter(({ load }) => load.reading === "timed-stream");
  const everything = samples.filter((sample) => sample.target === target);
  return {
    target,
    rounds: own.length,
    sent: everything.reduce((sum, { result }) => sum + result.sent, 0),
    failures: failuresOf(everything),
    /** Requests per second. */
    rps: spreadOf([...ownRates.values()]),
    /** Throughput / that of the bare Worker in the same round. */
    overFloor: ratioOf(ownRates, rates(samples, "floor")),
    overPeer: ratioOf(ownRates, rates(samples, "peer")),
    /** Throughput / that of the gateway in one process, through its front. */
    overFront: ratioOf(ownRates, rates(samples, "front")),
    latencyMs: seen,
    correctedMs: corrected,
    /** Percentiles minus those of the upstream alone. */
    addedMs: target === "direct" || direct.length === 0 ? null : less(seen, alone),
    /** The added p50, round by round. */
    addedP50Ms: target === "direct" ? null : above(medians(own), medians(direct)),
    firstMs: first,
    addedFirstMs: target === "direct" || first === null || firstAlone === null ? null : less(first, firstAlone),
    gapMs: percentilesOf(own, "addedGapMs"),
    longestGapMs: timed.length === 0 ? null : Math.max(...timed.map(({ result }) => result.longestGapMs)),
    cpuMsPerRequest: cpu("cpuMs"),
    /** CPU time of a request / that of the gateway for a tenant without policies, in the same round. */
    cpuOverGoverned: ratioOf(cpuTimes(own), cpuTimes(measured(samples, "governed"))),
    /** CPU time of the other processes: control service and stores. */
    besideCpuMsPerRequest: cpu("besideCpuMs"),
    peakMb: peaks.length === 0 ? null : Math.max(...peaks),
    /** The peak in the first turn only: later turns find memory that it left behind. */
    firstPeakMb: own[0]?.peakMb ?? null,
  };
}
