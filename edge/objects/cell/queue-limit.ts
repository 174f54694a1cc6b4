/** How many requests may wait in a cell (decisions §43.2). */

/** Of all tenants together. */
export const MAX_QUEUED = 20_000;

/** What one is told that finds no room. */
export const QUEUE_FULL = { code: "queue_full", retryAfterMs: 1000, level: null } as const;

/** Whether so many are too many, the newest among them; `maxQueuedPerTenant` 0: no bound of a tenant's own. */
export function exceedsQueueLimit(maxQueuedPerTenant: number, queuedOfTenant: number, queued: number): boolean {
  return queued > MAX_QUEUED || (maxQueuedPerTenant > 0 && queuedOfTenant > maxQueuedPerTenant);
}
