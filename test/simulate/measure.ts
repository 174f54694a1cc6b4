/**
 * The figures of a run: shares, waits, utilisation, Jain index and the time to converge. Weighted runs are measured in
 * served tokens, hierarchical ones in slots, because that is what each policy shares out.
 */
import { type ShareRun, WINDOW_MS, type Window } from "./run.ts";
import type { Scenario, TenantPlan } from "./scenarios.ts";

/** Not measured: the first tenant finds every slot free, which has nothing to do with sharing. */
const WARM_UP_WINDOWS = 2;
/** The measured share is averaged over this many windows, so that single long requests do not hide the trend. */
const AVERAGED_WINDOWS = 5;
const TOLERANCE = 0.1;

interface Row {
  readonly id: string;
  readonly requests: number;
  readonly share: number;
  readonly entitled: number;
  readonly waitP50Ms: number;
  readonly waitP99Ms: number;
}

export interface Report {
  readonly tenants: readonly Row[];
  readonly sets: readonly Omit<Row, "waitP50Ms" | "waitP99Ms">[];
  /** Slot time used / slot time available. */
  readonly utilisation: number;
  /**
   * Jain index over the ratio of what each tenant that always has requests waiting got to what it was entitled to, in what
   * the policy shares out among them (see {@link fairness}); 1 is perfectly fair.
   */
  readonly jain: number;
  /**
   * The time from the join to the start of the first span of five seconds from which on, in all spans, every set is within
   * 10 % of its entitlement or within one request. Null: that never happens. "unasked": a tenant does not always have
   * requests waiting, so it cannot be given its share.
   */
  readonly convergeMs: number | null | "unasked";
  readonly leftQueued: number;
}

export function measure(scenario: Scenario, run: ShareRun): Report {
  const amounts = (window: Window): ReadonlyMap<string, number> =>
    scenario.algorithm === "weighted" ? window.tokens : window.held;
  const ids = scenario.tenants.map((plan) => plan.id);
  const got = ids.map((id) => sum(run.windows.map((window) => amounts(window).get(id) ?? 0)));
  const total = sum(got);
  const due = ids.map((id) =>
    sum(run.windows.map((window) => (window.entitled.get(id) ?? 0) * sum([...amounts(window).values()]))),
  );
  const tenants = ids.map((id, at): Row => {
    const waits = (run.waits.get(id) ?? []).toSorted((a, b) => a - b);
    return {
      id,
      requests: waits.length,
      share: ratio(got[at] ?? 0, total),
      entitled: ratio(due[at] ?? 0, total),
      waitP50Ms: percentile(waits, 0.5),
      waitP99Ms: percentile(waits, 0.99),
    };
  });
  const sets = [...new Set(scenario.tenants.map((plan) => plan.set))].map((set) => {
    const rows = tenants.filter((_, at) => scenario.tenants[at]?.set === set);
    return {
      id: set,
      requests: sum(rows.map((row) => row.requests)),
      share: sum(rows.map((row) => row.share)),
      entitled: sum(rows.map((row) => row.entitled)),
    };
  });
  const heldMs = sum(run.windows.map((window) => sum([...window.held.values()])));
  return {
    tenants,
    sets,
    utilisation: heldMs / (scenario.slots * run.windows.length * WINDOW_MS),
    jain: jainIndex(fairness(scenario, run.windows.slice(WARM_UP_WINDOWS))),
    convergeMs: scenario.tenants.every(alwaysAsks) ? convergence(scenario, run.windows, amounts) : "unasked",
    leftQueued: run.leftQueued,
  };
}

/** (sum x)^2 / (n sum x^2). */
export function jainIndex(values: readonly number[]): number {
  const squares = sum(values.map((value) => value * value));
  return squares === 0 ? 1 : sum(values) ** 2 / (values.length * squares);
}

/** The nearest-rank percentile of ascending values; 0 when there are none. */
export function percentile(ascending: readonly number[], fraction: number): number {
  return ascending[Math.max(0, Math.ceil(fraction * ascending.length) - 1)] ?? 0;
}

/** Only a tenant that always has requests waiting can be given its whole entitlement. */
function alwaysAsks(plan: TenantPlan): boolean {
  return plan.source.kind === "backlog" || plan.source.kind === "burst";
}

/**
 * What each tenant that always has requests waiting got / what it was due. Weighted: of all served tokens. Hierarchical: of
 * all slots, while its group has a slot for each of its tenants; otherwise the tenants take turns, and share the group's
 * served tokens.
 */
function fairness(scenario: Scenario, windows: readonly Window[]): readonly number[] {
  const groupOf = new Map(scenario.tenants.map((plan) => [plan.id, plan.group]));
  return scenario.tenants.filter(alwaysAsks).flatMap(({ id, group }) => {
    let got = 0;
    let due = 0;
    for (const { held, tokens, entitled } of windows) {
      const own = entitled.get(id);
      if (own === undefined) continue;
      const rivals = [...entitled.keys()].filter((rival) => groupOf.get(rival) === group);
      const shareOfGroup = sum(rivals.map((rival) => entitled.get(rival) ?? 0));
      const turns = rivals.length > Math.round(shareOfGroup * scenario.slots);
      if (scenario.algorithm === "hierarchical" && !turns) {
        got += held.get(id) ?? 0;
        due += own * sum([...held.values()]);
        continue;
      }
      // One run never measures the same tenant both in slots and in tokens, because the numbers of tenants and slots do not
      // change.
      const everybody = scenario.algorithm === "weighted" ? [...tokens.keys()] : rivals;
      got += tokens.get(id) ?? 0;
      due +=
        (own / (scenario.algorithm === "weighted" ? 1 : shareOfGroup)) *
        sum(everybody.map((rival) => tokens.get(rival) ?? 0));
    }
    return due > 0 ? [got / due] : [];
  });
}

function convergence(
  scenario: Scenario,
  windows: readonly Window[],
  amounts: (window: Window) => ReadonlyMap<string, number>,
): number | null {
  const setOf = new Map(scenario.tenants.map((plan) => [plan.id, plan.set]));
  const after = windows.filter((window) => window.endMs > scenario.joinMs);
  const within = (at: number): boolean => {
    const span = after.slice(at, at + AVERAGED_WINDOWS);
    const got = new Map<string, number>();
    const due = new Map<string, number>();
    for (const window of span) {
      const all = sum([...amounts(window).values()]);
      for (const [id, set] of setOf) {
        got.set(set, (got.get(set) ?? 0) + (amounts(window).get(id) ?? 0));
        due.set(set, (due.get(set) ?? 0) + (window.entitled.get(id) ?? 0) * all);
      }
    }
    return [...due].every(
      ([set, amount]) =>
        Math.abs((got.get(set) ?? 0) - amount) <= Math.max(TOLERANCE * amount, largestRequest(scenario, set)),
    );
  };
  const spans = after.slice(0, 1 - AVERAGED_WINDOWS).map((_, at) => within(at));
  const first = spans.lastIndexOf(false) + 1;
  return first >= spans.length ? null : (after[first]?.endMs ?? 0) - scenario.joinMs;
}

/** A tenant cannot be nearer to its share than one request. */
function largestRequest(scenario: Scenario, set: string): number {
  return Math.max(
    ...scenario.tenants
      .filter((plan) => plan.set === set)
      .map((plan) => (scenario.algorithm === "weighted" ? plan.tokens[1] : plan.serviceMs[1])),
  );
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
