/**
 * The outstanding leases of one tenant's authority, by Cell and life of the Cell, and what they reserve of each budget. A lease
 * never ends by time alone: the Cell reports the end of a lease, and a life that stops reporting counts as spent until the
 * ledger has been asked (docs/rules/budgets.md#lives-of-a-cell). Times are of the authority's MonotonicClock.
 */
import { type Amounts, isNothing, larger, MAX_AMOUNTS, minus, NO_AMOUNTS, plus, smaller } from "../amounts.ts";
import { type BindingLimit, type BudgetReport, LEASE_MAX_MS } from "../messages/rpc.ts";
import type { GrantedLease, StoredLife, StoredState } from "./stored.ts";

/** One life of a cell. */
export interface CellLife {
  readonly cell: string;
  readonly life: number;
  /**
   * Newest number that the Cell has reported. A lease up to it that is neither known nor awaited is over, or was given up.
   */
  seenN: number;
  /** Leases that the Cell waits for and that were not granted, with the limit that refused; null: not decided yet. */
  awaited: Map<number, BindingLimit | null>;
  /**
   * Sequence of the newest report that was applied. A lease that the Cell opened before it and that is not known is over.
   */
  heardN: number;
  /** What `heardN` was at the last checkpoint. */
  storedN: number;
  lastHeardMs: number;
  /** What `lastHeardMs` was at the last checkpoint. */
  storedHeardMs: number;
  readonly leases: Map<number, GrantedLease>;
}

/**
 * How long the Cell's report of a lease's end may take after the lease should have ended: near a limit, and far from every
 * limit, where it is due within 10 s.
 */
const END_GRACE_MS = 5_000;
const AMPLE_END_GRACE_MS = 15_000;
/** After this time without a message, a Cell that has only running requests is taken for dead as well. */
const SILENCE_MS = 15 * 60_000;
/**
 * The first release reads only these reasons, and an operator may return to it. A refusal for another reason is decided again
 * after a restart.
 */
const READ_BY_FIRST_RELEASE: ReadonlySet<BindingLimit> = new Set(["rate", "key", "tenant"]);
/** The disk knows the last message of a Cell with outstanding leases this exactly. */
const HEARD_WITHIN_MS = SILENCE_MS / 3;

/** Refills the buckets of pools up to now, before their outstanding amount changes. */
type RefillPools = (pools: Iterable<string | null>) => void;

/** In place of a Cell, for a lease whose Cell is not known. No Cell has this name. */
const UNKNOWN_CELL = "";

export class GrantedLeases {
  #lives: CellLife[] = [];
  /**
   * The measure of how long a Cell has been silent has changed and is not stored. An object without messages is unloaded before
   * its next alarm, which starts from the disk. Without the stored value, each alarm would measure from the start.
   */
  unsaved = false;

  /** The stored state, with every lease granted since. */
  constructor({ tenant, grants, untracked }: StoredState, nowMs: number) {
    for (const { cell, life, seenN, awaited, heardN, heardMs = nowMs, leases } of tenant?.lives ?? []) {
      const restored = this.#life(cell, life, nowMs);
      const lastHeardMs = Math.min(nowMs, heardMs + HEARD_WITHIN_MS);
      const stored = { storedN: heardN, lastHeardMs, storedHeardMs: heardMs };
      Object.assign(restored, { seenN, awaited: new Map(awaited), heardN, ...stored });
      for (const lease of leases) restore(restored, lease, nowMs);
    }
    for (const { cell, life, lease } of grants.flatMap((row) => row.leases)) {
      restore(this.#life(cell, life, nowMs), lease, nowMs);
    }
    // A row was damaged, so the outstanding amount is unknown: assume everything until the ledger has been asked.
    if (untracked)
      restore(this.#life(UNKNOWN_CELL, 0, nowMs), { ...newLease(0, null, MAX_AMOUNTS), lostAtMs: nowMs }, nowMs);
  }

  /** Every known life. */
  get lives(): readonly CellLife[] {
    return this.#lives;
  }

  /** The pools of all leases. */
  pools(): ReadonlySet<string | null> {
    return new Set(this.#lives.flatMap(({ leases }) => Array.from(leases.values(), ({ pool }) => pool)));
  }

  /** What is out on lease of a key's own budget; null: of the tenant's budget. */
  leasedOut(keyId: string | null): Amounts {
    return this.#sum(keyId, unreturned);
  }

  /**
   * The known outstanding amounts, without those that a damaged row may have had, which were counted as spent when the object
   * started.
   */
  knownOut(keyId: string | null): Amounts {
    return this.#sum(keyId, (lease, cell) => (cell === UNKNOWN_CELL ? NO_AMOUNTS : unreturned(lease)));
  }

  /** What Cells may still spend of it. */
  unspent(keyId: string | null): Amounts {
    return this.#sum(keyId, unspent);
  }

  find(cell: string, life: number): CellLife | undefined {
    return this.#lives.find((known) => known.cell === cell && known.life === life);
  }

  /** Whether no newer life of the cell is known. */
  isNewest({ cell, life }: Pick<CellLife, "cell" | "life">): boolean {
    return !this.#lives.some((known) => known.cell === cell && known.life > life);
  }

  /**
   * Notes a message from a life of a Cell: that life runs, and older lives of the Cell are over. Null: the life itself is over
   * and forgotten.
   */
  heardFrom(cell: string, life: number, nowMs: number, refill: RefillPools): CellLife | null {
    const newest = this.isNewest({ cell, life });
    if (!newest && this.find(cell, life) === undefined) return null;
    const heard = this.#life(cell, life, nowMs);
    heard.lastHeardMs = nowMs;
    if (nowMs - heard.storedHeardMs > HEARD_WITHIN_MS && heard.leases.size > 0) this.unsaved = true;
    if (!newest) return heard;
    const lost: GrantedLease[] = [];
    for (const each of this.#lives.filter((other) => other.cell === cell))
      for (const lease of each.leases.values()) {
        if (lease.settled || isOver(lease)) continue;
        if (each !== heard) lost.push(lease);
        else if (lease.lostAtMs !== null) {
          lease.lostAtMs = null;
          this.unsaved = true;
        }
      }
    this.#lose(lost, nowMs, refill);
    return heard;
  }

  /**
   * Takes leases for lost whose Cell did not report their end in time, and all leases of a Cell that has long been silent.
   */
  declareLost(nowMs: number, refill: RefillPools): void {
    const lost = this.#lives.flatMap((life) =>
      [...life.leases.values()].filter((lease) => (lossDueMs(life, lease) ?? Infinity) <= nowMs),
    );
    this.#lose(lost, nowMs, refill);
  }

  /** When {@link declareLost} may next find something; null: never. */
  nextLossMs(): number | null {
    return this.#soonest(lossDueMs);
  }

  /** When the oldest lost lease was lost among those that the ledger has not been asked about; null if there is none. */
  oldestLossMs(): number | null {
    return this.#soonest((_, { lostAtMs }) => lostAtMs);
  }

  /** The pools of leases that were lost at or before `atMs` and about which the ledger has not been asked. */
  lostPools(atMs: number): ReadonlySet<string | null> {
    const pools = new Set<string | null>();
    for (const { leases } of this.#lives)
      for (const { lostAtMs, pool } of leases.values()) if (lostAtMs !== null && lostAtMs <= atMs) pools.add(pool);
    return pools;
  }

  /** The Cells of leases that were lost at or before `atMs` and that the ledger has not been asked about, if they are known. */
  lostCells(atMs: number): readonly string[] {
    const isLost = ({ lostAtMs }: GrantedLease): boolean => lostAtMs !== null && lostAtMs <= atMs;
    const lives = this.#lives.filter(({ cell, leases }) => cell !== UNKNOWN_CELL && [...leases.values()].some(isLost));
    return [...new Set(lives.map(({ cell }) => cell))];
  }

  /**
   * Notes that the ledger has answered for leases that were lost at or before `atMs`, but those of the pools `unanswered`:
   * nothing of them is outstanding any more. A lease that was reported meanwhile stays.
   */
  ledgerSettled(atMs: number, unanswered: ReadonlySet<string | null>): void {
    for (const { leases } of this.#lives)
      for (const lease of leases.values())
        if (lease.lostAtMs !== null && lease.lostAtMs <= atMs && !unanswered.has(lease.pool))
          Object.assign(lease, { released: lease.granted, lostAtMs: null, settled: true });
  }

  /** Forgets what is over, including older lives without outstanding leases. Returns the rest, to be stored now. */
  toStore(): readonly StoredLife[] {
    this.unsaved = false;
    const rests = ({ settled, lostAtMs }: GrantedLease) => settled && lostAtMs === null;
    for (const life of this.#lives) {
      life.storedN = life.heardN;
      life.storedHeardMs = life.lastHeardMs;
      // The Cell may still report the use of a lease that the ledger settled.
      const awaitsWord = (lease: GrantedLease) => lease.settled && lease.answered !== null && this.isNewest(life);
      for (const lease of life.leases.values()) if (isOver(lease) && !awaitsWord(lease)) life.leases.delete(lease.n);
    }
    this.#lives = this.#lives.filter(
      (life) => (life.cell !== UNKNOWN_CELL && this.isNewest(life)) || ![...life.leases.values()].every(rests),
    );
    return this.#lives.map(({ cell, life, seenN, awaited, heardN, lastHeardMs: heardMs, leases }) => {
      const refusals = Array.from(
        awaited,
        ([n, why]) => [n, why !== null && READ_BY_FIRST_RELEASE.has(why) ? why : null] as const,
      );
      return { cell, life, seenN, awaited: refusals, heardN, heardMs, leases: [...leases.values()] };
    });
  }

  /** From now on buckets refill what Cells could have spent of these leases. */
  #lose(leases: readonly GrantedLease[], nowMs: number, refill: RefillPools): void {
    const lost = leases.filter(({ lostAtMs }) => lostAtMs === null);
    if (lost.length === 0) return;
    refill(lost.map(({ pool }) => pool));
    for (const lease of lost) {
      lease.forgone = larger(lease.forgone ?? NO_AMOUNTS, unspent(lease));
      lease.lostAtMs = nowMs;
    }
    this.unsaved = true;
  }

  #sum(keyId: string | null, part: (lease: GrantedLease, cell: string) => Amounts): Amounts {
    let sum = NO_AMOUNTS;
    for (const { cell, leases } of this.#lives)
      for (const lease of leases.values())
        if (keyId === null || lease.pool === keyId || cell === UNKNOWN_CELL) sum = plus(sum, part(lease, cell));
    return sum;
  }

  /** The record of a life; it is created when the life is new. */
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
      storedHeardMs: nowMs,
      leases: new Map(),
    };
    this.#lives.push(begun);
    return begun;
  }

  #soonest(timeOf: (life: CellLife, lease: GrantedLease) => number | null): number | null {
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
 * Takes in a lease from storage, unless a newer state of it is known. Its times become now at the latest: an earlier life
 * of the object may have had another clock, or one that was ahead.
 */
function restore(life: CellLife, lease: GrantedLease, nowMs: number): void {
  if (life.leases.has(lease.n)) return;
  const untilMs = lease.untilMs === null ? null : Math.min(lease.untilMs, nowMs + LEASE_MAX_MS);
  const lostAtMs = lease.lostAtMs === null ? null : Math.min(lease.lostAtMs, nowMs);
  life.leases.set(lease.n, { ...lease, untilMs, lostAtMs });
  life.awaited.delete(lease.n);
}

/** A lease that nothing has been reported of yet. */
export function newLease(n: number, pool: string | null, granted: Amounts): GrantedLease {
  const nothing = { released: NO_AMOUNTS, moved: NO_AMOUNTS, used: {}, ended: false };
  return { n, pool, granted, ...nothing, untilMs: null, answered: null, lostAtMs: null, settled: false };
}

/**
 * Records the leases that the Cell waits for. A lease that a report leaves out was given up, unless the report is older.
 */
export function noteAwaited(life: CellLife, { sequence, open }: BudgetReport): void {
  const { awaited, leases, seenN } = life;
  const newestN = open.reduce((newest, n) => Math.max(newest, n), sequence);
  if (newestN < seenN) return;
  const waits = open.filter((n) => awaited.has(n) || (n > seenN && !leases.has(n)));
  life.awaited = new Map(waits.map((n) => [n, awaited.get(n) ?? null]));
  life.seenN = newestN;
}

/** Whether a newer lease of the pool is known: a Cell requests one at a time, and has given up the earlier ones. */
export function isOvertaken({ leases }: CellLife, pool: string | null, n: number): boolean {
  return [...leases.values()].some((lease) => lease.answered !== null && lease.pool === pool && lease.n > n);
}

/** The part of a lease that is neither used nor returned. */
export function unreturned({ granted, released, moved }: GrantedLease): Amounts {
  return minus(minus(granted, released), moved);
}

/** The part of a lease that its Cell may still spend; a Cell that is taken for dead spends nothing. */
function unspent(lease: GrantedLease): Amounts {
  if (lease.untilMs === null || lease.ended || lease.lostAtMs !== null || lease.settled) return NO_AMOUNTS;
  return smaller(unreturned(lease), lease.spare ?? lease.granted);
}

/** The amount that returns to the buckets when amounts are returned to a lease; `used` of it was spent. */
export function comesBack(lease: GrantedLease, returned: Amounts, used: Amounts): Amounts {
  if (lease.forgone === undefined) return returned;
  const refilled = smaller(lease.forgone, minus(returned, used));
  lease.forgone = minus(lease.forgone, refilled);
  return minus(returned, refilled);
}

/** Takes amounts out of a lease, for another lease to hold; returns the missing part. */
export function moveOut(lease: GrantedLease, amounts: Amounts): Amounts {
  const taken = smaller(amounts, unreturned(lease));
  lease.moved = plus(lease.moved, taken);
  return minus(amounts, taken);
}

/** True when nothing more can change for it. */
function isOver(lease: GrantedLease): boolean {
  return lease.ended && lease.lostAtMs === null && isNothing(unreturned(lease));
}

/**
 * When a lease is taken for lost if its Cell reports nothing more; null: it is lost already, or nothing more can change.
 */
function lossDueMs({ lastHeardMs }: CellLife, lease: GrantedLease): number | null {
  if (lease.lostAtMs !== null || lease.settled || isOver(lease)) return null;
  const silentMs = lastHeardMs + SILENCE_MS;
  if (lease.ended || lease.untilMs === null) return silentMs;
  return Math.min(silentMs, lease.untilMs + (lease.answered?.ample === true ? AMPLE_END_GRACE_MS : END_GRACE_MS));
}
