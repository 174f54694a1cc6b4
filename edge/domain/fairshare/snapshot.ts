/** The scheduler's state as an admin reads it (docs/rules/fairshare.md#live-view). */
import { entitledSlots, type FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import type { Registry } from "./registry.ts";
import { type GroupState, isActive, isActiveGroup, type ModelState, type TenantState } from "./state.ts";
import type { GroupSnapshot, SchedulerSnapshot, TenantSnapshot } from "./types.ts";

/** Idle tenants and groups are shown this long (docs/rules/fairshare.md#live-view). */
export const RECENT_MS = 60_000;

interface SnapshotSource {
  readonly algorithm: FairshareAlgorithm;
  readonly maxInFlight: number;
  readonly headroom: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly lines: { readonly inFlight: number; readonly queued: number };
  readonly known: Registry;
}

/**
 * The tenants and groups that are active or were within the last minute. Only those that wait or hold slots have a share.
 */
export function snapshotOf(source: SnapshotSource, nowMs: number): SchedulerSnapshot {
  const { algorithm, maxInFlight, headroom, inFlight, queued, lines, known } = source;
  const isRecent = (state: TenantState | GroupState): boolean =>
    state.inFlight > 0 || state.queued > 0 || nowMs - state.lastActiveMs < RECENT_MS;
  const entitled = entitledSlots({
    algorithm,
    maxInFlight,
    groups: known
      .groups()
      .filter(isRecent)
      .map((state) => ({ state, name: state.name, weight: state.weight, demand: demandOf(state) })),
    tenants: known
      .tenants()
      .filter(isRecent)
      .map((state) => ({ state, group: state.group.name, weight: state.weight, demand: demandOf(state) })),
  });
  const groups = entitled.groups.map(
    ({ who: { state }, entitlement }): GroupSnapshot => ({
      name: state.name,
      weight: state.weight,
      inFlight: state.inFlight,
      queued: state.queued,
      slotCap: entitlement.slotCap,
      servedTokens: state.servedTokens,
      shareScore: state.servedTokens / state.weight,
      weightShare: entitlement.weightShare,
      expectedSlots: entitlement.expectedSlots,
      lastActiveMs: isActiveGroup(state) ? nowMs : state.lastActiveMs,
    }),
  );
  const tenants = entitled.tenants.map(
    ({ who: { state }, entitlement }): TenantSnapshot => ({
      tenantId: state.id,
      name: state.name,
      fairshareGroup: state.group.name,
      weight: state.weight,
      inFlight: state.inFlight,
      queued: state.queued,
      maxInFlight: state.maxInFlight,
      servedTokens: state.servedTokens,
      shareScore: state.servedTokens / state.weight,
      weightShare: entitlement.weightShare,
      expectedSlots: entitlement.expectedSlots,
      lastActiveMs: isActive(state) ? nowMs : state.lastActiveMs,
    }),
  );
  const models = known.models();
  return {
    algorithm,
    maxInFlight,
    headroom,
    inFlight,
    queued,
    batchInFlight: lines.inFlight,
    batchQueued: lines.queued,
    groups: groups.sort(byName),
    tenants: tenants.sort(byName),
    modelInFlight: counts(models, (model) => model.inFlight),
    modelQueued: counts(models, (model) => model.queued),
  };
}

function demandOf({ inFlight, queued }: TenantState | GroupState): number {
  return inFlight + queued;
}

function counts(models: readonly ModelState[], pick: (model: ModelState) => number): Record<string, number> {
  return Object.fromEntries(models.filter((model) => pick(model) > 0).map((model) => [model.name, pick(model)]));
}

/** Groups and tenants are shown in this order (docs/rules/fairshare.md#live-view). */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
