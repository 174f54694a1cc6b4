/** The simulator's scenarios: which tenant sends which requests, when, and how the cell is configured. Data only. */
import type { FairshareAlgorithm } from "../../shared/fairshare/entitled-slots.ts";

export type Range = readonly [low: number, high: number];

/**
 * How a tenant sends requests: always `depth` outstanding; `requests` at once; the same again `everyMs`; a Poisson stream;
 * one at a time, `pauseMs` after the last one ended; always `depth` outstanding for `onMs`, then none, waiting ones
 * included, for `offMs`; or `requests` that stay open for twice `holdMs` with next to nothing used, and from `holdMs` on
 * `depth` outstanding as well.
 */
export type Source =
  | { readonly kind: "backlog"; readonly depth: number }
  | { readonly kind: "burst"; readonly requests: number }
  | { readonly kind: "visits"; readonly requests: number; readonly everyMs: number }
  | { readonly kind: "stream"; readonly perSecond: number }
  | { readonly kind: "trickle"; readonly pauseMs: number }
  | { readonly kind: "comeback"; readonly depth: number; readonly onMs: number; readonly offMs: number }
  | { readonly kind: "held"; readonly requests: number; readonly holdMs: number; readonly depth: number };

export interface TenantPlan {
  readonly id: string;
  /** Tenants of one set are compared together. */
  readonly set: string;
  readonly group: string;
  readonly groupWeight: number;
  readonly weight: number;
  readonly startMs: number;
  readonly source: Source;
  readonly serviceMs: Range;
  readonly tokens: Range;
  /** What a request is charged at the grant / what it uses; absent: exactly 1. */
  readonly estimate?: Range;
  /** The models that it uses, each with all of its source's demand; absent: one model without a cap. */
  readonly models?: readonly string[];
  readonly maxInFlight?: number;
  /** The tenant of these requests when a tenant has several plans; absent: the plan's id. */
  readonly tenant?: string;
  /**
   * The index of a Pareto distribution: the mean of tokens and of service times is that of their ranges, most are small and
   * a few are huge.
   */
  readonly tail?: number;
  /** Its requests are lines of batches. */
  readonly batch?: boolean;
  /** The share of its requests that are cancelled without use as soon as they are granted. */
  readonly cancelled?: number;
  /** The share of its requests that are charged this many tokens at the grant and use none. */
  readonly oversized?: { readonly share: number; readonly estimate: number };
  /** A request that waits this long leaves; absent: every request waits until it is granted. */
  readonly leavesAfterMs?: number;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly algorithm: FairshareAlgorithm;
  readonly slots: number;
  /** The part of the slots that is headroom; absent: none. */
  readonly headroom?: number;
  readonly endMs: number;
  /** When a new set joins: the time to converge is measured from here. */
  readonly joinMs: number;
  readonly tenants: readonly TenantPlan[];
  /** Caps of models by name; other models have none. */
  readonly models?: Readonly<Record<string, number>>;
  /** Admission weights of models by name; other models have 100. */
  readonly admissionWeights?: Readonly<Record<string, number>>;
}

const PLAIN = { group: "default", groupWeight: 100, weight: 100, startMs: 0 } as const;
const USUAL = { serviceMs: [200, 600], tokens: [200, 2000] } as const;

function several(count: number, prefix: string, make: Omit<TenantPlan, "id">): TenantPlan[] {
  return Array.from({ length: count }, (_, at) => ({ ...make, id: `${prefix}-${String(at + 1).padStart(2, "0")}` }));
}

function backlog(depth: number): Source {
  return { kind: "backlog", depth };
}

const unequal: readonly TenantPlan[] = [
  { ...PLAIN, ...USUAL, id: "heavy", set: "heavy", group: "heavy", groupWeight: 500, weight: 500, source: backlog(20) },
  { ...PLAIN, ...USUAL, id: "light", set: "light", group: "light", groupWeight: 50, weight: 50, source: backlog(20) },
];

const joining: readonly TenantPlan[] = [
  ...several(4, "first", { ...PLAIN, ...USUAL, set: "first", group: "first", source: backlog(10) }),
  ...several(4, "second", {
    ...PLAIN,
    ...USUAL,
    set: "second",
    group: "second",
    startMs: 20_000,
    source: backlog(10),
  }),
];

const crowd: readonly TenantPlan[] = [
  { ...PLAIN, ...USUAL, id: "bulk", set: "bulk", source: { kind: "burst", requests: 10_000 } },
  ...several(50, "small", { ...PLAIN, ...USUAL, set: "small", source: backlog(1) }),
];

const lending: readonly TenantPlan[] = [
  { ...PLAIN, ...USUAL, id: "busy", set: "busy", group: "busy", source: backlog(20) },
  {
    ...PLAIN,
    ...USUAL,
    id: "seldom",
    set: "seldom",
    group: "seldom",
    groupWeight: 300,
    source: { kind: "stream", perSecond: 2 },
  },
];

const sizes: readonly TenantPlan[] = [
  { ...PLAIN, id: "short", set: "short", serviceMs: [50, 150], tokens: [50, 200], source: backlog(40) },
  { ...PLAIN, id: "long", set: "long", serviceMs: [800, 1200], tokens: [1000, 4000], source: backlog(40) },
];

const visiting: readonly TenantPlan[] = [
  { ...PLAIN, ...USUAL, id: "steady", set: "steady", group: "steady", source: backlog(40) },
  ...several(10, "guest", {
    ...PLAIN,
    ...USUAL,
    set: "guests",
    group: "guests",
    source: { kind: "visits", requests: 6, everyMs: 10_000 },
  }),
];

const minute = { endMs: 60_000, joinMs: 0 } as const;

/** Every scenario, in the order in which the list prints them. */
export const SCENARIOS: readonly Scenario[] = [
  {
    ...minute,
    name: "500-vs-50",
    title: "500 against 50 on 8 slots",
    algorithm: "hierarchical",
    slots: 8,
    tenants: unequal,
  },
  {
    ...minute,
    name: "500-vs-50-weighted",
    title: "500 against 50 on 8 slots, by served tokens",
    algorithm: "weighted",
    slots: 8,
    endMs: 240_000,
    tenants: unequal,
  },
  {
    ...minute,
    name: "second-set",
    title: "A second set of tenants at 20 s",
    algorithm: "hierarchical",
    slots: 16,
    joinMs: 20_000,
    tenants: joining,
  },
  {
    ...minute,
    name: "second-set-weighted",
    title: "A second set of tenants at 20 s, by served tokens",
    algorithm: "weighted",
    slots: 16,
    joinMs: 20_000,
    tenants: joining,
  },
  {
    ...minute,
    name: "crowd",
    title: "10,000 queued requests of one against 50 small ones",
    algorithm: "hierarchical",
    slots: 16,
    tenants: crowd,
  },
  {
    ...minute,
    name: "lending",
    title: "A heavy group that asks seldom lends its slots",
    algorithm: "hierarchical",
    slots: 8,
    tenants: lending,
  },
  {
    ...minute,
    name: "visits",
    title: "Ten tenants of a group that come and go together",
    algorithm: "hierarchical",
    slots: 8,
    tenants: visiting,
  },
  {
    ...minute,
    name: "sizes",
    title: "Long requests against short ones of equal weight",
    algorithm: "weighted",
    slots: 8,
    endMs: 240_000,
    tenants: sizes,
  },
];
