/**
 * Why a request waits (docs/rules/fairshare.md#why-a-request-waits): the limit that binds each queue, a tenant's requests
 * for one model, by the state that the scheduler decides with. It only reads: no order and no score changes. A queue that
 * no limit holds up has its turn, and has no reason.
 */
import type { WaitingQueue } from "../../../shared/schema/load.ts";
import type { Claim, ShareLimit } from "./policy.ts";
import { hasRoom, type ModelState, type TenantState, type Waiter } from "./state.ts";

interface WaitSource {
  readonly waiters: Iterable<Waiter>;
  readonly slotIsFree: boolean;
  readonly shareLimits: (competing: readonly Claim[]) => (claim: Claim) => ShareLimit | null;
}

/** A queue, and when the request in it that has waited longest started to wait, epoch ms. */
interface Queue extends Claim {
  queued: number;
  firstOrder: number;
  oldestArrivedMs: number;
}

/** What is known about one queue. */
interface QueueState {
  readonly tenantHasRoom: boolean;
  readonly modelHasRoom: boolean;
  readonly slotIsFree: boolean;
  /** The share that is used up, or headroom, if the queue waits for slots. */
  readonly shareLimit: ShareLimit | null;
}

/**
 * The limit that must be lifted first. The tenant's and the model's own caps bind even when slots are free; a share binds only
 * while only headroom is free, and somebody else competes or may come. Null: none, its turn has come.
 */
function bindingLimit(queue: QueueState): WaitingQueue["reason"] | null {
  if (!queue.tenantHasRoom) return "tenant_cap";
  if (!queue.modelHasRoom) return "model_cap";
  return queue.shareLimit ?? (queue.slotIsFree ? null : "cell_full");
}

/** The queues that a limit holds up. O(n log n) in the requests that wait. */
export function heldUp({ waiters, slotIsFree, shareLimits }: WaitSource, nowMs: number): readonly WaitingQueue[] {
  const queues = queuesOf(waiters).sort((a, b) => a.firstOrder - b.firstOrder);
  const limitOf = shareLimits(queues.filter(({ tenant, model }) => hasRoom(tenant) && hasRoom(model)));
  const held: WaitingQueue[] = [];
  for (const queue of queues) {
    const { tenant, model } = queue;
    const reason = bindingLimit({
      tenantHasRoom: hasRoom(tenant),
      modelHasRoom: hasRoom(model),
      slotIsFree,
      shareLimit: limitOf(queue),
    });
    if (reason === null) continue;
    held.push({
      tenant_id: tenant.id,
      tenant: tenant.name,
      group: tenant.group.name,
      model: model.name,
      queued: queue.queued,
      oldest_wait_ms: Math.max(0, Math.round(nowMs - queue.oldestArrivedMs)),
      reason,
    });
  }
  return held;
}

function queuesOf(waiters: Iterable<Waiter>): Queue[] {
  const byTenant = new Map<TenantState, Map<ModelState, Queue>>();
  const queues: Queue[] = [];
  for (const { tenant, model, order, arrivedMs } of waiters) {
    let byModel = byTenant.get(tenant);
    if (byModel === undefined) {
      byModel = new Map();
      byTenant.set(tenant, byModel);
    }
    const known = byModel.get(model);
    if (known === undefined) {
      const queue: Queue = { tenant, model, queued: 1, firstOrder: order, oldestArrivedMs: arrivedMs };
      byModel.set(model, queue);
      queues.push(queue);
      continue;
    }
    known.queued += 1;
    known.firstOrder = Math.min(known.firstOrder, order);
    known.oldestArrivedMs = Math.min(known.oldestArrivedMs, arrivedMs);
  }
  return queues;
}
