/**
 * What a wallet knows: its purses, the reservations that live requests drew, what is still to be told, the level of the bucket,
 * its time, and the faults that nobody has been told of yet. The wallet and its lending decide by it; nobody else reads it.
 */
import { type Amounts, NOTHING } from "./amounts.ts";
import type { SettleLine, Tags } from "./api.ts";
import { KnownBucket } from "./known-bucket.ts";
import { type BudgetLimits, countedBy, needsLease } from "./limits.ts";
import { Outbox } from "./outbox.ts";
import { Purses } from "./purses.ts";
import { SteadyTime } from "./steady-time.ts";
import { tagsOf } from "./tags.ts";
import type { MonthOf } from "./term-budget.ts";
import type { BucketLevel } from "./token-bucket.ts";
import type { Fault } from "./verdict.ts";
import type { Waiter } from "./waiter.ts";

export interface Reservation {
  readonly limits: BudgetLimits;
  readonly tags: Tags;
  readonly purse: string | null;
  readonly drawn: Amounts;
  readonly origin: Origin;
}

/** Drawn from a lease of this wallet, or not checked; drawn in an earlier life of the cell; or settled before in this one. */
export type Origin = "drawn" | "adopted" | "readmitted";

/** Settlements leave within this time: of tenants with caps, and of those that are only counted. */
const REPORT_MS = 1_000;
const COUNT_MS = 10_000;

export class WalletState {
  readonly outbox: Outbox;
  readonly purses: Purses;
  readonly reservations = new Map<string, Reservation>();
  readonly bucket = new KnownBucket();
  readonly time = new SteadyTime();
  readonly #monthOf: MonthOf;
  #faults: Fault[] = [];

  constructor(cell: string, epoch: number, monthOf: MonthOf) {
    this.outbox = new Outbox(cell, epoch);
    this.purses = new Purses(this.outbox, (line, atMs) => this.tell(line, atMs));
    this.#monthOf = monthOf;
  }

  /** A request under its limits, in the periods of the clock's `nowMs`. */
  waiter(requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): Waiter {
    return { requestId, limits, tags: this.tags(limits, nowMs), need: countedBy(limits, need) };
  }

  tags(limits: BudgetLimits, nowMs: number): Tags {
    return tagsOf(limits, nowMs, this.#monthOf);
  }

  /** A request holds what it drew; nothing by default, for one that is charged at its end only. */
  hold(
    { requestId, limits, tags }: Waiter,
    purse: string | null = null,
    drawn = NOTHING,
    origin: Origin = "drawn",
  ): void {
    this.reservations.set(requestId, { limits, tags, purse, drawn, origin });
  }

  /** Puts down what the budget object is to be told, by the time that its limits allow. */
  tell(line: SettleLine, atMs: number): void {
    this.outbox.add(line, atMs + (needsLease(line.limits) ? REPORT_MS : COUNT_MS));
    if (line.kind === "settled") this.bucket.told(line.released.bucketTokens - line.used.tokens);
  }

  /** Object level plus what this cell holds; undefined: unknown here. */
  level(limits: BudgetLimits, atMs: number): BucketLevel | null | undefined {
    return this.bucket.level(limits, this.purses.heldTokens, atMs);
  }

  /** Takes note of a fault; false when there is none. */
  isFault(field: string | null, consequence: string): boolean {
    if (field !== null) this.#faults.push({ field, consequence });
    return field !== null;
  }

  takeFaults(): readonly Fault[] {
    const faults = this.#faults;
    if (faults.length > 0) this.#faults = [];
    return faults;
  }
}
