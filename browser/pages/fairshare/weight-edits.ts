/** Weights that were typed but not saved. Pure. */
import type { FairshareLive } from "../../../shared/schema/load.ts";
import type { WeightEdits } from "../../explain/what-if.ts";
import { typedNumber } from "./whole-number.ts";

interface TypedWeight {
  readonly text: string;
  /** The saved weight that the edit started from. */
  readonly base: number;
}

/** Unsaved weights by `group/<name>` and `tenant/<id>`. */
export type TypedWeights = ReadonlyMap<string, TypedWeight>;

/** Whose weight it is. */
export interface WeightOwner {
  readonly kind: "group" | "tenant";
  /** Name of the group, id of the tenant. */
  readonly id: string;
  readonly name: string;
  /** The saved weight. */
  readonly weight: number;
}

/** A weight to save. */
export interface WeightChange extends WeightOwner {
  readonly newWeight: number;
  /** The weight that the edit started from. If it differs from `weight`, somebody else has changed it since. */
  readonly base: number;
}

/** Weights are whole numbers up to this (docs/rules/fairshare.md#groups). */
const WEIGHT_MAX = 1_000_000;

/** The key of a weight in `TypedWeights`. */
export function weightKey({ kind, id }: Pick<WeightOwner, "kind" | "id">): string {
  return `${kind}/${id}`;
}

/** Parses a weight; null: the text is none. */
export function weightOf(typed: string): number | null {
  const value = typedNumber(typed);
  return typeof value === "number" && value >= 1 && value <= WEIGHT_MAX ? value : null;
}

/** Adds an edit. Typing the saved weight removes it. */
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

/** The changes to save, without invalid texts, saved weights and owners that no longer exist. */
export function weightChanges(typed: TypedWeights, owners: readonly WeightOwner[]): readonly WeightChange[] {
  return owners.flatMap((owner) => {
    const { text, base } = typed.get(weightKey(owner)) ?? {};
    const newWeight = text === undefined ? null : weightOf(text);
    if (newWeight === null || base === undefined || newWeight === owner.weight) return [];
    return [{ ...owner, newWeight, base }];
  });
}

/** Marks other people's changes as seen: saving again overwrites them. */
export function withAcknowledged(typed: TypedWeights, changedByOthers: readonly WeightChange[]): TypedWeights {
  const seen = new Map(changedByOthers.map((change) => [weightKey(change), change.weight]));
  return new Map(Array.from(typed, ([key, one]) => [key, { ...one, base: seen.get(key) ?? one.base }]));
}

/** The changes in the form that `whatIf` takes. */
export function editsOf(changes: readonly WeightChange[]): WeightEdits {
  const of = (kind: WeightOwner["kind"]): ReadonlyMap<string, number> =>
    new Map(changes.filter((change) => change.kind === kind).map(({ id, newWeight }) => [id, newWeight]));
  return { groupWeights: of("group"), tenantWeights: of("tenant") };
}
