/** The scheduler's snapshot in the names of the Management API (docs/rules/fairshare.md#live-view). */
import type { FairshareLive } from "../../../shared/schema/load.ts";
import type { GroupSnapshot, LiveSnapshot, TenantSnapshot } from "./types.ts";

/** `tsMs`: when the snapshot was taken, epoch ms. */
export function liveView(snapshot: LiveSnapshot, cell: string, tsMs: number): FairshareLive {
  return {
    cell,
    ts_ms: tsMs,
    algorithm: snapshot.algorithm,
    max_in_flight: snapshot.maxInFlight,
    headroom: snapshot.headroom,
    global_in_flight: snapshot.inFlight,
    global_queued: snapshot.queued,
    batch_in_flight: snapshot.batchInFlight,
    batch_queued: snapshot.batchQueued,
    groups: snapshot.groups.map((group) => ({
      name: group.name,
      weight: group.weight,
      slot_cap: group.slotCap,
      ...shares(group),
    })),
    tenants: snapshot.tenants.map((tenant) => ({
      tenant_id: tenant.tenantId,
      name: tenant.name,
      fairshare_group: tenant.fairshareGroup,
      weight: tenant.weight,
      max_in_flight: tenant.maxInFlight,
      ...shares(tenant),
    })),
    model_in_flight: { ...snapshot.modelInFlight },
    model_queued: { ...snapshot.modelQueued },
    waiting: [...snapshot.waiting],
    waiting_cells: [cell],
    adaptive: [...snapshot.adaptive],
  };
}

function shares(entry: GroupSnapshot | TenantSnapshot) {
  return {
    in_flight: entry.inFlight,
    queued: entry.queued,
    served_tokens: entry.servedTokens,
    share_score: entry.shareScore,
    weight_share: entry.weightShare,
    expected_slots: entry.expectedSlots,
  };
}
