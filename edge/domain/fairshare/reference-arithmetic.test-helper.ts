/**
 * The arithmetic of docs/rules/fairshare.md#cost-and-weight and docs/rules/fairshare.md#slot-caps for the slow
 * reference.
 */
import { apportion } from "../../../shared/fairshare/apportion.ts";

export const byScore = <T>(items: readonly T[], score: (item: T) => number, tie: (item: T) => number): readonly T[] =>
  items.toSorted((a, b) => score(a) - score(b) || tie(a) - tie(b));
export const effective = (weight: number, admissionWeight: number): number =>
  Math.max(1, Math.round((weight * admissionWeight) / 100));

export function reweighed(score: number, time: number, from: number, to: number): number {
  return Math.max(0, time + ((score - time) * from) / Math.max(from, to));
}

/**
 * Whether a party may hold one slot more, and the most it can come to hold. A share of 0 is a cap of 1; parties of one
 * weight take turns at the slots that cannot be divided among them.
 */
export function capOf<T extends { readonly seen: number }>(
  party: T,
  parties: readonly T[],
  weightOf: (party: T) => number,
  slots: number,
  heldBy: (party: T) => number,
): { readonly most: number; readonly below: boolean } {
  const ordered = parties.toSorted((a, b) => weightOf(b) - weightOf(a) || a.seen - b.seen);
  const weights = ordered.map(weightOf);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const shares = apportion(slots, weights, total).map((share) => Math.max(1, share));
  const own = shares.filter((_, at) => weights[at] === weightOf(party));
  const floor = Math.min(...own);
  const turns = own.reduce((sum, share) => sum + share - floor, 0);
  const taken = ordered.filter((other) => weightOf(other) === weightOf(party) && heldBy(other) > floor).length;
  const held = heldBy(party);
  return { most: Math.max(...own), below: held < floor || (held === floor && taken < turns) };
}
