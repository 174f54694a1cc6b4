/**
 * The leases of one tenant that are out, by cell and life of the cell, and what they reserve of each term budget.
 * Nothing comes back by the passing of time alone: the Cell says what became of a lease, and a life that falls silent
 * counts as spent until the ledger has been asked (docs/rules/budgets.md#lives-of-a-cell). Times here are of the
 * authority's MonotonicClock.
 */
import { type Amounts, MAX_AMOUNTS, NO_AMOUNTS, plus } from "./amounts.ts";
import { LEASE_MAX_MS } from "./lease-size.ts";
import { type CellLife, isOver, lossDueMs, newLease, type OutstandingLease, unreturned } from "./outstanding-lease.ts";
import type { StoredLife, StoredState } from "./stored.ts";

/** The cell of a lease that nobody can say whose it was. No cell has this name. */
const NOBODY = "";

export class OutstandingLeases {
  #lives: CellLife[] = [];

  /** As it was stored, with every lease granted since. */
  constructor({ tenant, grants, untracked }: StoredState, nowMs: number) {
    for (const { cell, life, seenN, awaited, heardN, leases } of tenant?.lives ?? []) {
      const restored = this.#life(cell, life, nowMs);
      Object.assign(restored, { seenN, awaited: new Map(awaited), heardN, storedN: heardN });
      for (const lease of leases) restore(restored, lease, nowMs);
    }
    for (const { cell, life, lease } of grants.flatMap((row) => row.leases)) {
      restore(this.#life(cell, life, nowMs), lease, nowMs);
    }
    // What is out is not known any more, because a row was damaged: everything, until the ledger has been asked.
    if (untracked) restore(this.#life(NOBODY, 0, nowMs), { ...newLease(0, null, MAX_AMOUNTS), lostAtMs: nowMs }, nowMs);
  }

  /** Every life that is known. */
  get lives(): readonly CellLife[] {
    return this.#lives;
  }

  /** Out on lease of a key's own budget; of the tenant's, for null. */
  leasedOut(keyId: string | null): Amounts {
    let sum = NO_AMOUNTS;
    for (const { cell, leases } of this.#lives)
      for (const lease of leases.values())
        if (keyId === null || lease.pool === keyId || cell === NOBODY) sum = plus(sum, unreturned(lease));
    return sum;
  }

  find(cell: string, life: number): CellLife | undefined {
    return this.#lives.find((known) => known.cell === cell && known.life === life);
  }

  /** Whether no newer life of the cell is known. */
  isNewest({ cell, life }: Pick<CellLife, "cell" | "life">): boolean {
    return !this.#lives.some((known) => known.cell === cell && known.life > life);
  }

  /** A word from a life of a cell: it lives, and older lives of the cell are over. Null: it is over and forgotten itself. */
  heardFrom(cell: string, life: number, nowMs: number): CellLife | null {
    const newest = this.isNewest({ cell, life });
    if (!newest && this.find(cell, life) === undefined) return null;
    const heard = this.#life(cell, life, nowMs);
    heard.lastHeardMs = nowMs;
    if (!newest) return heard;
    for (const each of this.#lives.filter((other) => other.cell === cell))
      for (const lease of each.leases.values()) {
        if (lease.settled || isOver(lease)) continue;
        if (each === heard) lease.lostAtMs = null;
        else lease.lostAtMs ??= nowMs;
      }
    return heard;
  }

  /** Takes leases for lost whose Cell did not say in time that they ended, and all of a Cell that has long said nothing. */
  declareLost(nowMs: number): void {
    for (const life of this.#lives)
      for (const lease of life.leases.values())
        if ((lossDueMs(life, lease) ?? Infinity) <= nowMs) lease.lostAtMs = nowMs;
  }

  /** When {@link declareLost} may next find something; null: never. */
  nextLossMs(): number | null {
    return this.#soonest(lossDueMs);
  }

  /** When the oldest lost lease was lost that the ledger has not been asked about; null: there is none. */
  oldestLossMs(): number | null {
    return this.#soonest((_, { lostAtMs }) => lostAtMs);
  }

  /** The pools of leases that were lost at or before `atMs` and that the ledger has not been asked about. */
  lostPools(atMs: number): ReadonlySet<string | null> {
    const pools = new Set<string | null>();
    for (const { leases } of this.#lives)
      for (const { lostAtMs, pool } of leases.values()) if (lostAtMs !== null && lostAtMs <= atMs) pools.add(pool);
    return pools;
  }

  /**
   * The ledger has spoken for leases that were lost at or before `atMs`: nothing of them is out any more. One that was heard of
   * meanwhile is left.
   */
  ledgerSettled(atMs: number): void {
    for (const { leases } of this.#lives)
      for (const lease of leases.values())
        if (lease.lostAtMs !== null && lease.lostAtMs <= atMs)
          Object.assign(lease, { released: lease.granted, lostAtMs: null, settled: true });
  }

  /** Forgets what is over, older lives of which nothing is out as well; answers the rest, to be stored now. */
  toStore(): readonly StoredLife[] {
    const rests = ({ settled, lostAtMs }: OutstandingLease) => settled && lostAtMs === null;
    for (const life of this.#lives) {
      life.storedN = life.heardN;
      for (const lease of life.leases.values()) if (isOver(lease)) life.leases.delete(lease.n);
    }
    this.#lives = this.#lives.filter(
      (life) => (life.cell !== NOBODY && this.isNewest(life)) || ![...life.leases.values()].every(rests),
    );
    return this.#lives.map(({ cell, life, seenN, awaited, heardN, leases }) => {
      return { cell, life, seenN, awaited: [...awaited], heardN, leases: [...leases.values()] };
    });
  }

  /** The life, which may not be known yet. */
  #life(cell: string, life: number, nowMs: number): CellLife {
    const known = this.find(cell, life);
    if (known !== undefined) return known;
    const begun = {
      cell,
      life,
      seenN: 0,
      awaited: new Map(),
      heardN: 0,
      storedN: 0,
      lastHeardMs: nowMs,
      leases: new Map(),
    };
    this.#lives.push(begun);
    return begun;
  }

  #soonest(timeOf: (life: CellLife, lease: OutstandingLease) => number | null): number | null {
    let soonest: number | null = null;
    for (const life of this.#lives)
      for (const lease of life.leases.values()) {
        const atMs = timeOf(life, lease);
        if (atMs !== null) soonest = Math.min(soonest ?? atMs, atMs);
      }
    return soonest;
  }
}

/**
 * A lease from storage, unless a newer word on it is known. Its times are never later than now: the clock of an earlier life of
 * the object may have been another one, or was ahead.
 */
function restore(life: CellLife, lease: OutstandingLease, nowMs: number): void {
  if (life.leases.has(lease.n)) return;
  const untilMs = lease.untilMs === null ? null : Math.min(lease.untilMs, nowMs + LEASE_MAX_MS);
  const lostAtMs = lease.lostAtMs === null ? null : Math.min(lease.lostAtMs, nowMs);
  life.leases.set(lease.n, { ...lease, untilMs, lostAtMs });
  life.awaited.delete(lease.n);
}
