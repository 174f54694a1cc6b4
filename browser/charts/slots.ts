/** The slots of a cell by fairshare group and tenant, as parts of a bar (docs/rules/fairshare.md#live-view). Pure. */
import type { FairshareLive } from "../../shared/schema/load.ts";
import { drawnPart } from "./numbers.ts";
import { barOf, largestAndRest } from "./parts.ts";

/** The slots that one tenant holds, or the rest of a group's tenants together (`tenant` null). */
interface SlotShare {
  /** Null for lines of batches, which have no group. */
  readonly group: string | null;
  readonly tenant: string | null;
  readonly slots: number;
}

/** The fields of the live view that are needed. */
export type SlotsSource = Pick<FairshareLive, "max_in_flight" | "batch_in_flight"> & {
  readonly groups: readonly Pick<FairshareLive["groups"][number], "name" | "in_flight">[];
  readonly tenants: readonly Pick<FairshareLive["tenants"][number], "name" | "fairshare_group" | "in_flight">[];
};

/** More parts would be too small to distinguish. */
const TENANTS_OF_GROUP_MAX = 12;

/** A bar of the capacity, by group and within it by tenant, the largest first; slots above the capacity are a separate part. */
export function slotsBar(live: SlotsSource) {
  const members = new Map<string, { readonly name: string | null; readonly slots: number }[]>();
  for (const { name, fairshare_group, in_flight } of live.tenants) {
    const slots = drawnPart(in_flight);
    if (slots === 0) continue;
    const known = members.get(fairshare_group);
    if (known === undefined) members.set(fairshare_group, [{ name, slots }]);
    else known.push({ name, slots });
  }
  const groups = live.groups.map(({ name }) => name);
  for (const name of members.keys()) if (!groups.includes(name)) groups.push(name);
  const shares = groups.flatMap((group): SlotShare[] => {
    const own = (members.get(group) ?? []).sort((a, b) => b.slots - a.slots);
    const rest = (some: readonly { readonly slots: number }[]) => ({
      name: null,
      slots: some.reduce((sum, { slots }) => sum + slots, 0),
    });
    return largestAndRest(own, ({ slots }) => slots, TENANTS_OF_GROUP_MAX, rest).map(({ name, slots }) => ({
      group,
      tenant: name,
      slots,
    }));
  });
  shares.push({ group: null, tenant: null, slots: drawnPart(live.batch_in_flight) });
  return barOf(shares, ({ slots }) => slots, live.max_in_flight);
}
