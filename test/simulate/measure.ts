/**
 * What a run says: shares, waits, utilisation, Jain index and the time to converge. Weighted runs are measured in served
 * tokens, hierarchical ones in slots, which is what each policy shares out.
 */
import { type Run, WINDOW_MS, type Window } from "./run.ts";
import type { Scenario, TenantPlan } from "./scenarios.ts";

/** Windows in which the measured share is averaged, so that single long requests do not hide the trend. */
const AVERAGED_WINDOWS = 5;
const TOLERANCE = 0.1;

export interface Row {
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
  /** Slot-time used / slot-time there was. */
  readonly utilisation: number;
  /** Jain index over what each tenant that always asks got of what it was entitled to; 1 is perfectly fair. */
  readonly jain: number;
  /** From the join until every set stays within 10 % of its entitlement; null when it never does or when somebody does not always ask. */
  readonly convergeMs: number | null;
  readonly leftQueued: number;
}

/** The figures of a run. */
export function measure(scenario: Scenario, run: Run): Report {
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
    jain: jainIndex(
      scenario.tenants.flatMap((plan, at) =>
        alwaysAsks(plan) && (due[at] ?? 0) > 0 ? [(got[at] ?? 0) / (due[at] ?? 1)] : [],
      ),
    ),
    convergeMs: scenario.tenants.every(alwaysAsks) ? convergence(scenario, run.windows, amounts) : null,
    leftQueued: run.leftQueued,
  };
}

/** (sum x)^2 / (n sum x^2). */
export function jainIndex(values: readonly number[]): number {
  const squares = sum(values.map((value) => value * value));
  return squares === 0 ? 1 : sum(values) ** 2 / (values.length * squares);
}

/** Nearest-rank percentile of ascending values; 0 of none. */
export function percentile(ascending: readonly number[], fraction: number): number {
  return ascending[Math.max(0, Math.ceil(fraction * ascending.length) - 1)] ?? 0;
}

/** Only who always asks can be given its whole entitlement. */
function alwaysAsks(plan: TenantPlan): boolean {
  return plan.source.kind !== "stream";
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
    return [...due].every(([set, amount]) => Math.abs((got.get(set) ?? 0) - amount) <= TOLERANCE * amount);
  };
  const first = after.findIndex((_, at) => at + AVERAGED_WINDOWS <= after.length && within(at));
  return first < 0 ? null : (after[first]?.endMs ?? 0) - scenario.joinMs;
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
