/**
 * Applies what a Cell says of its leases. A word is the whole of what there is to say of a lease, so what is new of it is its
 * difference to the word before; what was said already, and what is over, changes nothing. A request of which several lives of
 * the Cell tell is charged once (charged-requests.ts). Times here are of the authority's SteadyTime.
 */
import { type Amounts, beyondUsed, isNothing, larger, minus, NOTHING, NOTHING_USED, plus, smaller } from "./amounts.ts";
import type { LeaseReport, OpenedLease, Report, UsedLine } from "./api.ts";
import type { ChargedRequests } from "./charged-requests.ts";
import { type CellLife, newLease, type OutstandingLease, outOf } from "./outstanding-lease.ts";
import type { OutstandingLeases } from "./outstanding-leases.ts";

/** What a Cell's word on a lease changes. */
export interface LeaseChange {
  /** Tokens that come back to the bucket. */
  readonly bucketTokens: number;
  /** What is to be charged. */
  readonly charges: readonly UsedLine[];
}

const NO_CHANGE: LeaseChange = { bucketTokens: 0, charges: [] };

export class LeaseWords {
  readonly #leases: OutstandingLeases;
  readonly #charged: ChargedRequests;

  constructor(leases: OutstandingLeases, charged: ChargedRequests) {
    this.#leases = leases;
    this.#charged = charged;
  }

  /** Applies everything that a report says of leases, in order; answers what is new of it. */
  apply(life: CellLife, leases: readonly LeaseReport[], report: Report, nowMs: number): readonly LeaseChange[] {
    const changes = leases.flatMap((word) => this.#applyWord(life, word, nowMs) ?? []);
    return this.#leases.isNewest(life) ? [...changes, ...this.#takeVoid(life, report)] : changes;
  }

  /** Null: nothing new. */
  #applyWord(life: CellLife, word: LeaseReport, nowMs: number): LeaseChange | null {
    const { n, opened, request } = word;
    let known = life.leases.get(n);
    if (known === undefined) {
      // What is over is not known any more; what was never granted is void from now on.
      const over = n <= (opened === null ? life.askedN : life.openedN);
      if (over) return opened === null && n > life.storedAskedN ? NO_CHANGE : null;
      if (opened === null) life.askedN = n;
      else life.openedN = n;
      if (opened === null) return NO_CHANGE;
      known = this.#open(life, word, opened);
    }
    if (word.version <= known.version) return null;
    const used = { ...known.used };
    const told: UsedLine[] = [];
    for (const line of word.used) {
      const name = lineName(line);
      const beyond = beyondUsed(line.used, used[name] ?? NOTHING_USED);
      if (beyond.tokens === 0 && beyond.nanoUsd === 0) continue;
      used[name] = line.used;
      told.push({ ...line, used: beyond });
    }
    const ended = word.ended || known.ended;
    const lease = { ...known, used, version: word.version, ended };
    if (known.settled) {
      // What it used may be in the ledger's answer already.
      this.#leases.put(life, {
        ...lease,
        granted: plus(lease.granted, reservedFor(told)),
        lostAtMs: known.lostAtMs ?? nowMs,
      });
      return NO_CHANGE;
    }
    if (request !== null && opened !== null) {
      if (!ended || known.ended) {
        this.#leases.put(life, lease);
        return NO_CHANGE;
      }
      const due = this.#charged.told(
        {
          ...request,
          since: opened.as === "readmitted",
          used: told[0]?.used ?? NOTHING_USED,
          drawnTokens: opened.granted.bucketTokens,
        },
        life.life,
      );
      this.#leases.put(life, due.releases ? { ...lease, released: known.granted } : lease);
      return {
        bucketTokens: due.returnedTokens,
        charges: told.slice(0, 1).map((line) => ({ ...line, used: due.used })),
      };
    }
    const said = word.released === "all" ? known.granted : smaller(word.released, known.granted);
    const released = larger(known.released, said);
    this.#leases.put(life, { ...lease, released });
    return { bucketTokens: minus(released, known.released).bucketTokens, charges: told };
  }

  /** What a request holds that has a lease of its own now is held by that, and no longer by what it was drawn from. */
  #open(life: CellLife, { n, pool, request }: LeaseReport, { as, granted, from }: OpenedLease): OutstandingLease {
    const holds = (amounts: Amounts) => newLease(n, pool, amounts);
    if (request === null || isNothing(granted)) return holds(as === "counted" ? NOTHING : granted);
    if (as === "drawn") {
      // Also when a newer life holds it already: what this one holds besides is not released, and awaits the ledger.
      const drawnFrom = from === null ? undefined : life.leases.get(from);
      const missing = drawnFrom === undefined ? granted : this.#leases.move(life, drawnFrom, granted);
      return holds(minus(granted, missing));
    }
    const where = as === "adopted" ? this.#charged.adopted(request.id, life.life) : "newer";
    if (where === "newer") return holds(NOTHING);
    if (where === "nowhere") return holds(granted);
    this.#takeOver(life, pool, granted);
    return holds(granted);
  }

  /** Takes what a request drew in an earlier life of the cell out of whatever leases that one has of the pool. */
  #takeOver({ cell, life }: CellLife, pool: string | null, drawn: Amounts): void {
    let missing = drawn;
    for (const older of this.#leases.lives) {
      if (older.cell !== cell || older.life >= life) continue;
      for (const lease of older.leases.values()) {
        if (isNothing(missing)) return;
        if (lease.pool === pool) missing = this.#leases.move(older, lease, missing);
      }
    }
  }

  /** A lease that its Cell asked for before the report and does not know: its answer got lost, nothing was drawn from it. */
  #takeVoid(life: CellLife, { sequence, open }: Report): readonly LeaseChange[] {
    const changes: LeaseChange[] = [];
    for (const lease of life.leases.values()) {
      const before = lease.answered !== null && lease.n < sequence;
      if (!before || lease.settled || open.includes(lease.n)) continue;
      changes.push({ bucketTokens: outOf(lease).bucketTokens, charges: [] });
      this.#leases.put(life, { ...lease, released: lease.granted, ended: true });
    }
    return changes;
  }
}

/** What was used, as it would be reserved; nothing of the bucket, which was debited when the lease was granted. */
function reservedFor(lines: readonly UsedLine[]): Amounts {
  return lines.reduce(
    (sum, { used }) => plus(sum, { bucketTokens: 0, termTokens: used.tokens, nanoUsd: used.nanoUsd }),
    NOTHING,
  );
}

function lineName({ limits, tags }: UsedLine): string {
  return JSON.stringify([limits.key.id, tags.tenant, tags.key]);
}
