/**
 * The same shares as {@link apportion}, for classes of members of equal weight: what each member of a class has, and how
 * many members have one more. The cost depends on the number of classes, not of members.
 */
import { IndexedHeap } from "./indexed-heap.ts";

interface WeightClass {
  readonly weight: number;
  readonly members: number;
}

/** Each member has `floor` slots, at least 1; `turns` of the members have one more. */
export interface ClassShare {
  floor: number;
  turns: number;
}

/** Shares of `slots`, in the order of the classes, which must be of descending weight. For `totalWeight` see apportion. */
export function apportionByClass(
  slots: number,
  classes: readonly WeightClass[],
  totalWeight: number,
): readonly ClassShare[] {
  const quotas = classes.map(({ weight }) => (slots * weight) / totalWeight);
  const shares = quotas.map((quota): ClassShare => ({ floor: Math.floor(quota), turns: 0 }));
  let left = slots;
  let members = 0;
  for (const [at, { members: count }] of classes.entries()) {
    left -= (shares[at]?.floor ?? 0) * count;
    members += count;
  }
  const byRemainder = quotas
    .map((quota, at) => ({ at, remainder: quota - Math.floor(quota) }))
    .sort((a, b) => (Math.abs(a.remainder - b.remainder) > 1e-9 ? b.remainder - a.remainder : a.at - b.at));
  for (const { at } of byRemainder) {
    const share = shares[at];
    if (share === undefined || left <= 0) break;
    share.turns = Math.min(left, classes[at]?.members ?? 0);
    left -= share.turns;
  }
  for (const [at, share] of shares.entries()) fillUp(share, classes[at]?.members ?? 0);
  if (slots >= members) liftZeros(shares, classes);
  for (const share of shares) if (share.floor === 0) Object.assign(share, { floor: 1, turns: 0 });
  return shares;
}

/** When every member would have a turn, the floor grows by one instead. */
function fillUp(share: ClassShare, members: number): void {
  if (share.turns < members) return;
  share.floor += 1;
  share.turns = 0;
}

/** Gives every member at least one slot, each taken from the largest share. */
function liftZeros(shares: readonly ClassShare[], classes: readonly WeightClass[]): void {
  const most = (at: number): number => (shares[at]?.floor ?? 0) + (shares[at]?.turns ? 1 : 0);
  const largest = new IndexedHeap<number>((a, b) => most(b) - most(a) || a - b);
  for (const at of shares.keys()) largest.put(at);
  for (const [at, share] of shares.entries()) {
    const count = classes[at]?.members ?? 0;
    for (; share.floor === 0; fillUp(share, count)) {
      const giver = largest.peek();
      if (giver === undefined) return;
      takeOne(shares[giver], classes[giver]?.members ?? 0);
      largest.put(giver);
      share.turns += 1;
    }
    largest.put(at);
  }
}

function takeOne(share: ClassShare | undefined, members: number): void {
  if (share === undefined) return;
  if (share.turns === 0) {
    share.floor -= 1;
    share.turns = members;
  }
  share.turns -= 1;
}
