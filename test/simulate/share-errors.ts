/**
 * How far the scheduler's shares are from weighted max-min fairness (max-min.ts), load by load, in both modes. Every tenant
 * has more demand than it can get, for ten minutes of simulated time.
 */
import { markdownTable } from "../harness/text-table.ts";
import { type Claim, maxMinShares } from "./max-min.ts";
import { runScenario } from "./run.ts";
import type { Scenario, TenantPlan } from "./scenarios.ts";

const ALGORITHMS = ["weighted", "hierarchical"] as const;
type Algorithm = (typeof ALGORITHMS)[number];

const END_MS = 600_000;
/** Not measured: the first tenant finds every slot free. */
const WARM_UP_MS = 30_000;

/** A load, and the cell that serves it. */
interface ShareLoad {
  readonly title: string;
  readonly slots: number;
  readonly models?: Readonly<Record<string, number>>;
  readonly tenants: readonly TenantPlan[];
}

/** The errors |got / due - 1| of the tenants, of one load in one mode. */
interface ShareError {
  readonly mean: number;
  readonly worst: number;
}

type Given = Partial<Omit<TenantPlan, "id" | "set" | "source">>;

/** Tenants of groups, each with a weight: `[group, group weight, weight, ...]`. */
function tenantsOf(
  members: readonly (readonly [group: string, groupWeight: number, weight: number, given?: Given])[],
  all: Given = {},
): readonly TenantPlan[] {
  return members.map(([group, groupWeight, weight, given], at) => ({
    id: `t${at}`,
    set: `t${at}`,
    group,
    groupWeight,
    weight,
    startMs: 0,
    source: { kind: "backlog", depth: 40 },
    serviceMs: [200, 600],
    tokens: [200, 2000],
    ...all,
    ...given,
  }));
}

const nested = [
  ["a", 300, 100],
  ["a", 300, 300],
  ["b", 200, 100],
  ["b", 200, 100],
  ["c", 100, 50],
] as const;

export const SHARE_LOADS: readonly ShareLoad[] = [
  {
    title: "500 against 50",
    slots: 8,
    tenants: tenantsOf([
      ["a", 500, 500],
      ["b", 50, 50],
    ]),
  },
  { title: "five tenants of three groups", slots: 24, tenants: tenantsOf(nested) },
  { title: "estimates of 0.1 to 20 times the use", slots: 24, tenants: tenantsOf(nested, { estimate: [0.1, 20] }) },
  { title: "3 of 10 cancelled at once", slots: 24, tenants: tenantsOf(nested, { cancelled: 0.3 }) },
  { title: "sizes and times with heavy tails", slots: 24, tenants: tenantsOf(nested, { tail: 1.8 }) },
  {
    title: "models with caps of 4 and 8",
    slots: 24,
    models: { small: 4, middle: 8 },
    tenants: tenantsOf([
      ["a", 300, 100, { models: ["small"] }],
      ["a", 300, 300],
      ["b", 200, 100, { models: ["small"] }],
      ["b", 200, 100, { models: ["middle"] }],
      ["c", 100, 50, { models: ["middle"] }],
    ]),
  },
  {
    title: "tenants with caps of 2 and 4",
    slots: 24,
    tenants: tenantsOf([
      ["a", 300, 100, { maxInFlight: 2 }],
      ["a", 300, 300],
      ["b", 200, 100, { maxInFlight: 4 }],
      ["b", 200, 100],
      ["c", 100, 50],
    ]),
  },
  {
    title: "all of these at once",
    slots: 24,
    models: { small: 4, middle: 8 },
    tenants: tenantsOf(
      [
        ["a", 300, 100, { maxInFlight: 4 }],
        ["a", 300, 300, { models: ["middle"] }],
        ["b", 200, 100, { models: ["small"] }],
        ["b", 200, 100],
        ["c", 100, 50, { models: ["middle"] }],
      ],
      { estimate: [0.1, 20], cancelled: 0.3 },
    ),
  },
  { title: "the three groups on 5 slots", slots: 5, tenants: tenantsOf(nested) },
  { title: "the three groups on 2 slots", slots: 2, tenants: tenantsOf(nested) },
  {
    title: "twelve equal tenants on 5 slots",
    slots: 5,
    tenants: tenantsOf(Array.from({ length: 12 }, () => ["a", 100, 100] as const)),
  },
];

const middle = ([low, high]: readonly [number, number]): number => (low + high) / 2;

function claimOf(plan: TenantPlan): Claim {
  return {
    id: plan.id,
    group: plan.group,
    groupWeight: plan.groupWeight,
    weight: plan.weight,
    model: plan.models?.[0] ?? "",
    maxSlots: plan.maxInFlight ?? Number.POSITIVE_INFINITY,
    slotsPerToken: middle(plan.serviceMs) / middle(plan.tokens),
  };
}

/** The scheduler's shares for a load, compared with the fair ones. */
export function shareError(load: ShareLoad, algorithm: Algorithm, seed: number): ShareError {
  const { title, slots, models = {}, tenants } = load;
  const scenario: Scenario = { name: title, title, algorithm, slots, models, tenants, endMs: END_MS, joinMs: 0 };
  const due = maxMinShares(algorithm, tenants.map(claimOf), { slots, models });
  const windows = runScenario(scenario, seed).windows.filter((window) => window.endMs > WARM_UP_MS);
  const got = (id: string): number =>
    windows.reduce((sum, { tokens, held }) => sum + ((algorithm === "weighted" ? tokens : held).get(id) ?? 0), 0);
  const total = tenants.reduce((sum, { id }) => sum + got(id), 0);
  const errors = tenants.map(({ id }) => Math.abs(got(id) / total / (due.get(id) ?? 0) - 1));
  return { mean: errors.reduce((sum, error) => sum + error, 0) / errors.length, worst: Math.max(...errors) };
}

/** The printed table: how far each mode is from its reference. */
export function shareErrorTable(seed: number): string {
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const cells = (load: ShareLoad): readonly string[] =>
    ALGORITHMS.flatMap((algorithm) => {
      const { mean, worst } = shareError(load, algorithm, seed);
      return [percent(mean), percent(worst)];
    });
  const rows = SHARE_LOADS.map((load) => [load.title, String(load.slots), ...cells(load)]);
  const head = ["load", "slots", "weighted: mean", "worst", "hierarchical: mean", "worst"];
  return markdownTable(head, rows);
}
