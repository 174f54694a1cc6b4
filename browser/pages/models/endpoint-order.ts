/**
 * The order of failover of a model's endpoints, by their priorities (docs/rules/models.md#endpoints): the lowest number is tried
 * first, equal numbers by name. Pure.
 */

/** An endpoint as far as its place goes. */
interface Placed {
  readonly id: string;
  readonly priority: number;
}

/** The priority that an endpoint is to get. */
export interface PriorityChange {
  readonly id: string;
  readonly priority: number;
}

/** Distance of priorities that are given anew, so that the next move needs one change only. */
const STEP = 10;

/**
 * The endpoints of a new model that has further addresses beside its base URL, which would get no requests if it were none of
 * them; none without further ones. An address is its name, because several can be on one host.
 */
export function firstEndpoints(baseUrl: string, more: readonly string[]) {
  const addresses = more.length === 0 ? [] : [...new Set([baseUrl, ...more])].filter((address) => address !== "");
  return addresses.map((api_base, at) => ({
    name: api_base.replace(/^https?:\/\//, ""),
    api_base,
    priority: (at + 1) * STEP,
  }));
}

/**
 * What puts the endpoint at `from` to the place `to` (0 is the first): its priority alone where there is room between its new
 * neighbours, else new priorities for all. None for a place that there is not, and for the one where it stands.
 */
export function orderChanges(endpoints: readonly Placed[], from: number, to: number): readonly PriorityChange[] {
  const moved = endpoints[from];
  if (moved === undefined || endpoints[to] === undefined || from === to) return [];
  const order = endpoints.toSpliced(from, 1).toSpliced(to, 0, moved);
  const above = order[to - 1]?.priority ?? -1;
  const below = order[to + 1]?.priority ?? above + 2 * STEP;
  const between = Math.floor((above + below) / 2);
  if (Number.isSafeInteger(between) && between > above && between < below) return [{ id: moved.id, priority: between }];
  return order
    .map(({ id }, at) => ({ id, priority: (at + 1) * STEP }))
    .filter(({ id, priority }) => endpoints.find((one) => one.id === id)?.priority !== priority);
}
