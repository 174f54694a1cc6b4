/**
 * The adaptive capacity before servers that batch, drawn at random, and before servers that lie
 * (docs/rules/adaptive-capacity.md#figures).
 */
import { describe, expect, it } from "vitest";
import { AdaptiveLimit } from "../../../edge/domain/adaptive/adaptive-limit.ts";
import type { EndedCall } from "../../../edge/domain/adaptive/capacity-window.ts";
import { type Random, seededRandom } from "../random.ts";
import { printedSeed } from "../seed.ts";
import { drawnWorld } from "./batching-server.ts";
import { runLoaded } from "./loaded-world.ts";
import { BOUNDS, type MeasuredWorld, measuredWorld, worldSpreadOf } from "./measured-world.ts";
import { runStalling } from "./stalling-machine.ts";

const SEED = printedSeed("adaptive.test.ts");

function measuredWorlds(count: number, seed: number): readonly MeasuredWorld[] {
  return Array.from({ length: count }, (_, at) => measuredWorld(seed + 10 * at));
}

/** Prints the spread of each figure, so that a run says what was reached. */
function spreadsOf(worlds: readonly MeasuredWorld[]) {
  const measured = worlds.flatMap(({ phases }) => phases);
  const spreads = {
    throughput: worldSpreadOf(
      measured.map(({ throughput }) => throughput),
      0.95,
      1,
    ),
    firstToken: worldSpreadOf(
      measured.map(({ firstToken }) => firstToken),
      1.3,
      -1,
    ),
    shareError: worldSpreadOf(
      measured.map(({ shareError }) => shareError),
      0.05,
      -1,
    ),
  };
  process.stdout.write(`${worlds.length} worlds: ${JSON.stringify(spreads)}\n`);
  return spreads;
}

function expectLaws(worlds: readonly MeasuredWorld[]): void {
  expect(Math.max(...worlds.map(({ overCap }) => overCap))).toBeLessThanOrEqual(0);
  expect(worlds.filter(({ inOrder }) => !inOrder)).toEqual([]);
  const limits = worlds.flatMap(({ limits: of }) => of);
  expect(Math.min(...limits)).toBeGreaterThanOrEqual(BOUNDS.min);
  expect(Math.max(...limits)).toBeLessThanOrEqual(BOUNDS.max);
}

describe("an adaptive capacity before a server that batches", () => {
  // Always the same ones: how near it comes is a matter of many worlds, which are drawn at length.
  it("comes near the knee in 4 worlds, and keeps shares, caps and order", () => {
    const worlds = measuredWorlds(4, 1);
    expectLaws(worlds);
    const { throughput, shareError } = spreadsOf(worlds);
    expect(throughput.median).toBeGreaterThanOrEqual(0.9);
    expect(throughput.worst).toBeGreaterThanOrEqual(0.4);
    expect(shareError.median).toBeLessThanOrEqual(0.05);
  });

  it("comes near the knee in most of 250 random worlds", { tags: ["long"], timeout: 3_600_000 }, () => {
    const worlds = measuredWorlds(250, SEED);
    expectLaws(worlds);
    const { throughput, firstToken, shareError } = spreadsOf(worlds);
    expect(throughput.median).toBeGreaterThanOrEqual(0.95);
    expect(throughput.p5).toBeGreaterThanOrEqual(0.7);
    expect(firstToken.median).toBeLessThanOrEqual(1.5);
    expect(shareError.median).toBeLessThanOrEqual(0.05);
  });
});

describe("an adaptive capacity on a machine that stalls", () => {
  const PLAN = { knee: 8, serviceMs: 200, clients: 32, turnMs: 100, drift: 2, untilMs: 120_000 };
  const RUNS = 80;

  it("comes near the knee within a minute and stays there, most of the time", { tags: ["check"] }, () => {
    const later = Array.from({ length: RUNS }, (_, run) =>
      runStalling(new AdaptiveLimit({ min: 2, max: 64 }, null, 0), PLAN, seededRandom(SEED + run)),
    ).flatMap((turns) => turns.filter(({ atMs }) => atMs > 60_000));
    // Stalls keep slots in use while the upstream has nothing to do, so the knee is at a few more of them.
    const near = later.filter(({ capacity }) => capacity >= 6 && capacity <= 12).length / later.length;
    process.stdout.write(`near the knee for ${near.toFixed(2)} of the time\n`);
    expect(near).toBeGreaterThanOrEqual(0.6);
  });
});

describe("an adaptive capacity before a server that lies", () => {
  const LIES: Readonly<Record<string, (call: EndedCall, random: Random) => Partial<EndedCall>>> = {
    "constant delays": () => ({ upstreamMs: 1_000, ttftMs: 100, outputTokens: 100 }),
    "random delays": (_call, random) => ({ upstreamMs: random.gap(1_000), ttftMs: random.gap(100) }),
    "only refusals": () => ({ upstreamMs: 5, ttftMs: 0, outcome: "refused" }),
    "no delay": () => ({ upstreamMs: 0, ttftMs: 0 }),
  };
  const UNTIL_MS = 120_000;

  it.each(Object.keys(LIES))("keeps its bounds and does not swing with %s", { tags: ["check"] }, (name) => {
    const lie = LIES[name];
    const random = seededRandom(SEED);
    const limit = new AdaptiveLimit({ min: 16, max: 64 }, null, 0);
    const { changes, overCap } = runLoaded(
      drawnWorld(random),
      limit,
      { untilMs: UNTIL_MS, others: () => 0, told: (call) => ({ ...call, ...lie?.(call, random) }) },
      random,
    );
    expect(overCap).toBeLessThanOrEqual(0);
    const late = [
      limit.limit,
      ...changes.filter(({ atMs }) => atMs > UNTIL_MS / 2).flatMap(({ from, to }) => [from, to]),
    ];
    const [least, most] = [Math.min(...late), Math.max(...late)];
    expect({ least: least >= 16, most: most <= 64 }).toEqual({ least: true, most: true });
    expect(Math.log(most / least)).toBeLessThanOrEqual(0.1 + 1 / most);
  });
});
