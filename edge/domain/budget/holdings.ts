/**
 * What is out on lease, per life of a cell (epoch) and purse, and what that reserves of each term budget. Granted and
 * released are running totals: the difference is out. Nothing comes back by the passing of time alone - the Cell that
 * holds it says what it did not use when the lease ends; a holding that falls silent stays counted until the ledger
 * has been asked (decisions §19.1). Times here are of the authority's SteadyTime.
 */
import { type Amounts, EVERYTHING, isNothing, minus, smaller } from "./amounts.ts";
import { addTotals, amountsOf, NO_TOTALS, positive, subtractTotals, type Totals, totalsOf } from "./totals.ts";

export interface LastLease {
  readonly n: number;
  readonly grant: Amounts;
  readonly ttlMs: number;
}

export interface Holding {
  readonly granted: Totals;
  /** Taken over from an earlier life of the cell. */
  readonly adopted: Totals;
  readonly released: Totals;
  /** The newest lease; null before the first. */
  readonly last: LastLease | null;
  /** Highest `n` that has been answered or ended; lower asks are stale. */
  readonly newestN: number;
  /** By when the Cell reports the end of the newest lease, on the authority's clock; null once it has. */
  readonly openUntilMs: number | null;
}

export interface EpochState {
  readonly cell: string;
  readonly epoch: number;
  applied: number;
  durable: number;
  lastHeardMs: number;
  /** Since when the epoch is taken for dead; null while it lives. */
  lostAtMs: number | null;
  readonly holdings: Map<string | null, Holding>;
}

export const NO_HOLDING: Holding = {
  granted: NO_TOTALS,
  adopted: NO_TOTALS,
  released: NO_TOTALS,
  last: null,
  newestN: 0,
  openUntilMs: null,
};

/** After a lease should have ended, how long its end may still be under way. */
const END_GRACE_MS = 5_000;
/** What a live cell lost within such a span is one life that is over, so that the ledger is asked about it once. */
const LOST_SPAN_MS = 30_000;
/** Without a word for this long a cell that has only running requests is taken for dead as well. */
const SILENCE_MS = 15 * 60_000;

function exactlyOut({ granted, adopted, released }: Holding): Totals {
  return positive(subtractTotals(addTotals(granted, adopted), released));
}

/** What is out of a holding; {@link EVERYTHING} stands for any more than that. */
export function outOf(holding: Holding): Amounts {
  return amountsOf(exactlyOut(holding));
}

/** All epochs of all cells that hold something of one tenant, with running sums. */
export class Holdings {
  readonly #epochs: EpochState[] = [];
  #tenantOut: Totals = NO_TOTALS;
  readonly #keyOut = new Map<string, Totals>();
  /** The life of each cell that takes what it loses sight of now. */
  readonly #losing = new Map<string, { readonly epoch: number; readonly sinceMs: number }>();

  get all(): readonly EpochState[] {
    return this.#epochs;
  }

  /** Out on lease of the tenant's budgets. */
  get tenantOut(): Amounts {
    return amountsOf(this.#tenantOut);
  }

  /** Out on lease of a key's own budget. */
  keyOut(keyId: string): Amounts {
    return amountsOf(this.#keyOut.get(keyId) ?? NO_TOTALS);
  }

  find(cell: string, epoch: number): EpochState | undefined {
    return this.#epochs.find((state) => state.cell === cell && state.epoch === epoch);
  }

  newestEpoch(cell: string): number {
    return this.#epochs.reduce((newest, state) => (state.cell === cell ? Math.max(newest, state.epoch) : newest), -1);
  }

  /** A word from an epoch: it lives; older lives of its cell are over. Null: the epoch itself is over and forgotten. */
  hear(cell: string, epoch: number, base: number, nowMs: number): EpochState | null {
    const newest = this.newestEpoch(cell);
    const known = this.find(cell, epoch);
    if (known !== undefined) {
      known.lastHeardMs = nowMs;
      if (epoch === newest) known.lostAtMs = null;
      return known;
    }
    if (epoch < newest) return null;
    for (const older of this.#epochs) {
      if (older.cell === cell) older.lostAtMs ??= nowMs;
    }
    const state: EpochState = {
      cell,
      epoch,
      applied: base,
      durable: base,
      lastHeardMs: nowMs,
      lostAtMs: null,
      holdings: new Map(),
    };
    this.#epochs.push(state);
    return state;
  }

  /** Replaces a holding and keeps the sums. */
  put(state: EpochState, purse: string | null, holding: Holding): void {
    const before = exactlyOut(state.holdings.get(purse) ?? NO_HOLDING);
    const change = subtractTotals(exactlyOut(holding), before);
    state.holdings.set(purse, holding);
    this.#tenantOut = addTotals(this.#tenantOut, change);
    if (purse !== null) this.#keyOut.set(purse, addTotals(this.#keyOut.get(purse) ?? NO_TOTALS, change));
  }

  /** Ends reservations of a live holding, at most what is out. */
  release(state: EpochState, purse: string | null, released: Amounts): void {
    const holding = state.holdings.get(purse) ?? NO_HOLDING;
    const taken = smaller(released, outOf(holding));
    if (!isNothing(taken))
      this.put(state, purse, { ...holding, released: addTotals(holding.released, totalsOf(taken)) });
  }

  /** A life holds what a request had drawn, whoever held it before. */
  hold(heir: EpochState, purse: string | null, drawn: Amounts): void {
    const own = heir.holdings.get(purse) ?? NO_HOLDING;
    this.put(heir, purse, { ...own, adopted: addTotals(own.adopted, totalsOf(drawn)) });
  }

  /** Moves reservations that older lives of the cell had drawn to this one; answers the lives that changed. */
  adopt(heir: EpochState, purse: string | null, drawn: Amounts): readonly EpochState[] {
    this.hold(heir, purse, drawn);
    let rest = drawn;
    const touched: EpochState[] = [];
    for (const state of this.#epochs) {
      if (state.cell !== heir.cell || state.epoch >= heir.epoch) continue;
      const taken = smaller(rest, outOf(state.holdings.get(purse) ?? NO_HOLDING));
      if (isNothing(taken)) continue;
      this.release(state, purse, taken);
      rest = minus(rest, taken);
      touched.push(state);
    }
    return touched;
  }

  /**
   * Moves reservations that a cell lost sight of to a life of it that is over: they stay out until the ledger has been asked,
   * or are adopted after all. Answers that life; its number is none that a cell gives itself.
   */
  lose(state: EpochState, purse: string | null, lost: Amounts, nowMs: number): EpochState {
    const holding = state.holdings.get(purse) ?? NO_HOLDING;
    const taken = smaller(lost, outOf(holding));
    this.release(state, purse, taken);
    return this.#losesSightOf(state.cell, purse, taken, nowMs);
  }

  /**
   * What is out of a purse is not known any more, because its row was damaged: everything counts as out, until the ledger has
   * been asked. Answers the life that holds it.
   */
  loseTrack(cell: string, purse: string | null, nowMs: number): EpochState {
    return this.#losesSightOf(cell, purse, EVERYTHING, nowMs);
  }

  /** Takes silent epochs for dead: one whose lease never ended, or that holds something and has long said nothing. */
  bury(nowMs: number): void {
    for (const state of this.#epochs) {
      if (state.lostAtMs !== null) continue;
      const unended = [...state.holdings.values()].some(
        (holding) => holding.openUntilMs !== null && holding.openUntilMs + END_GRACE_MS <= nowMs,
      );
      const silent = state.lastHeardMs + SILENCE_MS <= nowMs && this.#holdsAnything(state);
      if (unended || silent) state.lostAtMs = nowMs;
    }
  }

  /** When {@link bury} may next find something; null: never. */
  nextBurialMs(): number | null {
    let next: number | null = null;
    const sooner = (atMs: number): void => {
      next = next === null ? atMs : Math.min(next, atMs);
    };
    for (const state of this.#epochs) {
      if (state.lostAtMs !== null) continue;
      for (const holding of state.holdings.values()) {
        if (holding.openUntilMs !== null) sooner(holding.openUntilMs + END_GRACE_MS);
      }
      if (this.#holdsAnything(state)) sooner(state.lastHeardMs + SILENCE_MS);
    }
    return next;
  }

  /** Epochs taken for dead at or before `atMs`, while they hold something. */
  lostBefore(atMs: number): readonly EpochState[] {
    return this.#epochs.filter(
      (state) => state.lostAtMs !== null && state.lostAtMs <= atMs && this.#holdsAnything(state),
    );
  }

  /** The ledger has spoken for this epoch: nothing of it is out any more. Its sequence numbers stay known. */
  clear(state: EpochState): void {
    for (const [purse, holding] of state.holdings) {
      const released = addTotals(holding.granted, holding.adopted);
      this.put(state, purse, { ...holding, released, openUntilMs: null });
    }
  }

  /** Forgets older lives that hold nothing; answers them. */
  forgetEmpty(): readonly EpochState[] {
    const gone = this.#epochs.filter(
      (state) => state.epoch < this.newestEpoch(state.cell) && !this.#holdsAnything(state),
    );
    for (const state of gone) this.#epochs.splice(this.#epochs.indexOf(state), 1);
    return gone;
  }

  /** For restoring from storage. */
  add(state: EpochState): void {
    this.#epochs.push({ ...state, holdings: new Map() });
    const added = this.find(state.cell, state.epoch);
    if (added === undefined) return;
    for (const [purse, holding] of state.holdings) this.put(added, purse, holding);
  }

  #losesSightOf(cell: string, purse: string | null, amounts: Amounts, nowMs: number): EpochState {
    const past = this.#lostLife(cell, nowMs);
    const own = past.holdings.get(purse) ?? NO_HOLDING;
    this.put(past, purse, { ...own, adopted: addTotals(own.adopted, totalsOf(amounts)) });
    return past;
  }

  /** Its number is below every other of the cell: older than any life that the cell itself has had. */
  #lostLife(cell: string, nowMs: number): EpochState {
    const losing = this.#losing.get(cell);
    const known = losing === undefined ? undefined : this.find(cell, losing.epoch);
    if (losing !== undefined && known !== undefined && nowMs < losing.sinceMs + LOST_SPAN_MS) {
      known.lostAtMs = nowMs;
      return known;
    }
    const epoch =
      this.#epochs.reduce((lowest, state) => (state.cell === cell ? Math.min(lowest, state.epoch) : lowest), 0) - 1;
    const past = { cell, epoch, applied: 0, durable: 0, lastHeardMs: nowMs, lostAtMs: nowMs, holdings: new Map() };
    this.#epochs.push(past);
    this.#losing.set(cell, { epoch, sinceMs: nowMs });
    return past;
  }

  #holdsAnything(state: EpochState): boolean {
    return [...state.holdings.values()].some((holding) => !isNothing(outOf(holding)));
  }
}
