/**
 * The laws of budgets over the calls of an owner: what is used, who is served and who is refused, and which alerts come
 * (docs/rules/budgets.md). Each owner with caps has one client, which sends one call after another.
 */
import type { Gateway } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";
import { errorCodeOf } from "./calculator.ts";
import type { Matched } from "./compare-rows.ts";
import type { Difference } from "./differences.ts";
import type { Budget, Owner } from "./facts.ts";
import { estimateOf } from "./tokens.ts";

const WARN = 0.8;
/** Money is counted in nano-USD, each charge separately. */
const nanoUsd = (calls: number): number => 1e-9 * (1 + calls);
/** What ended is reported within 10 s; what a dead Cell held is read from the ledger after 35 s and its lease's end. */
const SETTLED_WITHIN_MS = 90_000;

const isOf = (owner: Owner, { done }: Matched): boolean =>
  owner.kind === "key" ? done.call.key?.id === owner.id : done.call.key?.tenant.id === owner.id;

const sum = <T>(calls: readonly T[], of: (call: T) => number): number =>
  calls.reduce((total, each) => total + of(each), 0);
const ofPeriod = (owner: Owner, calls: readonly Matched[]): readonly Matched[] => {
  const current = owner.budgets.findLast(({ period }, at, all) => period !== (all[at - 1]?.period ?? 0));
  return calls.filter((each) => isOf(owner, each) && each.done.got.startMs >= (current?.atMs ?? 0));
};

/**
 * The usage that the gateway shows, once it is what the calls owe; else the last that was shown. `calls` reads the rows again: those
 * of calls that a fault disturbed may come late.
 */
export async function compareUsed(
  gateway: Gateway,
  owners: readonly Owner[],
  calls: () => Promise<readonly Matched[]>,
  deadlineMs = SETTLED_WITHIN_MS,
): Promise<readonly Difference[]> {
  const until = Date.now() + deadlineMs;
  const first = await calls();
  const unsettled: Owner[] = [];
  for (const owner of owners) {
    const isRight = async (): Promise<boolean> => (await comparedUse(gateway, owner, first)).length === 0;
    const settled = waitFor(isRight, (right) => right, Math.max(0, until - Date.now()));
    await settled.catch(() => unsettled.push(owner));
  }
  if (unsettled.length === 0) return [];
  const last = await calls();
  return (await Promise.all(unsettled.map(async (owner) => await comparedUse(gateway, owner, last)))).flat();
}

async function comparedUse(gateway: Gateway, owner: Owner, calls: readonly Matched[]): Promise<readonly Difference[]> {
  const own = ofPeriod(owner, calls);
  const used = { tokens: sum(own, ({ tokens }) => tokens), costUsd: sum(own, ({ costUsd }) => costUsd) };
  const path = `/${owner.kind}s/${owner.id}/budget/usage`;
  const shown = await gateway.must<Readonly<Record<string, number>>>("GET", path);
  const found = { tokens: shown["used_tokens"] ?? 0, costUsd: shown["used_cost_usd"] ?? 0 };
  const isRight = found.tokens === used.tokens && Math.abs(found.costUsd - used.costUsd) <= nanoUsd(own.length);
  const more = `${owner.kind} ${owner.id}, ${own.length} calls, budgets ${JSON.stringify(owner.budgets)}\n  shown: ${JSON.stringify(shown)}`;
  const state = stateOf(owner.budgets.at(-1)?.budget, found);
  const story = own.map(({ done, row, tokens }) => `${done.call.id}${row === null ? " without a row" : ""}: ${tokens}`);
  return [
    ...(isRight
      ? []
      : [
          {
            what: `budget: used of a ${owner.kind}`,
            expected: used,
            found,
            done: own.at(-1)?.done,
            more: `${more}\n  calls: ${story.join(", ")}`,
          },
        ]),
    ...(state === String(shown["state"])
      ? []
      : [{ what: `budget: state of a ${owner.kind}`, expected: state, found: shown["state"], more }]),
  ];
}

interface Used {
  readonly tokens: number;
  readonly costUsd: number;
}

/** Null: no cap. A cap of 0 is used up. */
function ratioOf(budget: Budget | undefined, used: Used): number | null {
  const of = (cap: number | null | undefined, part: number): readonly number[] =>
    cap === null || cap === undefined ? [] : [cap === 0 ? 1 : part / cap];
  const ratios = [...of(budget?.tokens, used.tokens), ...of(budget?.costUsd, used.costUsd)];
  return ratios.length === 0 ? null : Math.max(...ratios);
}

function stateOf(budget: Budget | undefined, used: Used): string {
  const ratio = ratioOf(budget, used);
  return ratio === null ? "none" : ratio >= 1 ? "exhausted" : ratio >= WARN ? "warned" : "ok";
}

/** One thing after another that happened to an owner with caps. */
type Event = { readonly budget: Owner["budgets"][number] } | { readonly call: Matched };

function eventsOf(owner: Owner, calls: readonly Matched[]): readonly Event[] {
  const own = calls.filter((each) => isOf(owner, each));
  const events: { readonly atMs: number; readonly event: Event }[] = [
    ...owner.budgets.map((budget) => ({ atMs: budget.atMs, event: { budget } })),
    ...own.map((call) => ({ atMs: call.done.got.startMs, event: { call } })),
  ];
  return events.toSorted((one, two) => one.atMs - two.atMs).map(({ event }) => event);
}

/** What a call has used. */
interface Use extends Used {
  readonly endMs: number;
  /** What is reserved for it while it runs. */
  readonly reserved: Used;
}

function useOf({ tokens, costUsd, done }: Matched): Use {
  const part = tokens === 0 ? 1 : Math.max(1, estimateOf(done.call).total / tokens);
  return { tokens, costUsd, endMs: done.got.endMs, reserved: { tokens: tokens * part, costUsd: costUsd * part } };
}

const totalOf = (uses: readonly Used[]): Used => ({
  tokens: sum(uses, ({ tokens }) => tokens),
  costUsd: sum(uses, ({ costUsd }) => costUsd),
});

/** What those that ended before this time have used. */
function usedBefore(uses: readonly Use[], atMs: number): Used {
  return totalOf(uses.filter(({ endMs }) => endMs < atMs));
}

/** How long after its answer a call may be settled. */
const SETTLED_MS = 200;
/** Until then the reservation of the call just before may refuse: it is settled, and a refusal applies for 250 ms more. */
const RESERVED_MS = SETTLED_MS + 250;

/**
 * Nobody is served when the cap was reached before, and nobody is refused before that. The end of the call just before, and of those
 * that ended a moment ago, may still be on its way: they count as running, and who was running when the cap was reached may pass it.
 */
export function compareCaps(owners: readonly Owner[], calls: readonly Matched[]): readonly Difference[] {
  return owners.flatMap((owner) => {
    const differences: Difference[] = [];
    let [budget, period, uses, last]: [Budget | undefined, number, Use[], Use | null] = [undefined, 0, [], null];
    for (const event of eventsOf(owner, calls)) {
      if ("budget" in event) {
        if (event.budget.period !== period) [uses, last] = [[], null];
        ({ budget, period } = event.budget);
        continue;
      }
      const { done } = event.call;
      const isRefused = errorCodeOf(done) === `${owner.kind}_budget_exhausted`;
      const isServed = done.served.length > 0;
      const used = usedBefore(uses, Infinity);
      const settled = usedBefore(
        uses.filter((use) => use !== last),
        done.got.startMs - SETTLED_MS,
      );
      const isHeld = (use: Use): boolean => use === last && use.endMs > done.got.startMs - RESERVED_MS;
      const reserved = totalOf(uses.map((use) => (isHeld(use) ? use.reserved : use)));
      const more = `${owner.kind} ${owner.id}: used ${JSON.stringify(used)} of ${JSON.stringify(budget)} before this call`;
      if (isServed && (ratioOf(budget, settled) ?? 0) >= 1)
        differences.push({
          what: `budget: served beyond the cap of a ${owner.kind}`,
          expected: 403,
          found: done.got.status,
          done,
          more,
        });
      if (isRefused && (ratioOf(budget, reserved) ?? 0) < 1)
        differences.push({
          what: `budget: refused below the cap of a ${owner.kind}`,
          expected: "served",
          found: done.got.status,
          done,
          more,
        });
      const use = useOf(event.call);
      if (isServed) last = use;
      uses.push(use);
    }
    return differences;
  });
}

/**
 * Near a limit a Cell reports use within 1 s (docs/rules/budgets.md#leases), and the report has a way to go. A cap that is changed
 * before that may be compared with less than what was used.
 */
const REPORTED_MS = 2_000;

/** How often each alert of a budget must have been raised, at least and at most. */
function owedAlerts(owner: Owner, calls: readonly Matched[]): ReadonlyMap<string, { min: number; max: number }> {
  const prefix = owner.kind === "key" ? "key_term_budget" : "term_budget";
  const [warn, exhausted] = [`${prefix}_warn:${owner.id}`, `${prefix}_exhausted:${owner.id}`];
  const owed = new Map([warn, exhausted].map((key) => [key, { min: 0, max: 0 }]));
  const raise = (key: string, min: number): void => {
    const counted = owed.get(key) as { min: number; max: number };
    counted.min += min;
    counted.max += 1;
  };
  let [budget, period, uses]: [Budget | undefined, number, Use[]] = [undefined, 0, []];
  let [isWarned, isExhausted] = [false, false];
  for (const event of eventsOf(owner, calls)) {
    let [isRaised, isReported] = [false, true];
    if ("budget" in event) {
      const next = event.budget;
      if (next.period !== period) [uses, isWarned, isExhausted] = [[], false, false];
      const used = usedBefore(uses, Infinity);
      const [was, is] = [ratioOf(budget, used) ?? 0, ratioOf(next.budget, used) ?? 0];
      const known = ratioOf(next.budget, usedBefore(uses, next.atMs - REPORTED_MS)) ?? 0;
      isRaised = (is < was || known < Math.min(1, is)) && is >= WARN;
      // the cap was above what was known to be used, and what comes after that reaches it again
      if (isExhausted && is >= 1 && known < 1) raise(exhausted, 0);
      if (is < 1) isExhausted = false;
      if (is < WARN) isWarned = false;
      ({ budget, period } = next);
    } else {
      const { done } = event.call;
      uses.push(useOf(event.call));
      const reportedMs = done.got.endMs + REPORTED_MS;
      isReported = !owner.budgets.some(({ atMs }) => atMs > done.got.startMs && atMs < reportedMs);
    }
    const ratio = ratioOf(budget, usedBefore(uses, Infinity)) ?? 0;
    const least = isReported ? 1 : 0;
    if (ratio >= 1 && !isExhausted) {
      raise(exhausted, least);
      // what goes from below 80 % to the cap at once need not warn first
      if (!isWarned) raise(warn, 0);
      [isWarned, isExhausted] = [true, true];
    } else if (ratio >= WARN && !isWarned) {
      raise(warn, least);
      isWarned = true;
    } else if (isRaised) raise(warn, 0);
  }
  return owed;
}

/** Compares the alerts of budgets with how often they were raised. */
export function compareAlerts(
  owners: readonly Owner[],
  calls: readonly Matched[],
  raised: ReadonlyMap<string, number>,
): readonly Difference[] {
  return owners.flatMap((owner) =>
    [...owedAlerts(owner, calls)].flatMap(([key, { min, max }]) => {
      const times = raised.get(key) ?? 0;
      if (times >= min && times <= max) return [];
      const story = eventsOf(owner, calls).map((event) =>
        "budget" in event
          ? `cap ${JSON.stringify(event.budget.budget)}${event.budget.period > 0 ? ` of period ${event.budget.period}` : ""}`
          : event.call.tokens,
      );
      return [
        {
          what: `alert: ${key.split(":")[0]}`,
          expected: min === max ? min : { min, max },
          found: times,
          more: `${key}: ${story.join(", ")}`,
        },
      ];
    }),
  );
}
