/** How many requests may wait in a cell (docs/rules/admission.md#queue-bounds). */
import { LIMITS } from "../../../shared/catalogues/limits.ts";

/** Of all tenants together. */
export const MAX_QUEUED = LIMITS.queuedInCell;

/** The refusal of a request that finds the queue full. */
export const QUEUE_FULL = { code: "queue_full", retryAfterMs: 1000, level: null } as const;

/** Whether more requests wait than allowed, including the newest. `maxQueuedPerTenant` 0: a tenant has no limit of its own. */
export function exceedsQueueLimit(maxQueuedPerTenant: number, queuedOfTenant: number, queued: number): boolean {
  return queued > MAX_QUEUED || (maxQueuedPerTenant > 0 && queuedOfTenant > maxQueuedPerTenant);
}
