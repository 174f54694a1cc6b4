/** The scheduler's state as an admin reads it (docs/rules/fairshare.md#live-view). */
import type { Registry } from "./registry.ts";
import { type GroupState, isActive, isActiveGroup, type ModelState, type TenantState } from "./state.ts";
import type { FairshareAlgorithm, GroupSnapshot, SchedulerSnapshot, TenantSnapshot } from "./types.ts";

/** Idle tenants and groups are shown this long (docs/rules/fairshare.md#live-view). */
export const RECENT_MS = 60_000;

interface SnapshotSource {
  readonly algorithm: FairshareAlgorithm;
  readonly maxInFlight: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly known: Registry;
  readonly slotCap: (group: GroupState) => number;
}

/**
 * The tenants and groups that are active or were within the last minute. Only those that wait or hold slots have a share.
 */
export function snapshotOf(source: SnapshotSource, nowMs: number): SchedulerSnapshot {
  const isRecent = (state: TenantState | GroupState): boolean =>
    state.inFlight > 0 || state.queued > 0 || nowMs - state.lastActiveMs < RECENT_MS;
  const recentGroups = source.known.groups().filter(isRecent);
  const recentTenants = source.known.tenants().filter(isRecent);
  const models = source.known.models();
  const activeGroups = recentGroups.filter(isActiveGroup);
  const activeTenants = recentTenants.filter(isActive);
  const groupWeight = sum(activeGroups.map((group) => group.weight));
  const groupShare = (group: GroupState): number => (isActiveGroup(group) ? group.weight / groupWeight : 0);
  const allWeight = sum(activeTenants.map((tenant) => tenant.weight));
  const weightInGroup = new Map<GroupState, number>();
  for (const tenant of activeTenants)
    weightInGroup.set(tenant.group, (weightInGroup.get(tenant.group) ?? 0) + tenant.weight);
  const tenantShare = (tenant: TenantState): number => {
    if (!isActive(tenant)) return 0;
    if (source.algorithm === "weighted") return tenant.weight / allWeight;
    return (tenant.weight / (weightInGroup.get(tenant.group) ?? tenant.weight)) * groupShare(tenant.group);
  };
  const groups = recentGroups.map((group): GroupSnapshot => {
    const share = groupShare(group);
    return {
      name: group.name,
      weight: group.weight,
      inFlight: group.inFlight,
      queued: group.queued,
      slotCap: source.slotCap(group),
      servedTokens: group.servedTokens,
      shareScore: group.servedTokens / group.weight,
      weightShare: share,
      expectedSlots: share * source.maxInFlight,
      lastActiveMs: isActiveGroup(group) ? nowMs : group.lastActiveMs,
    };
  });
  const tenants = recentTenants.map((tenant): TenantSnapshot => {
    const share = tenantShare(tenant);
    return {
      tenantId: tenant.id,
      name: tenant.name,
      fairshareGroup: tenant.group.name,
      weight: tenant.weight,
      inFlight: tenant.inFlight,
      queued: tenant.queued,
      maxInFlight: tenant.maxInFlight,
      servedTokens: tenant.servedTokens,
      shareScore: tenant.servedTokens / tenant.weight,
      weightShare: share,
      expectedSlots: share * source.maxInFlight,
      lastActiveMs: isActive(tenant) ? nowMs : tenant.lastActiveMs,
    };
  });
  return {
    algorithm: source.algorithm,
    maxInFlight: source.maxInFlight,
    inFlight: source.inFlight,
    queued: source.queued,
    groups: groups.sort(byName),
    tenants: tenants.sort(byName),
    modelInFlight: counts(models, (model) => model.inFlight),
    modelQueued: counts(models, (model) => model.queued),
  };
}

function counts(models: readonly ModelState[], pick: (model: ModelState) => number): Record<string, number> {
  return Object.fromEntries(models.filter((model) => pick(model) > 0).map((model) => [model.name, pick(model)]));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Groups and tenants are shown in this order (docs/rules/fairshare.md#live-view). */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
