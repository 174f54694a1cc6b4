/**
 * A Cell's side of one tenant's budgets: its purses, the reservations that live requests drew from them, and what is
 * still to be told to the budget object. It decides nothing but by what it holds; the authority is TenantBudgetCore.
 * Pure: the Cell sends the messages that it answers with and brings back what came of them.
 *
 * How a Cell uses it (one Wallet per tenant id; drop it when {@link Wallet.idle}, with a larger epoch for the next one):
 * 1. queued by the scheduler: `expect`, so that a lease is there when the slot is; left the queue: `withdraw`;
 * 2. granted by the scheduler: `reserve`; its `decided` effect comes at once or after a message. Meanwhile the slot is
 *    taken; on arrival re-check that the waiter is still there, else `withdraw`. ok: go on. refused: slot back, charge
 *    undone, answer `code`. unavailable: `code`, or with failing open `admitUnchecked` and go on. invalid: `code`, always;
 * 3. end of the request: `settle` with what was used; zero for a full refund. A second call changes nothing;
 * 4. sub-calls of boons: `charge`; a slot taken over from a Cell that died: `adopt` (never `reserve`); one whose permit was
 *    lost: `settle` as it goes on, and `readmit` when it comes back;
 * 5. below saturation (design §12): `lend` to an isolate, `carve` what a request of it took, then `settle` as ever;
 *    `takeBack` the rest when the loan ends, `writeOff` when nobody can say what became of it;
 * 6. effect `ask`: call TenantBudget.lease(request) (1 s deadline, one retry with the same request), then `answered` or
 *    `failed`; effect `report`: TenantBudget.settleBatch(report), then `reported` or `reportFailed`; effect `alert`: hand
 *    it to the Ledger, then `alertSafe`; keep one timer at {@link Wallet.nextWakeMs} and call `tick`;
 * 7. after every call: tell of what {@link Wallet.takeFaults} answers.
 *
 * `nowMs` is what the Cell's clock shows. It decides period tags; all that lasts is measured by SteadyTime, so that a clock
 * that is set changes nothing. A number that is no amount (decisions §43.1) is refused where it enters: it never gets into
 * what is held, told or compared.
 */
import { type Actual, type Amounts, NOTHING } from "./amounts.ts";
import type { LeaseAnswer, LeaseRequest, Report, ReportAnswer, SettleLine } from "./api.ts";
import { faultInLimits, faultInNeed, faultInUsed, isLeaseAnswer, isReportAnswer, usedOrReserved } from "./checks.ts";
import { type BudgetLimits, needsLease, purseOf, unavailableCode } from "./limits.ts";
import type { Purse } from "./purse.ts";
import type { MonthOf } from "./term-budget.ts";
import { adjustBucket, type BucketLevel } from "./token-bucket.ts";
import { type Fault, type LendAnswer, REFUSAL_CODES, type Verdict, type WalletEffect } from "./verdict.ts";
import type { Outcome } from "./waiter.ts";
import { WalletLending } from "./wallet-lending.ts";
import { WalletState } from "./wallet-state.ts";

const NOTHING_USED: Actual = { tokens: 0, nanoUsd: 0 };
const INVALID: Verdict = { kind: "invalid", code: "budget_check_failed" };

export class Wallet {
  readonly #state: WalletState;
  readonly #lending: WalletLending;

  /** `epoch`: larger than that of any Wallet of this cell for this tenant before, whatever clocks say (decisions §19.1). */
  constructor(cell: string, epoch: number, monthOf: MonthOf) {
    this.#state = new WalletState(cell, epoch, monthOf);
    this.#lending = new WalletLending(this.#state);
  }

  /** Nothing held, nobody waiting, everything told and stored. */
  get idle(): boolean {
    const { reservations, outbox, purses } = this.#state;
    return reservations.size === 0 && this.#lending.idle && outbox.empty && purses.idle;
  }

  /** The outage since when settlements cannot be delivered, and how long it lasts; alert after 30 s (decisions §19.5). */
  undelivered(nowMs: number): { readonly outage: number; readonly forMs: number } | null {
    const sinceMs = this.#state.outbox.failingSinceMs;
    return sinceMs === null ? null : { outage: sinceMs, forMs: this.#state.time.at(nowMs) - sinceMs };
  }

  /** What was refused since the last call, because a number in it was no amount. */
  takeFaults(): readonly Fault[] {
    return this.#state.takeFaults();
  }

  /** A request that waits for its slot. Nothing is decided. */
  expect(requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): readonly WalletEffect[] {
    // What is at fault is refused when it is to be reserved.
    if (faultInNeed(limits, need) !== null || !needsLease(limits)) return [];
    const purse = this.#state.purses.of(purseOf(limits));
    purse.waiting.expect(this.#state.waiter(requestId, limits, need, nowMs));
    return this.#pump(purse, this.#state.time.at(nowMs));
  }

  /** Draws for a request that has its slot: bucket, key budget and tenant budget at once, or none. */
  reserve(requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): readonly WalletEffect[] {
    if (this.#state.isFault(faultInNeed(limits, need), "the request is rejected")) {
      return [{ type: "decided", requestId, verdict: INVALID }];
    }
    const waiter = this.#state.waiter(requestId, limits, need, nowMs);
    if (!needsLease(limits)) {
      this.#state.hold(waiter);
      return [{ type: "decided", requestId, verdict: { kind: "ok", level: null } }];
    }
    const purse = this.#state.purses.of(purseOf(limits));
    purse.waiting.wait(waiter);
    return this.#pump(purse, this.#state.time.at(nowMs));
  }

  /** A request that no longer wants what it expected, waits for, or drew. */
  withdraw(requestId: string, nowMs: number): readonly WalletEffect[] {
    this.#state.purses.forget(requestId);
    this.settle(requestId, NOTHING_USED, nowMs);
    return this.tick(nowMs);
  }

  /** Goes on without the check (GATEWAY_FAIL_OPEN): nothing is reserved, what it uses is charged at the end. */
  admitUnchecked(requestId: string, limits: BudgetLimits, nowMs: number): void {
    if (this.#state.isFault(faultInLimits(limits), "what the request uses is not charged")) return;
    this.#state.hold(this.#state.waiter(requestId, limits, NOTHING, nowMs));
  }

  /** A request comes back that this wallet has settled: it is charged at its end for what it has used since. */
  readmit(requestId: string, limits: BudgetLimits, nowMs: number): void {
    if (this.#state.isFault(faultInLimits(limits), "what the request uses is not charged")) return;
    this.#state.hold(this.#state.waiter(requestId, limits, NOTHING, nowMs), null, NOTHING, "readmitted");
  }

  /** A request that drew `need` in an earlier life of this cell. */
  adopt(requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): void {
    if (this.#state.isFault(faultInNeed(limits, need), "nothing is reserved for the request that goes on")) {
      this.admitUnchecked(requestId, limits, nowMs);
      return;
    }
    const waiter = this.#state.waiter(requestId, limits, need, nowMs);
    const leased = needsLease(limits);
    const purse = purseOf(limits);
    this.#state.hold(waiter, purse, leased ? waiter.need : NOTHING, "adopted");
    if (!leased) return;
    const { tags, need: released } = waiter;
    const request = { id: requestId, goesOn: true, since: false };
    const line: SettleLine = { purse, limits, tags, released, used: NOTHING_USED, kind: "adopted", request };
    this.#state.outbox.add(line, this.#state.time.at(nowMs));
  }

  /**
   * Adds to the allowance of a loan at once, or not at all (`lent` null): at least `atLeast`, at most `want`. Nothing is
   * reserved where nothing binds. An ask may come of it, so that there is something to lend the next time.
   */
  lend(loanId: string, limits: BudgetLimits, want: Amounts, atLeast: Amounts, nowMs: number): LendAnswer {
    return this.#lending.lend(loanId, limits, want, atLeast, nowMs);
  }

  /**
   * A request drew `need` on the allowance of a loan; it holds what there was of it. It is charged at its end when nothing was
   * lent. What a request drew that has a reservation, or is about to have one, comes back; one that was adopted keeps it, and
   * what it was adopted with ends.
   */
  carve(loanId: string, requestId: string, limits: BudgetLimits, need: Amounts, nowMs: number): void {
    const fault = faultInNeed(limits, need);
    if (!this.#state.isFault(fault, "nothing is reserved for the request that runs"))
      this.#lending.carve(loanId, requestId, limits, need, nowMs);
    else this.admitUnchecked(requestId, limits, nowMs);
  }

  /** The loan has ended: the rest of its allowance comes back unused. */
  takeBack(loanId: string, nowMs: number): void {
    this.#lending.end(loanId, "settled", nowMs);
  }

  /** The loan is lost: the rest of its allowance counts as spent, until the ledger has been asked or a request is adopted. */
  writeOff(loanId: string, nowMs: number): void {
    this.#lending.end(loanId, "lost", nowMs);
  }

  /**
   * Ends a reservation with what was used; only the first call counts. `goesOn`: its Cell has lost sight of the request, which
   * may still run and come back (`readmit`), or be adopted by a later life; it is charged for what it used beyond this then.
   */
  settle(requestId: string, used: Actual, nowMs: number, goesOn = false): void {
    const reservation = this.#state.reservations.get(requestId);
    if (reservation === undefined) return;
    this.#state.reservations.delete(requestId);
    const { limits, tags, purse, drawn, origin } = reservation;
    const fault = this.#state.isFault(faultInUsed(used), "the request is charged as reserved");
    const charged = fault ? usedOrReserved(used, drawn) : used;
    const line: SettleLine = { purse, limits, tags, released: drawn, used: charged, kind: "settled" };
    const request = { id: requestId, goesOn, since: origin === "readmitted" };
    const atMs = this.#state.time.at(nowMs);
    this.#state.tell(goesOn || origin !== "drawn" ? { ...line, request } : line, atMs);
  }

  /** Usage without a reservation: sub-calls of boons, a request whose life nobody followed. */
  charge(limits: BudgetLimits, used: Actual, nowMs: number): void {
    if (this.#state.isFault(faultInUsed(used) ?? faultInLimits(limits), "what was used is not charged")) return;
    const tags = this.#state.tags(limits, nowMs);
    const line: SettleLine = { purse: null, limits, tags, released: NOTHING, used, kind: "settled" };
    this.#state.tell(line, this.#state.time.at(nowMs));
  }

  /** Takes the answer to an ask. One that is none to go by counts as no answer. */
  answered(request: LeaseRequest, answer: LeaseAnswer, nowMs: number): readonly WalletEffect[] {
    if (!isLeaseAnswer(answer, request, this.#state.outbox.through)) {
      this.#state.isFault("the budget object's answer to an ask", "it counts as no answer");
      return this.failed(request, nowMs);
    }
    const { verdict } = answer;
    if (verdict.kind === "invalid")
      this.#state.isFault(`${verdict.field} of an ask`, "the requests that wait are rejected");
    const atMs = this.#state.time.at(nowMs);
    // What was settled while the answer was on its way is not in it.
    this.#state.bucket.heard(
      adjustBucket(answer.bucket, this.#state.outbox.bucketGainAfter(answer.report.applied)),
      atMs,
    );
    const alerts = this.#heard(request.report, answer.report, atMs);
    const purse = this.#state.purses.of(request.purse);
    const decided = this.#decided(purse.answered(request.n, answer, atMs), atMs);
    return [...alerts, ...decided, ...this.#pump(purse, atMs), ...this.tick(nowMs)];
  }

  /** The lease got no answer in time, twice. */
  failed(request: LeaseRequest, nowMs: number): readonly WalletEffect[] {
    const atMs = this.#state.time.at(nowMs);
    this.#state.outbox.failed(atMs);
    const purse = this.#state.purses.of(request.purse);
    return [...this.#decided(purse.failed(request.n, atMs), atMs), ...this.#pump(purse, atMs)];
  }

  /** Takes the answer to a report. One that is none to go by counts as no answer. */
  reported(report: Report, answer: ReportAnswer, nowMs: number): readonly WalletEffect[] {
    if (!isReportAnswer(answer, this.#state.outbox.through)) {
      this.#state.isFault("the budget object's answer to a report", "it counts as no answer");
      this.reportFailed(nowMs);
      return [];
    }
    this.#state.outbox.reporting = false;
    return [...this.#heard(report, answer, this.#state.time.at(nowMs)), ...this.tick(nowMs)];
  }

  reportFailed(nowMs: number): void {
    this.#state.outbox.reporting = false;
    this.#state.outbox.failed(this.#state.time.at(nowMs));
  }

  /** An alert that was handed on is durable elsewhere; until then the object keeps it. */
  alertSafe(id: string): void {
    this.#state.outbox.alertSafe(id);
  }

  /** Gives back what ended, and reports what is due. */
  tick(nowMs: number): readonly WalletEffect[] {
    const atMs = this.#state.time.at(nowMs);
    const effects: WalletEffect[] = [];
    for (const purse of this.#state.purses.all) {
      purse.expire(atMs);
      effects.push(...this.#pump(purse, atMs));
    }
    this.#state.purses.forgetIdle();
    const due = this.#state.outbox.nextMs();
    if (due === null || due > atMs) return effects;
    this.#state.outbox.reporting = true;
    return [...effects, { type: "report", report: this.#state.outbox.report(atMs) }];
  }

  /** When the clock, as shown last, calls for {@link tick}; null: nothing to do until something happens. */
  nextWakeMs(): number | null {
    const all = [this.#state.purses.nextMs, this.#state.outbox.nextMs()].filter((at) => at !== null);
    return all.length === 0 ? null : this.#state.time.clockAt(Math.min(...all));
  }

  /** Object level plus what this cell holds (decisions §19.1); undefined: unknown here, ask TenantBudget.level. */
  level(limits: BudgetLimits, nowMs: number): BucketLevel | null | undefined {
    return this.#state.level(limits, this.#state.time.at(nowMs));
  }

  #pump(purse: Purse, atMs: number): readonly WalletEffect[] {
    const decided = this.#decided(purse.serve(atMs, this.#state.bucket.asOf(atMs)), atMs);
    const request = purse.nextAsk(atMs);
    return request === null ? decided : [...decided, { type: "ask", request }];
  }

  #decided(outcomes: readonly Outcome[], atMs: number): readonly WalletEffect[] {
    return outcomes.map((outcome) => {
      const { waiter } = outcome;
      if (outcome.kind === "drawn") this.#state.hold(waiter, purseOf(waiter.limits), waiter.need);
      return { type: "decided", requestId: waiter.requestId, verdict: this.#verdict(outcome, atMs) };
    });
  }

  #verdict(outcome: Outcome, atMs: number): Verdict {
    const { limits, need } = outcome.waiter;
    const level = this.#state.level(limits, atMs) ?? null;
    switch (outcome.kind) {
      case "drawn":
        return { kind: "ok", level };
      case "refused": {
        const waits = outcome.reason === "rate";
        const retryAfterMs = waits ? this.#state.bucket.retryAfterMs(limits, need.bucketTokens, atMs) : null;
        return { kind: "refused", code: REFUSAL_CODES[outcome.reason], retryAfterMs, level };
      }
      case "unavailable":
        return { kind: "unavailable", code: unavailableCode(limits) };
      case "invalid":
        return INVALID;
      default:
        return outcome satisfies never;
    }
  }

  #heard(report: Report, answer: ReportAnswer, atMs: number): readonly WalletEffect[] {
    return this.#state.outbox.answered(report, answer, atMs).map((alert) => ({ type: "alert", alert }));
  }
}
