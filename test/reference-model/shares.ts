/** Who gets the slots of a full cell: tenants of one group by their weights (docs/rules/fairshare.md#slot-caps). */
import type { Gateway } from "../harness/gateway.ts";
import type { Difference } from "./differences.ts";
import type { Done, Key, TenantFacts } from "./facts.ts";
import { attempt, planCall } from "./plan.ts";
import type { Round } from "./rounds.ts";

const SLOTS = 8;
/** Enough that each tenant always has calls that wait. */
const CLIENTS_EACH = 14;
const CALLS_EACH = 60;
const TAKES_MS = 150;
const USUAL_SLOTS = { max_in_flight: null };
/** Of all slots, over a long run in which everybody waits. */
const TOLERANCE = 0.05;

/** Largest remainders: the floors first, then one more each by the largest remainder, ties to the heavier; nobody has none. */
function slotCaps(weights: readonly number[], slots: number): readonly number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const exact = weights.map((weight) => (slots * weight) / total);
  const caps = exact.map(Math.floor);
  const order = weights
    .map((weight, at) => ({ at, weight, rest: (exact[at] ?? 0) % 1 }))
    .toSorted((one, two) => two.rest - one.rest || two.weight - one.weight);
  const left = slots - caps.reduce((sum, cap) => sum + cap, 0);
  for (const { at } of order.slice(0, left)) caps[at] = (caps[at] ?? 0) + 1;
  for (const at of caps.keys())
    if (caps[at] === 0) {
      caps[at] = 1;
      const largest = caps.indexOf(Math.max(...caps));
      caps[largest] = (caps[largest] ?? 1) - 1;
    }
  return caps;
}

/** Tenants that all have more calls than slots; compares what they hold of the slots with their caps. */
export async function sharesRound(
  { name, dice, bench, world }: Round,
  gateway: Gateway,
): Promise<readonly Difference[]> {
  const weights = dice.pick([
    [100, 100],
    [500, 50],
    [200, 100, 100],
    [100, 50],
  ]);
  const model = await world.model();
  const script = [attempt({ delayMs: TAKES_MS })];
  const tenants: { readonly tenant: TenantFacts; readonly key: Key }[] = [];
  for (const weight of weights) {
    const tenant = await world.tenant({ weight });
    tenants.push({ tenant, key: await world.key(tenant) });
  }
  const done: Done[][] = tenants.map(() => []);
  const client = async (at: number): Promise<void> => {
    const { key } = tenants[at] as { readonly key: Key };
    // Who is done first ends the competition: until then everybody waits.
    for (let isOver = false; !isOver; isOver = done.some((own) => own.length >= CALLS_EACH)) {
      const id = `${name}/${at}-${dice.next()}`;
      done[at]?.push(await bench.call(planCall(dice, id, key, model, { route: "chat", stream: false, script })));
    }
  };
  await gateway.must("PUT", "/capacity", { max_in_flight: SLOTS });
  await Promise.all(tenants.flatMap((_, at) => Array.from({ length: CLIENTS_EACH }, () => client(at))));
  await gateway.must("PUT", "/capacity", USUAL_SLOTS);

  const starts = done.map((own) => own.flatMap(({ served }) => served.map(({ atMs }) => atMs)));
  const fromMs = Math.max(...starts.map((own) => Math.min(...own))) + TAKES_MS;
  const untilMs = Math.min(...done.map((own) => Math.max(...own.map(({ got }) => got.startMs))));
  const counts = starts.map((own) => own.filter((atMs) => atMs >= fromMs && atMs <= untilMs).length);
  const all = counts.reduce((sum, count) => sum + count, 0);
  const expected = slotCaps(weights, SLOTS).map((cap) => cap / SLOTS);
  const found = counts.map((count) => count / all);
  // one slot's turn more or less for each tenant at either end
  const margin = TOLERANCE + (2 * SLOTS) / all / tenants.length;
  if (found.every((share, at) => Math.abs(share - (expected[at] ?? 0)) <= margin)) return [];
  const more = `weights ${weights.join(", ")}; ${counts.join(", ")} calls were started while all tenants waited`;
  return [{ what: "shares: of the slots of a full cell", expected, found, more }];
}
