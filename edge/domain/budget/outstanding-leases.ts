/**
 * The leases of one tenant that are out, by cell and life of the cell, and what they reserve of each term budget. Nothing
 * comes back by the passing of time alone: the Cell says what became of a lease, and a life that falls silent counts as spent
 * until the ledger has been asked (decisions §19.1). Times here are of the authority's SteadyTime.
 */
import { type Amounts, isNothing, minus, NOTHING, plus, smaller } from "./amounts.ts";
import {
  burialMs,
  type CellLife,
  newLease,
  type OutstandingLease,
  outOf,
  type PlacedLease,
} from "./outstanding-lease.ts";
import { addTotals, amountsOf, NO_TOTALS, subtractTotals, type Totals, totalsOf } from "./totals.ts";

/** The cell of leases that nobody can say whose they were. No cell has this name. */
const NOBODY = { cell: "", life: 0 };

export class OutstandingLeases {
  readonly #lives: CellLife[] = [];
  #tenantOut: Totals = NO_TOTALS;
  readonly #keyOut = new Map<string, Totals>();
  readonly #changedPools = new Set<string | null>();

  /** Out on lease of the tenant's budgets. */
  get tenantOut(): Amounts {
    return amountsOf(this.#tenantOut);
  }

  /** Out on lease of a key's own budget. */
  keyOut(keyId: string): Amounts {
    return amountsOf(this.#keyOut.get(keyId) ?? NO_TOTALS);
  }

  /** Every life that is known. */
  get lives(): readonly CellLife[] {
    return this.#lives;
  }

  find(cell: string, life: number): CellLife | undefined {
    return this.#lives.find((known) => known.cell === cell && known.life === life);
  }

  /** Whether no newer life of the cell is known. */
  isNewest({ cell, life }: CellLife): boolean {
    return life === this.#newestLife(cell);
  }

  /** A word from a life of a cell: it lives, and older lives of the cell are over. Null: it is over and forgotten itself. */
  hear(cell: string, life: number, nowMs: number): CellLife | null {
    const known = this.find(cell, life);
    if (known !== undefined) {
      known.lastHeardMs = nowMs;
      if (this.isNewest(known))
        this.#change(known, ({ lostAtMs, settled }) => lostAtMs !== null && !settled, { lostAtMs: null });
      return known;
    }
    if (life < this.#newestLife(cell)) return null;
    for (const older of this.#lives)
      if (older.cell === cell)
        this.#change(older, ({ lostAtMs, settled }) => lostAtMs === null && !settled, { lostAtMs: nowMs });
    return this.#begin(cell, life, nowMs);
  }

  /** A lease as it is from now on; one that is over is forgotten. */
  put(life: CellLife, lease: OutstandingLease): void {
    const before = life.leases.get(lease.n);
    const over = lease.ended && lease.lostAtMs === null && isNothing(outOf(lease));
    if (over) life.leases.delete(lease.n);
    else life.leases.set(lease.n, lease);
    if (lease.answered !== null) life.askedN = Math.max(life.askedN, lease.n);
    this.#changedPools.add(lease.pool);
    const change = subtractTotals(
      totalsOf(over ? NOTHING : outOf(lease)),
      totalsOf(before === undefined ? NOTHING : outOf(before)),
    );
    this.#tenantOut = addTotals(this.#tenantOut, change);
    if (lease.pool === null) return;
    this.#keyOut.set(lease.pool, addTotals(this.#keyOut.get(lease.pool) ?? NO_TOTALS, change));
  }

  /** Takes amounts out of a lease, for another to hold; answers what it did not have. */
  move(life: CellLife, lease: OutstandingLease, amounts: Amounts): Amounts {
    const taken = smaller(amounts, outOf(lease));
    if (!isNothing(taken)) this.put(life, { ...lease, moved: plus(lease.moved, taken) });
    return minus(amounts, taken);
  }

  /** Takes leases for lost whose Cell did not say in time that they ended, and all of a Cell that has long said nothing. */
  bury(nowMs: number): void {
    for (const life of this.#lives)
      this.#change(life, (lease) => lease.lostAtMs === null && (burialMs(life, lease) ?? Infinity) <= nowMs, {
        lostAtMs: nowMs,
      });
  }

  /** When {@link bury} may next find something; null: never. */
  nextBurialMs(): number | null {
    return this.#soonest((life, lease) => (lease.lostAtMs === null ? burialMs(life, lease) : null));
  }

  /** When the oldest lost lease was lost that the ledger has not been asked about; null: there is none. */
  oldestLossMs(): number | null {
    return this.#soonest((_, { lostAtMs }) => lostAtMs);
  }

  /** The leases that were lost at or before `atMs` and that the ledger has not been asked about. */
  lostBy(atMs: number): readonly PlacedLease[] {
    return this.#placed(({ lostAtMs }) => lostAtMs !== null && lostAtMs <= atMs);
  }

  /**
   * The ledger has spoken for leases that were lost: nothing of them is out any more. One that was heard of meanwhile, or of
   * which more was lost since, is left: it is asked about again.
   */
  ledgerSettled(lost: readonly PlacedLease[]): void {
    for (const { cell, life: number, lease } of lost) {
      const life = this.find(cell, number);
      const known = life?.leases.get(lease.n);
      if (life === undefined || known === undefined || known.lostAtMs !== lease.lostAtMs) continue;
      this.put(life, { ...known, released: known.granted, lostAtMs: null, settled: true });
    }
  }

  /** Pools of which leases are known. */
  pools(): ReadonlySet<string | null> {
    return new Set(this.#lives.flatMap(({ leases }) => [...leases.values()].map(({ pool }) => pool)));
  }

  /** The leases of a pool that are known. */
  ofPool(pool: string | null): readonly PlacedLease[] {
    return this.#placed((lease) => lease.pool === pool);
  }

  /** Pools with leases that changed since the last call. */
  takeChangedPools(): readonly (string | null)[] {
    const changed = [...this.#changedPools];
    this.#changedPools.clear();
    return changed;
  }

  /** Everything is about to be stored: forgets older lives of which nothing is out. */
  forgetOver(): void {
    for (const life of this.#lives) life.storedAskedN = life.askedN;
    const isOver = ({ settled, lostAtMs }: OutstandingLease) => settled && lostAtMs === null;
    const forgettable = (life: CellLife) => !this.isNewest(life) || life.cell === NOBODY.cell;
    const over = this.#lives.filter((life) => forgettable(life) && [...life.leases.values()].every(isOver));
    for (const life of over) {
      for (const { pool } of life.leases.values()) this.#changedPools.add(pool);
      this.#lives.splice(this.#lives.indexOf(life), 1);
    }
  }

  /** For restoring a life from storage. */
  restoreLife(cell: string, life: number, askedN: number, openedN: number, nowMs: number): void {
    const known = this.find(cell, life) ?? this.#begin(cell, life, nowMs);
    known.askedN = Math.max(known.askedN, askedN);
    known.storedAskedN = known.askedN;
    known.openedN = Math.max(known.openedN, openedN);
  }

  /** For restoring a lease from storage, unless a newer word on it is known. */
  restore({ cell, life, lease }: PlacedLease, nowMs: number): void {
    const known = this.find(cell, life) ?? this.#begin(cell, life, nowMs);
    if (!known.leases.has(lease.n)) this.put(known, lease);
  }

  /** What is out of a pool is not known any more, because a row was damaged: everything, until the ledger has been asked. */
  loseTrack(pool: string | null, amounts: Amounts, nowMs: number): void {
    const nobody = this.find(NOBODY.cell, NOBODY.life) ?? this.#begin(NOBODY.cell, NOBODY.life, nowMs);
    this.put(nobody, { ...newLease(nobody.openedN + 1, pool, amounts), lostAtMs: nowMs });
    nobody.openedN += 1;
  }

  #begin(cell: string, life: number, nowMs: number): CellLife {
    const begun = { cell, life, askedN: 0, openedN: 0, storedAskedN: 0, lastHeardMs: nowMs, leases: new Map() };
    this.#lives.push(begun);
    return begun;
  }

  #change(life: CellLife, which: (lease: OutstandingLease) => boolean, change: Partial<OutstandingLease>): void {
    for (const lease of life.leases.values()) if (which(lease)) this.put(life, { ...lease, ...change });
  }

  #placed(which: (lease: OutstandingLease) => boolean): readonly PlacedLease[] {
    return this.#lives.flatMap(({ cell, life, leases }) =>
      [...leases.values()].flatMap((lease) => (which(lease) ? [{ cell, life, lease }] : [])),
    );
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

  #newestLife(cell: string): number {
    return this.#lives.reduce((newest, known) => (known.cell === cell ? Math.max(newest, known.life) : newest), -1);
  }
}
