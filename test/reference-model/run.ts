/** One run: rounds of random calls until the time is over, then every comparison. */
import { setTimeout as pause } from "node:timers/promises";
import { waitFor } from "../harness/wait-for.ts";
import { AlertLog } from "./alerts.ts";
import { Bench } from "./bench.ts";
import { compareAlerts, compareCaps, compareUsed } from "./compare-budgets.ts";
import { compareMetrics } from "./compare-metrics.ts";
import { compareRates } from "./compare-rates.ts";
import { compareReads, readRows } from "./compare-reads.ts";
import { compareAnswers, compareRows, type Matched, MISSING, type RowsFound } from "./compare-rows.ts";
import { diceOf } from "./dice.ts";
import type { Difference } from "./differences.ts";
import type { Call, Owner } from "./facts.ts";
import { type Parts, randomFault } from "./faults.ts";
import { explained, type WorkerLog } from "./missing-rows.ts";
import { type Clickhouse, compareRetention } from "./retention.ts";
import { cachedRound, cappedRound, faultRound, leaversRound, mixedRound, pricedRound, ratedRound } from "./rounds.ts";
import { sharesRound } from "./shares.ts";
import type { ModelUpstream } from "./upstream.ts";
import { ModelWorld } from "./world.ts";

interface RunOptions {
  readonly parts: Parts;
  readonly upstream: ModelUpstream;
  readonly clickhouse: Clickhouse;
  readonly log: WorkerLog;
  readonly seed: number;
  readonly minutes: number;
  readonly faults: boolean;
  /** The kinds of rounds. */
  readonly only: readonly RoundKind[];
  readonly say: (line: string) => void;
}

/** The kinds of rounds, in their order. Counters start again with the objects' process, so that is killed when they were compared. */
const CALM = ["cached", "mixed", "priced", "capped", "rated", "leavers", "shares"] as const;
const FAULTS = ["pause", "kill"] as const;
export const KINDS = [...CALM, ...FAULTS, "objects"] as const;
export type RoundKind = (typeof KINDS)[number];
const COUNTED_PART = 0.7;

const ALERTS_WITHIN_MS = 20_000;
const ROWS_WITHIN_MS = 60_000;
/** Rows of the last 20 s are left out of a check against the ledger (docs/rules/budgets.md#check-against-the-ledger). */
const CHECKED_AFTER_MS = 21_000;

export async function runModel(options: RunOptions): Promise<readonly Difference[]> {
  const { parts, upstream, seed, minutes, faults, say } = options;
  const { gateway, stack } = parts;
  const sinceMs = Date.now() - 1000;
  await gateway.must("PUT", "/settings/alerts", { min_interval_secs: 0 });
  const bench = new Bench(stack.proxyUrl, upstream);
  const alerts = new AlertLog();
  const worlds: ModelWorld[] = [];
  const later: Call[] = [];
  const ofShares: Difference[] = [];
  let count = 0;
  const rounds = async (kinds: readonly RoundKind[], untilMs: number): Promise<void> => {
    for (let at = 0; at < kinds.length || (kinds.length > 0 && Date.now() < untilMs); at += 1, count += 1) {
      const kind = kinds[at % kinds.length] as RoundKind;
      const name = `${seed}-${count}`;
      const dice = diceOf(seed).fork(count);
      const world = new ModelWorld(gateway, upstream.url, `model ${name}`);
      worlds.push(world);
      const round = { name, dice, bench, world };
      const before = bench.calls;
      let what: string = kind;
      if (kind === "mixed") await mixedRound(round);
      else if (kind === "priced") await pricedRound(round);
      else if (kind === "leavers") await leaversRound(round);
      else if (kind === "capped") await cappedRound(round);
      else if (kind === "rated") await ratedRound(round);
      else if (kind === "shares") ofShares.push(...(await sharesRound(round, gateway)));
      else if (kind === "cached") later.push(await cachedRound(round));
      else {
        const fault = randomFault(dice.fork(3), parts, bench, kind);
        what = fault.name;
        await faultRound(round, async () => await fault.run());
      }
      await alerts.collect(gateway);
      say(`round ${name}: ${what}, ${bench.calls - before} calls`);
    }
  };
  const fromMs = Date.now();
  const chosen = (kinds: readonly RoundKind[]): readonly RoundKind[] =>
    kinds.filter((kind) => options.only.includes(kind));
  const runMs = minutes * 60_000;
  await rounds(chosen(faults ? [...CALM, ...FAULTS] : CALM), fromMs + (faults ? COUNTED_PART : 1) * runMs);
  await settledRows(options, bench, sinceMs);
  const counters = await compareMetrics(stack.metricsUrl, await readRows(gateway, sinceMs));
  if (faults) await rounds(chosen(["objects", "mixed", "capped", "rated"]), fromMs + runMs);

  const found = await settledRows(options, bench, sinceMs);
  const tenants = worlds.flatMap((world) => world.tenants);
  const owners = [...tenants, ...worlds.flatMap((world) => world.keys)];
  const capped = owners.filter((owner) => owner.budgets.length > 0);
  const matched = async (): Promise<readonly Matched[]> =>
    compareRows(bench.done(), await readRows(gateway, sinceMs)).matched;
  const used = await compareUsed(gateway, owners, matched);
  const ofAlerts = await comparedAlerts(options, alerts, capped, found);
  const differences = [
    ...compareAnswers(bench.done()),
    ...found.differences,
    ...used,
    ...compareCaps(capped, found.matched),
    ...compareRates(
      tenants,
      worlds.flatMap((world) => world.keys),
      found.matched,
    ),
    ...ofAlerts,
    ...ofShares,
    ...(await compareReads(gateway, await readRows(gateway, sinceMs), sinceMs)),
    ...counters,
  ];
  say(`${bench.calls} calls, ${found.matched.filter(({ row }) => row !== null).length} rows compared`);
  const after = await afterResync(options, bench, later, sinceMs);
  const told = await explained(differences, await readRows(gateway, sinceMs), options.log, stack.metricsUrl);
  return [...told, ...after, ...(await retained(options))];
}

/** Alerts come some seconds after their cause. */
async function comparedAlerts(
  { parts }: RunOptions,
  alerts: AlertLog,
  owners: readonly Owner[],
  { matched }: RowsFound,
): Promise<readonly Difference[]> {
  const read = async () => {
    await alerts.collect(parts.gateway);
    return compareAlerts(owners, matched, alerts.times());
  };
  return await waitFor(read, (differences) => differences.length === 0, ALERTS_WITHIN_MS).catch(read);
}

/** The rows, once every call has those that it owes; else those that are there in the end. */
async function settledRows({ parts }: RunOptions, bench: Bench, sinceMs: number): Promise<RowsFound> {
  const read = async () => compareRows(bench.done(), await readRows(parts.gateway, sinceMs));
  const isMissing = ({ differences }: RowsFound): boolean => differences.some(({ what }) => what === MISSING);
  return await waitFor(read, (found) => !isMissing(found), ROWS_WITHIN_MS).catch(read);
}

/** A check against the ledger must change nothing: the same is used, and who is below the cap is served. */
async function afterResync(
  options: RunOptions,
  bench: Bench,
  calls: readonly Call[],
  sinceMs: number,
): Promise<readonly Difference[]> {
  const { gateway } = options.parts;
  const lastMs = Math.max(...bench.done().map(({ got }) => got.endMs));
  await pause(Math.max(0, lastMs + CHECKED_AFTER_MS - Date.now()));
  await gateway.must("POST", "/resync");
  for (const call of calls) await bench.call(call);
  const found = await settledRows(options, bench, sinceMs);
  const owners = calls.flatMap(({ key }) => (key === null ? [] : [key.tenant]));
  const used = await compareUsed(gateway, owners, async () => found.matched);
  const differences = [...used, ...compareCaps(owners, found.matched)];
  return differences.map((each) => ({ ...each, what: `${each.what}, after a check against the ledger` }));
}

async function retained({ parts, upstream, clickhouse, seed }: RunOptions): Promise<readonly Difference[]> {
  const world = new ModelWorld(parts.gateway, upstream.url, `model ${seed}-retention`);
  const key = await world.key(await world.tenant());
  return await compareRetention(parts.gateway, clickhouse, key, await world.model());
}
