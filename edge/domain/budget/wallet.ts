/**
 * A Cell's side of one tenant's budgets: its purses, the reservations that live requests drew from them, and what is
 * still to be told to the budget object. It decides nothing but by what it holds; the authority is TenantBudgetCore.
 * Pure: the Cell sends the messages that it answers with and brings back what came of them.
 *
 * How a Cell uses it (one Wallet per tenant id; drop it when {@link Wallet.idle}, with a larger epoch for the next one):
 * 1. queued by the scheduler: `expect`, so that a lease is there when the slot is; left the queue: `withdraw`;
 * 2. granted by the scheduler: `reserve`; its `decided` effect comes at once or after a message. Meanwhile the slot is
 *    taken; on arrival re-check that the waiter is still there, else `withdraw`. ok: go on. refused: slot back, charge
 *    undone, answer `code`. unavailable: `code`, or with failing open `admitUnchecked` and go on;
 * 3. end of the request: `settle` with what was used; zero for a full refund. A second call changes nothing;
 * 4. sub-calls of boons: `charge`; a slot taken over from a Cell that died: `adopt` (never `reserve`);
 * 5. below saturation (design §12): `lend` to an isolate, `carve` what a request of it took, then `settle` as ever;
 *    `takeBack` the rest when the loan ends, `writeOff` when nobody can say what became of it;
 * 6. effect `ask`: call TenantBudget.lease(request) (1 s deadline, one retry with the same request), then `answered` or
 *    `failed`; effect `report`: TenantBudget.settleBatch(report), then `reported` or `reportFailed`; effect `alert`: hand
 *    it to the Ledger, then `alertSafe`; keep one timer at {@link Wallet.nextWakeMs} and call `tick`.
 */
import { type Allowance, Allowances } from "./allowances.ts";
import { type Actual, type Amounts, isNothing, NOTHING } from "./amounts.ts";
import type { LeaseAnswer, LeaseRequest, LineKind, Report, ReportAnswer, SettleLine, Tags } from "./api.ts";
import { KnownBucket } from "./known-bucket.ts";
import { type BudgetLimits, countedBy, needsLease, purseOf, unavailableCode } from "./limits.ts";
import { Outbox } from "./outbox.ts";
import { Purse } from "./purse.ts";
import { NO_TAGS, tagsOf } from "./tags.ts";
import type { MonthOf } from "./term-budget.ts";
import { adjustBucket, type BucketLevel } from "./token-bucket.ts";
import { type LendAnswer, type LentAmounts, REFUSAL_CODES, type Verdict, type WalletEffect } from "./verdict.ts";
import type { Outcome, Waiter } from "./waiter.ts";

interface Reservation {
  readonly limits: BudgetLimits;
  readonly tags: Tags;
  readonly purse: string | null;
  readonly drawn: Amounts;
  /** Drawn from no lease of this wallet. */
  readonly adopted: boolean;
}

const NOTHING_USED: Actual = { tokens: 0, nanoUsd: 0 };
/** Settlements leave within this time: of tenants with caps, and of those that are only counted. */
const REPORT_MS = 1_000;
const COUNT_MS = 10_000;

export class Wallet {
  readonly #monthOf: MonthOf;
  readonly #outbox: Outbox;
  readonly #purses = new Map<string | null, Purse>();
  readonly #reservations = new Map<string, Reservation>();
  readonly #allowances = new Allowances();
  readonly #bucket = new KnownBucket();

  /** `epoch`: larger than that of any Wallet of this cell for this tenant before; the clock in ms will do. */
  constructor(cell: string, epoch: number, monthOf: MonthOf) {
    this.#outbox = new Outbox(cell, epoch);
    this.#monthOf = monthOf;
  }

  /** Nothing held, nobody waiting, everything told and stored. */
  get idle(): boolean {
    const resting = this.#reservations.size === 0 && this.#allowances.size === 0 && this.#outbox.empty;
    return resting && [...this.#purses.values()].every((purse) => purse.idle);
  }

  /** Since when settlements cannot be delivered; alert after 30 s (decisions §19.5). */
  get undeliveredSinceMs(): number | null {
    return this.#outbox.failingSinceMs;
  }

  /** A request that waits for its slot. Nothing is decided. */
  expect(requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): readonly WalletEffect[] {
    if (!needsLease(limits)) return [];
    const waiter = this.#waiter(requestId, limits, need, nowMs);
    const purse = this.#purse(purseOf(limits));
    purse.expect(waiter);
    return this.#pump(purse, nowMs);
  }

  /** Draws for a request that has its slot: bucket, key budget and tenant budget at once, or none. */
  reserve(requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): readonly WalletEffect[] {
    const waiter = this.#waiter(requestId, limits, need, nowMs);
    if (!needsLease(limits)) {
      this.#hold(waiter, null, NOTHING);
      return [{ type: "decided", requestId, verdict: { kind: "ok", level: null } }];
    }
    const purse = this.#purse(purseOf(limits));
    purse.wait(waiter);
    return this.#pump(purse, nowMs);
  }

  /** A request that no longer wants what it expected, waits for, or drew. */
  withdraw(requestId: string, nowMs: number): readonly WalletEffect[] {
    for (const purse of this.#purses.values()) purse.forget(requestId);
    this.settle(requestId, NOTHING_USED, nowMs);
    return this.tick(nowMs);
  }

  /** Goes on without the check (GATEWAY_FAIL_OPEN): nothing is reserved, what it uses is charged at the end. */
  admitUnchecked(requestId: string, limits: BudgetLimits, nowMs: number): void {
    this.#hold(this.#waiter(requestId, limits, NOTHING, nowMs), null, NOTHING);
  }

  /** A request that drew `need` in an earlier life of this cell. */
  adopt(requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): void {
    const waiter = this.#waiter(requestId, limits, need, nowMs);
    const leased = needsLease(limits);
    const purse = purseOf(limits);
    this.#hold(waiter, purse, leased ? waiter.need : NOTHING, leased);
    if (!leased) return;
    const { tags, need: released } = waiter;
    this.#outbox.add({ purse, limits, tags, released, used: NOTHING_USED, kind: "adopted" }, nowMs);
  }

  /**
   * Adds to the allowance of a loan at once, or not at all (`lent` null): at least `atLeast`, at most `want`. Nothing is
   * reserved where nothing binds. An ask may come of it, so that there is something to lend the next time.
   */
  lend(loanId: string, limits: BudgetLimits, want: Amounts, atLeast: Amounts, nowMs: number): LendAnswer {
    if (!needsLease(limits)) return { lent: { amounts: want, level: null }, effects: [] };
    const wanted = countedBy(limits, want);
    if (isNothing(wanted)) return { lent: this.#lent(limits, NOTHING, nowMs), effects: [] };
    const purse = this.#purse(purseOf(limits));
    purse.expire(nowMs);
    const piece = this.#waiter(loanId, limits, atLeast, nowMs);
    const may = this.#allowances.mayGrow(loanId, limits);
    const amounts = may ? purse.lend(limits, wanted, piece.need, nowMs) : null;
    if (amounts !== null) this.#allowances.add(loanId, limits, amounts);
    const request = purse.nextAskToLend(piece, wanted, nowMs);
    const lent = amounts === null ? null : this.#lent(limits, amounts, nowMs);
    return { lent, effects: request === null ? [] : [{ type: "ask", request }] };
  }

  /**
   * A request drew `need` on the allowance of a loan; it holds what there was of it. It is charged at its end when nothing was
   * lent. What a request drew that has a reservation, or is about to have one, comes back; one that was adopted keeps it, and
   * what it was adopted with ends.
   */
  carve(loanId: string, requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): void {
    const waiter = this.#waiter(requestId, limits, need, nowMs);
    const part = this.#allowances.split(loanId, waiter.need);
    const held = this.#reservations.get(requestId);
    const early = part !== undefined && held?.adopted === true;
    if (early) this.#end({ ...held, amounts: held.drawn }, "doubled", nowMs);
    if (!early && this.#knows(requestId)) this.#end(part, "settled", nowMs);
    else this.#hold(waiter, part?.purse ?? null, part?.amounts ?? NOTHING);
  }

  /** The loan has ended: the rest of its allowance comes back unused. */
  takeBack(loanId: string, nowMs: number): void {
    this.#end(this.#allowances.end(loanId), "settled", nowMs);
  }

  /** The loan is lost: the rest of its allowance counts as spent, until the ledger has been asked or a request is adopted. */
  writeOff(loanId: string, nowMs: number): void {
    this.#end(this.#allowances.end(loanId), "lost", nowMs);
  }

  /** Ends a reservation with what was used; only the first call counts. */
  settle(requestId: string, used: Actual, nowMs: number): void {
    const reservation = this.#reservations.get(requestId);
    if (reservation === undefined) return;
    this.#reservations.delete(requestId);
    const { limits, tags, purse, drawn } = reservation;
    this.#tell({ purse, limits, tags, released: drawn, used, kind: "settled" }, nowMs);
  }

  /** Usage without a reservation: sub-calls of boons, a request whose life nobody followed. */
  charge(limits: BudgetLimits, used: Actual, nowMs: number): void {
    const tags = tagsOf(limits, nowMs, this.#monthOf);
    this.#tell({ purse: null, limits, tags, released: NOTHING, used, kind: "settled" }, nowMs);
  }

  answered(request: LeaseRequest, answer: LeaseAnswer, nowMs: number): readonly WalletEffect[] {
    // What was settled while the answer was on its way is not in it.
    this.#bucket.heard(adjustBucket(answer.bucket, this.#outbox.bucketGainAfter(answer.report.applied)), nowMs);
    const alerts = this.#heard(request.report, answer.report, nowMs);
    const purse = this.#purse(request.purse);
    const decided = this.#decided(purse.answered(request.n, answer, nowMs), nowMs);
    return [...alerts, ...decided, ...this.#pump(purse, nowMs), ...this.tick(nowMs)];
  }

  /** The lease got no answer in time, twice. */
  failed(request: LeaseRequest, nowMs: number): readonly WalletEffect[] {
    this.#outbox.failed(nowMs);
    const purse = this.#purse(request.purse);
    return [...this.#decided(purse.failed(request.n, nowMs), nowMs), ...this.#pump(purse, nowMs)];
  }

  reported(report: Report, answer: ReportAnswer, nowMs: number): readonly WalletEffect[] {
    this.#outbox.reporting = false;
    return [...this.#heard(report, answer, nowMs), ...this.tick(nowMs)];
  }

  reportFailed(nowMs: number): void {
    this.#outbox.reporting = false;
    this.#outbox.failed(nowMs);
  }

  /** An alert that was handed on is durable elsewhere; until then the object keeps it. */
  alertSafe(id: string): void {
    this.#outbox.alertSafe(id);
  }

  /** Gives back what ended, and reports what is due. */
  tick(nowMs: number): readonly WalletEffect[] {
    const effects: WalletEffect[] = [];
    for (const purse of this.#purses.values()) {
      purse.expire(nowMs);
      effects.push(...this.#pump(purse, nowMs));
      if (purse.idle) this.#purses.delete(purse.id);
    }
    const due = this.#outbox.nextMs();
    if (due === null || due > nowMs) return effects;
    this.#outbox.reporting = true;
    return [...effects, { type: "report", report: this.#outbox.report(nowMs) }];
  }

  /** When to call {@link tick}; null: nothing to do until something happens. */
  nextWakeMs(): number | null {
    const ends = [...this.#purses.values()].map((purse) => purse.endsAtMs);
    const all = [...ends, this.#outbox.nextMs()].filter((at) => at !== null);
    return all.length === 0 ? null : Math.min(...all);
  }

  /** Object level plus what this cell holds (decisions §19.1); undefined: unknown here, ask TenantBudget.level. */
  level(limits: BudgetLimits, nowMs: number): BucketLevel | null | undefined {
    let held = 0;
    for (const purse of this.#purses.values()) held += purse.held.bucketTokens;
    return this.#bucket.level(limits, held, nowMs);
  }

  #pump(purse: Purse, nowMs: number): readonly WalletEffect[] {
    const decided = this.#decided(purse.serve(nowMs, this.#bucket.asOf(nowMs)), nowMs);
    const request = purse.nextAsk(nowMs);
    return request === null ? decided : [...decided, { type: "ask", request }];
  }

  #decided(outcomes: readonly Outcome[], nowMs: number): readonly WalletEffect[] {
    return outcomes.map((outcome) => {
      const { waiter } = outcome;
      if (outcome.kind === "drawn") this.#hold(waiter, purseOf(waiter.limits), waiter.need);
      return { type: "decided", requestId: waiter.requestId, verdict: this.#verdict(outcome, nowMs) };
    });
  }

  #verdict(outcome: Outcome, nowMs: number): Verdict {
    const { limits, need } = outcome.waiter;
    if (outcome.kind === "unavailable") return { kind: "unavailable", code: unavailableCode(limits) };
    const level = this.level(limits, nowMs) ?? null;
    if (outcome.kind === "drawn") return { kind: "ok", level };
    const wait = outcome.reason === "rate" ? this.#bucket.retryAfterMs(limits, need.bucketTokens, nowMs) : null;
    return { kind: "refused", code: REFUSAL_CODES[outcome.reason], retryAfterMs: wait, level };
  }

  #heard(report: Report, answer: ReportAnswer, nowMs: number): readonly WalletEffect[] {
    return this.#outbox.answered(report, answer, nowMs).map((alert) => ({ type: "alert", alert }));
  }

  #hold({ requestId, limits, tags }: Waiter, purse: string | null, drawn: Amounts, adopted = false): void {
    this.#reservations.set(requestId, { limits, tags, purse, drawn, adopted });
  }

  #tell(line: SettleLine, nowMs: number): void {
    this.#outbox.add(line, nowMs + (needsLease(line.limits) ? REPORT_MS : COUNT_MS));
    if (line.kind === "settled") this.#bucket.told(line.released.bucketTokens - line.used.tokens);
  }

  /** Without a level that is known nothing is lent: responses state it. A lease that lives has brought one. */
  #lent(limits: BudgetLimits, amounts: Amounts, nowMs: number): LentAmounts | null {
    const level = this.level(limits, nowMs);
    return level === undefined ? null : { amounts, level };
  }

  /** Ends what is left of an allowance. */
  #end(allowance: Allowance | undefined, kind: LineKind, nowMs: number): void {
    if (allowance === undefined || isNothing(allowance.amounts)) return;
    const { purse, limits, amounts } = allowance;
    this.#tell({ purse, limits, tags: NO_TAGS, released: amounts, used: NOTHING_USED, kind }, nowMs);
  }

  /** Whether the request has drawn, or is about to. */
  #knows(requestId: string): boolean {
    if (this.#reservations.has(requestId)) return true;
    for (const purse of this.#purses.values()) if (purse.knows(requestId)) return true;
    return false;
  }

  #waiter(requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): Waiter {
    return { requestId, limits, tags: tagsOf(limits, nowMs, this.#monthOf), need: countedBy(limits, need) };
  }

  #purse(id: string | null): Purse {
    const known = this.#purses.get(id);
    if (known !== undefined) return known;
    const purse = new Purse(id, this.#outbox, (line, nowMs) => this.#tell(line, nowMs));
    this.#purses.set(id, purse);
    return purse;
  }
}
