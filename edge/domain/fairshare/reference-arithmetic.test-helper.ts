/** The arithmetic of decisions §20.1 and §20.4 for the slow reference. */
import { apportion } from "./apportion.ts";

export const byScore = <T>(items: readonly T[], score: (item: T) => number, tie: (item: T) => number): readonly T[] =>
  items.toSorted((a, b) => score(a) - score(b) || tie(a) - tie(b));
export const effective = (weight: number, admissionWeight: number): number =>
  Math.max(1, Math.round((weight * admissionWeight) / 100));

export function reweighed(served: number, time: number, from: number, to: number): number {
  return Math.max(0, (time + (served - time * from) / Math.max(from, to)) * to);
}

/** Slot caps; a share of 0 is a cap of 1. Equal weights: who was met earlier is first. */
export function shares<T extends { readonly seen: number }>(
  parties: readonly T[],
  weightOf: (party: T) => number,
  slots: number,
): ReadonlyMap<T, number> {
  const ordered = parties.toSorted((a, b) => weightOf(b) - weightOf(a) || a.seen - b.seen);
  const weights = ordered.map(weightOf);
  const caps = apportion(
    slots,
    weights,
    weights.reduce((sum, weight) => sum + weight, 0),
  );
  return new Map(ordered.map((party, at) => [party, Math.max(1, caps[at] ?? 0)]));
}
