/**
 * The tenants and groups that were active lately, as a Cell keeps them over a rest: the load is shown for a minute after it
 * ended (docs/rules/fairshare.md#live-view), and a resting object loses its memory sooner.
 */
import { byName, RECENT_MS } from "../fairshare/snapshot.ts";
import type { GroupSnapshot, SchedulerSnapshot, TenantSnapshot } from "../fairshare/types.ts";

/** Tenants that are kept at most: those that were active last. */
const RECENT_MAX = 1000;

/** Tenants and groups with their newest values. */
export interface RecentActivity {
  readonly tenants: readonly Pick<
    TenantSnapshot,
    "tenantId" | "name" | "fairshareGroup" | "weight" | "maxInFlight" | "lastActiveMs"
  >[];
  readonly groups: readonly Pick<GroupSnapshot, "name" | "weight" | "slotCap" | "lastActiveMs">[];
}

const AT_REST = { inFlight: 0, queued: 0, servedTokens: 0, shareScore: 0, weightShare: 0, expectedSlots: 0 } as const;

/** The part of a snapshot that is kept. */
export function recentActivityOf({ tenants, groups }: SchedulerSnapshot): RecentActivity {
  return {
    tenants: latest(tenants).map(({ tenantId, name, fairshareGroup, weight, maxInFlight, lastActiveMs }) => ({
      tenantId,
      name,
      fairshareGroup,
      weight,
      maxInFlight,
      lastActiveMs,
    })),
    groups: latest(groups).map(({ name, weight, slotCap, lastActiveMs }) => ({ name, weight, slotCap, lastActiveMs })),
  };
}

/** A snapshot, with those added that were active in the minute before `nowMs` and are not in it. */
export function withEarlierActivity(
  snapshot: SchedulerSnapshot,
  earlier: RecentActivity,
  nowMs: number,
): SchedulerSnapshot {
  const isRecent = ({ lastActiveMs }: { readonly lastActiveMs: number }) => nowMs - lastActiveMs < RECENT_MS;
  const tenantIds = new Set(snapshot.tenants.map((tenant) => tenant.tenantId));
  const groupNames = new Set(snapshot.groups.map((group) => group.name));
  const tenants = earlier.tenants.filter((tenant) => isRecent(tenant) && !tenantIds.has(tenant.tenantId));
  const groups = earlier.groups.filter((group) => isRecent(group) && !groupNames.has(group.name));
  if (tenants.length + groups.length === 0) return snapshot;
  return {
    ...snapshot,
    tenants: [...snapshot.tenants, ...tenants.map((tenant) => ({ ...tenant, ...AT_REST }))].sort(byName),
    groups: [...snapshot.groups, ...groups.map((group) => ({ ...group, ...AT_REST }))].sort(byName),
  };
}

function latest<T extends { readonly lastActiveMs: number }>(entries: readonly T[]): readonly T[] {
  return entries.toSorted((a, b) => b.lastActiveMs - a.lastActiveMs).slice(0, RECENT_MAX);
}
