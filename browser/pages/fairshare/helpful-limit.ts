/** What to change so that a queue moves. Pure. */
import type { WaitingQueue } from "../../../shared/schema/load.ts";

/**
 * The limit whose change helps a queue. A larger weight takes slots from others: where a share holds up those as well, it only
 * moves the wait, and more slots help.
 */
export function helpfulLimit(queue: WaitingQueue, waiting: readonly WaitingQueue[]): WaitingQueue["reason"] {
  const { reason, group, tenant_id: tenantId } = queue;
  const isShared =
    (reason === "group_share" && waiting.some((other) => other.reason === reason && other.group !== group)) ||
    (reason === "tenant_share" &&
      waiting.some((other) => other.reason === reason && other.group === group && other.tenant_id !== tenantId));
  return isShared ? "cell_full" : reason;
}
