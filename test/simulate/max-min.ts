/**
 * The fair shares, calculated without any code of the scheduler: weighted max-min fairness of divisible capacity, found by
 * progressive filling. Weighted mode fills tokens by weight; hierarchical mode fills slots, each group by its weight and
 * its tenants by theirs. A claim stops growing when the cell, its model or its tenant has no slot left for it.
 */

/** A tenant that always has requests waiting. */
export interface Claim {
  readonly id: string;
  readonly group: string;
  readonly groupWeight: number;
  readonly weight: number;
  readonly model: string;
  /** The most slots that it may hold. */
  readonly maxSlots: number;
  /** The slots that it holds for each token per millisecond. */
  readonly slotsPerToken: number;
}

interface Capacity {
  readonly slots: number;
  /** Caps of models by name; other models have none. */
  readonly models: Readonly<Record<string, number>>;
}

interface Limit {
  readonly claims: ReadonlySet<Claim>;
  left: number;
}

const NOTHING_LEFT = 1e-9;

/** The share of each claim in the whole, by id: of tokens in weighted mode, of slots in hierarchical mode. */
export function maxMinShares(
  algorithm: "weighted" | "hierarchical",
  claims: readonly Claim[],
  capacity: Capacity,
): ReadonlyMap<string, number> {
  const limits = limitsOf(claims, capacity);
  const given = new Map(claims.map((claim) => [claim, 0]));
  const active = new Set(claims);
  while (active.size > 0) {
    const paces = new Map([...active].map((claim) => [claim, paceOf(algorithm, claim, active)]));
    const slotPace = ({ claims: held }: Limit): number =>
      sum([...active].map((claim) => (held.has(claim) ? (paces.get(claim) ?? 0) * slotsPerUnit(algorithm, claim) : 0)));
    const filling = limits.filter((limit) => slotPace(limit) > 0);
    const level = Math.min(...filling.map((limit) => limit.left / slotPace(limit)));
    for (const limit of filling) limit.left -= level * slotPace(limit);
    for (const claim of active) given.set(claim, (given.get(claim) ?? 0) + level * (paces.get(claim) ?? 0));
    for (const limit of filling.filter(({ left }) => left < NOTHING_LEFT))
      for (const claim of limit.claims) active.delete(claim);
  }
  const total = sum([...given.values()]);
  return new Map([...given].map(([claim, amount]) => [claim.id, amount / total]));
}

function limitsOf(claims: readonly Claim[], { slots, models }: Capacity): readonly Limit[] {
  const ofModels = Object.entries(models).map(([name, left]) => ({
    claims: new Set(claims.filter((claim) => claim.model === name)),
    left,
  }));
  const ofTenants = claims.map((claim) => ({ claims: new Set([claim]), left: claim.maxSlots }));
  return [{ claims: new Set(claims), left: slots }, ...ofModels, ...ofTenants];
}

/** How fast a claim grows beside the other claims that still grow. */
function paceOf(algorithm: "weighted" | "hierarchical", claim: Claim, active: ReadonlySet<Claim>): number {
  if (algorithm === "weighted") return claim.weight;
  const inGroup = sum([...active].map((other) => (other.group === claim.group ? other.weight : 0)));
  return (claim.groupWeight * claim.weight) / inGroup;
}

function slotsPerUnit(algorithm: "weighted" | "hierarchical", claim: Claim): number {
  return algorithm === "weighted" ? claim.slotsPerToken : 1;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
