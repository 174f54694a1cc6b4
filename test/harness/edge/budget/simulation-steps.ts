/**
 * What may happen in a {@link BudgetSimulation}, and what must hold after each step. Numbers a and b of a step choose among what there is.
 */
import { type Amounts, clamped } from "../../../../edge/domain/budget/amounts.ts";
import type { BudgetLimits } from "../../../../edge/domain/budget/limits.ts";
import { perMinute, RATE_NAMES } from "../../../../edge/domain/budget/rates.ts";
import type { BudgetSimulation } from "./simulation.ts";
import type { SimulatedCell } from "./simulation-parts.ts";

/** Requests, and the outcomes of calls: how often, and which. */
export const REQUEST_STEPS = [
  [8, "reserve"],
  [2, "expect"],
  [2, "slot"],
  [1, "withdraw"],
  [6, "settle"],
  [10, "deliver"],
  [3, "repeat"],
  [2, "lose"],
  [2, "giveUp"],
  [4, "wait"],
  [2, "checkpoint"],
  [1, "crashAuthority"],
  [1, "loseSight"],
  [1, "comeBack"],
  [1, "charge"],
] as const;

export const CLOCK_STEPS = [
  [1, "setCellClock"],
  [1, "setClock"],
] as const;

interface SimulationStep {
  readonly do: (typeof REQUEST_STEPS | typeof CLOCK_STEPS)[number][1];
  readonly a: number;
  readonly b: number;
}

export interface SimulationOptions {
  /** Requests may use more than they reserved. */
  readonly overuse: boolean;
  /** Term tokens and money are this many times as much. */
  readonly scale: number;
}

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const JUMPS_MS = [1, SECOND_MS, 60 * SECOND_MS, HOUR_MS, 24 * HOUR_MS, 400 * 24 * HOUR_MS].flatMap((ms) => [ms, -ms]);

function jumpOf(b: number): number {
  return JUMPS_MS[b % JUMPS_MS.length] ?? 0;
}

/** One of the items; undefined when there are none. */
function pick<T>(all: Iterable<T>, at: number): T | undefined {
  const list = [...all];
  return list[at % Math.max(1, list.length)];
}

function needOf({ scale }: SimulationOptions, b: number): Amounts {
  const tokens = 1 + (b % 120);
  const termTokens = clamped(tokens * scale);
  const nanoUsd = clamped(tokens * 3 * scale);
  return { bucketTokens: Math.min(tokens, 90), requests: 1, termTokens, nanoUsd };
}

function settle(world: BudgetSimulation, cell: SimulatedCell, { overuse, scale }: SimulationOptions, b: number): void {
  const live = pick(cell.live.values(), b);
  if (live === undefined) return;
  const factor = overuse ? (b % 5) / 2 : (b % 3) / 2;
  // What a request had drawn and was charged for already, it has used at least.
  const least = live.charged?.tokens ?? 0;
  const of = scale === 1 ? live.need.bucketTokens : live.need.termTokens;
  const tokens = Math.max(least, clamped(Math.floor(of * factor)));
  const dear = scale === 1 ? tokens * 3 : clamped(Math.floor(live.need.nanoUsd * factor));
  world.settle(cell, live.id, { tokens, nanoUsd: Math.max(live.charged?.nanoUsd ?? 0, dear) });
}

export function applyStep(
  world: BudgetSimulation,
  limits: BudgetLimits,
  { do: what, a, b }: SimulationStep,
  how: SimulationOptions,
): void {
  const cell = world.cell(a);
  const call = pick(world.calls, b);
  if (what === "reserve") world.reserve(cell, limits, needOf(how, b));
  else if (what === "expect") world.expect(cell, limits, needOf(how, b));
  else if (what === "slot") {
    const expected = pick(cell.expected.values(), b);
    if (expected !== undefined) world.reserve(cell, expected.limits, expected.need, expected);
  } else if (what === "withdraw")
    world.withdraw(cell, pick([...cell.expected.keys(), ...cell.waiting.keys()], b) ?? "");
  else if (what === "settle") settle(world, cell, how, b);
  else if (what === "wait") world.advance(a * 4);
  else if (what === "checkpoint") world.checkpoint();
  else if (what === "crashAuthority") world.crashAuthority();
  else if (what === "setClock") world.skewMs += jumpOf(b);
  else if (what === "setCellClock") cell.skewMs += jumpOf(b);
  else if (what === "loseSight") world.loseSight(cell, pick(cell.live.keys(), b) ?? "");
  else if (what === "charge") {
    if (how.overuse) world.charge(cell, limits, { tokens: b % 40, nanoUsd: (b % 40) * 3 });
  } else if (what === "comeBack") {
    const adrift = pick(world.adrift.values(), b);
    if (adrift !== undefined) world.comeBack(adrift);
  } else if (call !== undefined) {
    if (what === "deliver") world.deliver(call);
    else if (what === "repeat") world.process(call);
    else world.fail(call);
    if (what === "deliver" || what === "lose") world.calls = world.calls.filter((each) => each !== call);
  }
}

/** The cap that is passed by more than one request, and what requests used beyond what they had reserved; null: none is. */
export function passedCap(world: BudgetSimulation, limits: BudgetLimits): string | null {
  const { drawn, truth } = world;
  const taken = { tokens: Number(drawn.bucketTokens + truth.settled.bucketTokens), requests: truth.admitted };
  for (const owner of ["tenant", "key"] as const)
    for (const rate of RATE_NAMES) {
      const cap = perMinute(limits[owner], rate);
      const refilled = cap + (world.refilledMs * cap) / 60_000;
      if (cap > 0 && taken[rate] > refilled + 1e-6) return `${taken[rate]} of ${refilled} ${rate} of the ${owner}`;
    }
  const end = (cap: number) => BigInt(Math.max(cap, 1));
  for (const { tokens, nanoUsd } of [limits.tenant.term, limits.key.term]) {
    const { largest, overuse, settled } = truth;
    const usedTokens = drawn.termTokens + settled.termTokens - overuse.termTokens - largest.termTokens;
    const usedUsd = drawn.nanoUsd + settled.nanoUsd - overuse.nanoUsd - largest.nanoUsd;
    if (tokens !== null && usedTokens >= end(tokens)) return `${usedTokens} of ${tokens} tokens`;
    if (nanoUsd !== null && usedUsd >= end(nanoUsd)) return `${usedUsd} of ${nanoUsd} nano-USD`;
  }
  return null;
}

/**
 * Every request that lost contact comes back, all requests end, and everything is reported. Throws when a request waits for
 * ever.
 */
export function drainBudgets(world: BudgetSimulation): void {
  world.calm(30_000);
  for (const adrift of world.adrift.values()) world.comeBack(adrift);
  for (const cell of world.cells) {
    for (const id of cell.expected.keys()) world.withdraw(cell, id);
    for (const { id, need } of cell.live.values())
      world.settle(cell, id, { tokens: need.termTokens, nanoUsd: need.nanoUsd });
    if (cell.waiting.size > 0) throw new Error(`${cell.waiting.size} requests wait for ever`);
  }
  world.calm(30_000);
}
