/** Weights that were typed and not set yet. Pure. */
import type { FairshareLive } from "../../../shared/schema/load.ts";
import type { WeightEdits } from "../../explain/what-if.ts";
import { typedNumber } from "./whole-number.ts";

interface TypedWeight {
  readonly text: string;
  /** What was in force when typing began, or when the person was told of another one. */
  readonly base: number;
}

/** What was typed, by `group/<name>` and `tenant/<id>`. */
export type TypedWeights = ReadonlyMap<string, TypedWeight>;

/** Whose weight it is. */
export interface WeightOwner {
  readonly kind: "group" | "tenant";
  /** Name of the group, id of the tenant. */
  readonly id: string;
  readonly name: string;
  /** In force now. */
  readonly weight: number;
}

/** A weight that is to be set. */
export interface WeightChange extends WeightOwner {
  readonly to: number;
  /** The weight over which it was typed: another one than is in force was set by somebody else since. */
  readonly base: number;
}

/** Weights are whole numbers up to this (docs/rules/fairshare.md#groups). */
const WEIGHT_MAX = 1_000_000;

/** Names a field of the page. */
export function weightKey({ kind, id }: Pick<WeightOwner, "kind" | "id">): string {
  return `${kind}/${id}`;
}

/** The weight that a text says; null: it is none. */
export function weightOf(typed: string): number | null {
  const value = typedNumber(typed);
  return typeof value === "number" && value >= 1 && value <= WEIGHT_MAX ? value : null;
}

/** The weights with one more text; the weight that is in force is no change. */
export function withTyped(typed: TypedWeights, owner: WeightOwner, text: string): TypedWeights {
  const next = new Map(typed);
  if (weightOf(text) === owner.weight) next.delete(weightKey(owner));
  else next.set(weightKey(owner), { text, base: typed.get(weightKey(owner))?.base ?? owner.weight });
  return next;
}

/** Groups and tenants whose weights can be typed: all groups, and the tenants of the live view. */
export function weightOwners(
  live: FairshareLive,
  groups: readonly { readonly name: string; readonly weight: number }[],
): readonly WeightOwner[] {
  const shown = new Map([...groups, ...live.groups].map(({ name, weight }) => [name, weight]));
  return [
    ...Array.from(shown, ([name, weight]): WeightOwner => ({ kind: "group", id: name, name, weight })),
    ...live.tenants.map(({ tenant_id: id, name, weight }): WeightOwner => ({ kind: "tenant", id, name, weight })),
  ];
}

/** The changes that what was typed asks for; texts that are no weights, and owners that are gone, ask for none. */
export function weightChanges(typed: TypedWeights, owners: readonly WeightOwner[]): readonly WeightChange[] {
  return owners.flatMap((owner) => {
    const { text, base } = typed.get(weightKey(owner)) ?? {};
    const to = text === undefined ? null : weightOf(text);
    return to === null || base === undefined || to === owner.weight ? [] : [{ ...owner, to, base }];
  });
}

/** The typed weights once the person was told of those that somebody else has set since: the next time they are replaced. */
export function withSeen(typed: TypedWeights, moved: readonly WeightChange[]): TypedWeights {
  const seen = new Map(moved.map((change) => [weightKey(change), change.weight]));
  return new Map(Array.from(typed, ([key, one]) => [key, { ...one, base: seen.get(key) ?? one.base }]));
}

/** The changes as the what-if takes them. */
export function editsOf(changes: readonly WeightChange[]): WeightEdits {
  const of = (kind: WeightOwner["kind"]): ReadonlyMap<string, number> =>
    new Map(changes.filter((change) => change.kind === kind).map(({ id, to }) => [id, to]));
  return { groupWeights: of("group"), tenantWeights: of("tenant") };
}
