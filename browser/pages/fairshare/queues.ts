/** The queues of the live view as the page lists them, and their names in addresses. Pure. */
import type { FairshareLive, WaitingQueue } from "../../../shared/schema/load.ts";

/** In the address: the window that changes the slots of the cell. */
export const OPEN_CAPACITY = "capacity";

/** Names a queue, a tenant's requests for one model, in an address. */
export function queueId({ tenant_id, model }: Pick<WaitingQueue, "tenant_id" | "model">): string {
  return `${tenant_id}/${model}`;
}

/** An entry of the list with a name that stays its own while its reason changes. */
export interface ListedQueue extends WaitingQueue {
  readonly key: string;
}

/** The entries with their names: a queue that is held up for different reasons in different cells is listed more than once. */
export function listedQueues(queues: readonly WaitingQueue[]): readonly ListedQueue[] {
  const times = new Map<string, number>();
  return queues.map((queue) => {
    const id = queueId(queue);
    const time = (times.get(id) ?? 0) + 1;
    times.set(id, time);
    return { ...queue, key: time === 1 ? id : `${id}/${time}` };
  });
}

/** The tenant and the model that an address names; null: it names no queue. A tenant's id has no slash. */
export function queueNamed(id: string): { readonly tenantId: string; readonly model: string } | null {
  const at = id.indexOf("/");
  return at <= 0 || at === id.length - 1 ? null : { tenantId: id.slice(0, at), model: id.slice(at + 1) };
}

/** Which queues are listed. */
export interface QueueFilter {
  /** A part of the name of tenant, model or group, without regard to case; empty: any. */
  readonly text: string;
  /** Undefined: of any tenant. */
  readonly tenantId: string | undefined;
}

/** The queues of one tenant, or of all, whose tenant, model or group has the text. */
export function matchingQueues(
  queues: readonly WaitingQueue[],
  { text, tenantId }: QueueFilter,
): readonly WaitingQueue[] {
  const sought = text.trim().toLowerCase();
  const id = tenantId?.toLowerCase();
  const kept = id === undefined ? queues : queues.filter(({ tenant_id }) => tenant_id === id);
  if (sought === "") return kept;
  return kept.filter(({ tenant, model, group }) =>
    [tenant, model, group].some((name) => name.toLowerCase().includes(sought)),
  );
}

/** What a tenant is called in the live view; its id when it neither waits nor runs there. */
export function tenantNameIn(
  { waiting, tenants }: Pick<FairshareLive, "waiting" | "tenants">,
  tenantId: string,
): string {
  const id = tenantId.toLowerCase();
  const name =
    waiting.find(({ tenant_id }) => tenant_id === id)?.tenant ??
    tenants.find(({ tenant_id }) => tenant_id === id)?.name;
  return name === undefined || name === "" ? tenantId : name;
}
