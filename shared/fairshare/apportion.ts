/**
 * Slots by weight with the largest-remainder method (Hamilton): floors first, then one more by largest remainder, ties to
 * the heavier (docs/rules/fairshare.md#slot-caps). When there are enough slots, every member gets at least one, taken from
 * the largest share.
 */
import { IndexedHeap } from "./indexed-heap.ts";

/**
 * Whole shares of `slots`, in the order of `weights`, which must be descending. `totalWeight` may exceed their sum when
 * the lightest are left out: with at least `2 * slots` weights given, those left out have a share of 0.
 */
export function apportion(slots: number, weights: readonly number[], totalWeight: number): readonly number[] {
  if (totalWeight <= 0) return weights.map(() => 0);
  const quotas = weights.map((weight) => (slots * weight) / totalWeight);
  const shares = quotas.map((quota) => Math.floor(quota));
  const left = slots - shares.reduce((sum, share) => sum + share, 0);
  const byRemainder = quotas
    .map((quota, at) => ({ at, remainder: quota - Math.floor(quota) }))
    .sort((a, b) => (Math.abs(a.remainder - b.remainder) > 1e-9 ? b.remainder - a.remainder : a.at - b.at));
  for (const { at } of byRemainder.slice(0, Math.max(0, left))) shares[at] = (shares[at] ?? 0) + 1;
  if (slots >= weights.length) liftZeros(shares);
  return shares;
}

function liftZeros(shares: number[]): void {
  const largest = new IndexedHeap<number>((a, b) => (shares[b] ?? 0) - (shares[a] ?? 0) || a - b);
  for (const at of shares.keys()) largest.put(at);
  for (const [at, share] of shares.entries()) {
    const giver = largest.peek();
    if (share > 0 || giver === undefined) continue;
    shares[giver] = (shares[giver] ?? 0) - 1;
    largest.put(giver);
    shares[at] = 1;
    largest.put(at);
  }
}
