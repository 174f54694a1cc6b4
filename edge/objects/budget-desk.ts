/**
 * The Cell's budgets: one Wallet per tenant that is or was just active, and the calls that its wallets ask for
 * (design §7). What may be spent is decided by wallets and by the TenantBudget object; this file carries messages, keeps
 * their deadlines and timers, and says what happens when the object is beyond reach (decisions §19.5).
 * Invariant: after every call into a wallet its effects are run, its faults told and its timer set anew.
 */
import { type Issue, issues } from "../../shared/alerts.ts";
import type { Ask, BudgetRefusal } from "../domain/ask.ts";
import type { BudgetAlert } from "../domain/budget/alerts.ts";
import type { Actual, Amounts } from "../domain/budget/amounts.ts";
import type { TenantBudgetApi } from "../domain/budget/api.ts";
import { isLevel } from "../domain/budget/checks.ts";
import { Epochs } from "../domain/budget/epochs.ts";
import { type BudgetLimits, isCapped } from "../domain/budget/limits.ts";
import type { MonthOf } from "../domain/budget/term-budget.ts";
import type { BucketLevel } from "../domain/budget/token-bucket.ts";
import type { LentAmounts, Verdict, WalletEffect } from "../domain/budget/verdict.ts";
import { Wallet } from "../domain/budget/wallet.ts";
import { callTwice } from "./call-twice.ts";
import type { BudgetGate, BudgetVerdict } from "./seat.ts";

/** A call to the budget object, its retry included, is given up after this long (decisions §19.5). */
const DEADLINE_MS = 1_000;
/** Settlements that cannot be delivered for this long are worth an alert (decisions §19.5). */
const UNDELIVERED_MS = 30_000;

const SILENT = "the budget object does not answer";

/** What a Cell asks of a tenant's budget object. */
export type BudgetCalls = Pick<TenantBudgetApi, "lease" | "settleBatch" | "level">;

export interface BudgetDeskOptions {
  readonly cell: string;
  /** GATEWAY_FAIL_OPEN. */
  readonly failOpen: boolean;
  readonly now: () => number;
  /** The number of this life of the Cell, larger than any that it answered before, and on the disk before a message leaves. */
  readonly nextLife: () => number;
  readonly monthOf: MonthOf;
  /** A fresh stub of a tenant's budget object. */
  readonly budgetOf: (tenantId: string) => BudgetCalls;
  readonly judged: (requestId: string, verdict: BudgetVerdict) => void;
  /** Takes an alert that has to arrive once; resolves when it is in hands that outlive this Cell. */
  readonly tell: (alert: BudgetAlert) => Promise<void>;
  /** Takes a failure, however often it repeats. */
  readonly raise: (issue: Issue) => void;
}

interface Account {
  readonly tenantId: string;
  readonly wallet: Wallet;
  /** As the newest request stated them. */
  limits: BudgetLimits;
  timer: ReturnType<typeof setTimeout> | null;
  timerAtMs: number;
  /** The outage of settlements that has been told. */
  toldOutage: number | null;
}

export class BudgetDesk implements BudgetGate {
  readonly #options: BudgetDeskOptions;
  readonly #accounts = new Map<string, Account>();
  /** Requests without a verdict. */
  readonly #reserving = new Map<string, Ask>();
  readonly #epochs: Epochs;
  #unchecked = 0;

  constructor(options: BudgetDeskOptions) {
    this.#options = options;
    this.#epochs = new Epochs(options.nextLife);
  }

  /** Requests that were let through without a check, in this life. */
  get unchecked(): number {
    return this.#unchecked;
  }

  expect(ask: Ask): void {
    const account = this.#account(ask.limits);
    this.#run(account, account.wallet.expect(ask.requestId, ask.limits, ask.need, this.#options.now()));
  }

  reserve(ask: Ask): void {
    const account = this.#account(ask.limits);
    this.#reserving.set(ask.requestId, ask);
    this.#run(account, account.wallet.reserve(ask.requestId, ask.limits, ask.need, this.#options.now()));
  }

  withdraw(ask: Ask): void {
    this.#reserving.delete(ask.requestId);
    const account = this.#accounts.get(ask.limits.tenant.id);
    if (account !== undefined) this.#run(account, account.wallet.withdraw(ask.requestId, this.#options.now()));
  }

  settle(ask: Ask, used: Actual, goesOn = false): void {
    const account = this.#account(ask.limits);
    account.wallet.settle(ask.requestId, used, this.#options.now(), goesOn);
    this.#run(account, []);
  }

  adopt(ask: Ask): void {
    const account = this.#account(ask.limits);
    account.wallet.adopt(ask.requestId, ask.limits, ask.need, this.#options.now());
    this.#run(account, []);
  }

  readmit(ask: Ask): void {
    const account = this.#account(ask.limits);
    account.wallet.readmit(ask.requestId, ask.limits, this.#options.now());
    this.#run(account, []);
  }

  /**
   * Adds to the allowance of a loan what can be spared at once: at least `atLeast`, at most `want`; null: nothing. Where
   * nothing binds that is all that is wanted. `level` is without what is out on loans; null without a per-minute cap.
   */
  lend(loanId: string, limits: BudgetLimits, want: Amounts, atLeast: Amounts): LentAmounts | null {
    const account = this.#account(limits);
    const { lent, effects } = account.wallet.lend(loanId, limits, want, atLeast, this.#options.now());
    this.#run(account, effects);
    return lent;
  }

  /** A request drew its need on the allowance of a loan. What it drew comes back when it has a reservation already. */
  carve(loanId: string, ask: Ask): void {
    const account = this.#account(ask.limits);
    account.wallet.carve(loanId, ask.requestId, ask.limits, ask.need, this.#options.now());
    this.#run(account, []);
  }

  /** The loan has ended: the rest of its allowance comes back unused. */
  takeBack(loanId: string, limits: BudgetLimits): void {
    const account = this.#accounts.get(limits.tenant.id);
    if (account === undefined) return;
    account.wallet.takeBack(loanId, this.#options.now());
    this.#run(account, []);
  }

  /** The loan is lost: the rest of its allowance counts as spent until the ledger has been asked. */
  writeOff(loanId: string, limits: BudgetLimits): void {
    const account = this.#accounts.get(limits.tenant.id);
    if (account === undefined) return;
    account.wallet.writeOff(loanId, this.#options.now());
    this.#run(account, []);
  }

  /** The level as this cell knows it, else as the object does; null without a cap, or when neither answers. */
  async level(limits: BudgetLimits): Promise<BucketLevel | null> {
    const known = this.#accounts.get(limits.tenant.id)?.wallet.level(limits, this.#options.now());
    if (known !== undefined) return known;
    const told = await this.#call(limits.tenant.id, async (budget) => await budget.level(limits));
    return isLevel(told) ? told : null;
  }

  #account(limits: BudgetLimits): Account {
    const tenantId = limits.tenant.id;
    const known = this.#accounts.get(tenantId);
    if (known !== undefined) {
      known.limits = limits;
      return known;
    }
    const wallet = new Wallet(this.#options.cell, this.#epochs.next(), this.#options.monthOf);
    const account: Account = { tenantId, wallet, limits, timer: null, timerAtMs: 0, toldOutage: null };
    this.#accounts.set(tenantId, account);
    return account;
  }

  #run(account: Account, effects: readonly WalletEffect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case "decided":
          this.#decided(account, effect.requestId, effect.verdict);
          break;
        case "ask":
          void this.#ask(account, effect.request);
          break;
        case "report":
          void this.#report(account, effect.report);
          break;
        case "alert":
          void this.#tell(account, effect.alert);
          break;
        default:
          effect satisfies never;
      }
    }
    this.#tellFaults(account);
    this.#arm(account);
  }

  #tellFaults({ wallet }: Account): void {
    for (const { field, consequence } of wallet.takeFaults()) {
      this.#options.raise(issues.budgetAmountRefused(`cell ${this.#options.cell}`, field, consequence));
    }
  }

  /** The budget object keeps an alert until it is durable elsewhere. */
  async #tell(account: Account, alert: BudgetAlert): Promise<void> {
    await this.#options.tell(alert);
    account.wallet.alertSafe(alert.id);
    this.#arm(account);
  }

  #decided(account: Account, requestId: string, verdict: Verdict): void {
    const ask = this.#reserving.get(requestId);
    this.#reserving.delete(requestId);
    switch (verdict.kind) {
      case "ok":
        this.#options.judged(requestId, verdict);
        return;
      case "refused": {
        const { code, retryAfterMs, level } = verdict;
        this.#options.judged(requestId, { kind: "refused", refusal: { code, retryAfterMs, level } });
        return;
      }
      case "unavailable": {
        if (ask === undefined) return;
        const nowMs = this.#options.now();
        const { failOpen, raise } = this.#options;
        const owner = verdict.code === "key_budget_check_failed" ? "key" : "tenant";
        raise(issues.budgetCheckFailed(owner, failOpen, SILENT));
        if (failOpen) {
          this.#unchecked += 1;
          account.wallet.admitUnchecked(requestId, ask.limits, nowMs);
          this.#options.judged(requestId, { kind: "ok", level: null });
        } else {
          const refusal: BudgetRefusal = { code: verdict.code, retryAfterMs: null, level: null };
          this.#options.judged(requestId, { kind: "refused", refusal });
        }
        return;
      }
      case "invalid": {
        // A defect of ours is no outage: nobody is let through by it.
        const refusal: BudgetRefusal = { code: verdict.code, retryAfterMs: null, level: null };
        this.#options.judged(requestId, { kind: "refused", refusal });
        return;
      }
      default:
        verdict satisfies never;
    }
  }

  async #ask(account: Account, request: Extract<WalletEffect, { type: "ask" }>["request"]): Promise<void> {
    const answer = await this.#call(account.tenantId, async (budget) => await budget.lease(request));
    const nowMs = this.#options.now();
    const { wallet } = account;
    this.#run(account, answer === null ? wallet.failed(request, nowMs) : wallet.answered(request, answer, nowMs));
    this.#tellOutage(account);
  }

  async #report(account: Account, report: Extract<WalletEffect, { type: "report" }>["report"]): Promise<void> {
    const answer = await this.#call(account.tenantId, async (budget) => await budget.settleBatch(report));
    const nowMs = this.#options.now();
    if (answer === null) account.wallet.reportFailed(nowMs);
    this.#run(account, answer === null ? [] : account.wallet.reported(report, answer, nowMs));
    this.#tellOutage(account);
  }

  async #call<T>(tenantId: string, message: (budget: BudgetCalls) => Promise<T>): Promise<T | null> {
    return await callTwice(async () => await message(this.#options.budgetOf(tenantId)), DEADLINE_MS);
  }

  /** One alert per outage, for each kind of limit that is settled blindly. */
  #tellOutage(account: Account): void {
    const undelivered = account.wallet.undelivered(this.#options.now());
    if (undelivered === null || undelivered.forMs < UNDELIVERED_MS) return;
    if (undelivered.outage === account.toldOutage) return;
    account.toldOutage = undelivered.outage;
    const { tenant, key } = account.limits;
    const rate = tenant.tokensPerMinute > 0;
    const { raise } = this.#options;
    if (rate) raise(issues.budgetSettlementFailed("bucket", SILENT));
    if (isCapped(key.term)) raise(issues.budgetSettlementFailed("key", SILENT));
    if (isCapped(tenant.term) || !(rate || isCapped(key.term))) raise(issues.budgetSettlementFailed("tenant", SILENT));
  }

  /** One timer per wallet, set to its next business; a wallet without any is forgotten. */
  #arm(account: Account): void {
    if (this.#accounts.get(account.tenantId) !== account) return;
    const wakeMs = account.wallet.nextWakeMs();
    if (account.timer !== null) {
      // An early timer just looks again; setting one anew for each request would cost more.
      if (wakeMs !== null && account.timerAtMs <= wakeMs) return;
      clearTimeout(account.timer);
    }
    account.timer = null;
    if (wakeMs !== null) {
      account.timerAtMs = wakeMs;
      account.timer = setTimeout(() => this.#tick(account), Math.max(0, wakeMs - this.#options.now()));
    } else if (account.wallet.idle) this.#accounts.delete(account.tenantId);
  }

  #tick(account: Account): void {
    account.timer = null;
    this.#run(account, account.wallet.tick(this.#options.now()));
  }
}
