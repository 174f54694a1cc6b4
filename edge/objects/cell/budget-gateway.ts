/**
 * The Cell's budgets: one CellBudget per tenant that is active or was a short time ago, and the calls that these
 * request (docs/rules/budgets.md#leases). CellBudget and the TenantBudgetObject object decide what may be spent; this
 * file carries their messages, keeps deadlines and timers, and applies the rule for an unreachable object
 * (docs/rules/budgets.md#unreachable). Invariant: after every call into a CellBudget its effects are run, its faults
 * are reported and its timer is set anew. The gateway returns the decisions, and never calls admission.
 */
import { type Issue, issues } from "../../../shared/alerts.ts";
import type { BudgetDecision, BudgetPort, BudgetVerdict, LateDecisions } from "../../domain/admission/budget-port.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";
import type { ActualUsage } from "../../domain/budget/amounts.ts";
import { type BudgetLimits, isCapped } from "../../domain/budget/limits.ts";
import { isRated } from "../../domain/budget/rates.ts";
import { CellBudget } from "../../domain/budget/spender/cell-budget.ts";
import type { LeaseHolder } from "../../domain/budget/spender/lease-reports.ts";
import type { BudgetEffect, ReservationVerdict } from "../../domain/budget/spender/verdict.ts";
import type { MonthOf } from "../../domain/budget/term-budget.ts";
import { type BucketLevel, isLevel } from "../../domain/budget/token-bucket.ts";
import { callWithRetry } from "../call-with-retry.ts";
import type { BudgetObjectApi } from "../object-ports.ts";

/** A call to the budget object, its retry included, is given up after this long (docs/rules/budgets.md#unreachable). */
const DEADLINE_MS = 1_000;
/** Settlements that cannot be delivered for this long are reported by an alert (docs/rules/budgets.md#unreachable). */
const UNDELIVERED_MS = 30_000;

const SILENT = "the budget object does not answer";

export interface BudgetGatewayOptions {
  readonly cell: string;
  /** GATEWAY_FAIL_OPEN. */
  readonly failOpen: boolean;
  readonly now: () => number;
  /**
   * The number of this life of the Cell. It is larger than every number used before, and is on disk before a message is
   * sent.
   */
  readonly nextLife: () => number;
  readonly monthOf: MonthOf;
  /** A fresh stub of a tenant's budget object. */
  readonly budgetOf: (tenantId: string) => BudgetObjectApi;
  /** Takes the decisions that come after the call that requested them. */
  readonly late: Pick<LateDecisions, "put">;
  /** Takes a failure, whether new or repeated. */
  readonly raise: (issue: Issue) => void;
}

interface Account {
  readonly tenantId: string;
  readonly budget: CellBudget;
  /** As the newest request gave them. */
  limits: BudgetLimits;
  timer: ReturnType<typeof setTimeout> | null;
  timerAtMs: number;
  /** The outage of settlements that the last alert was about. */
  reportedOutage: number | null;
}

export class BudgetGateway implements BudgetPort {
  readonly #options: BudgetGatewayOptions;
  readonly #accounts = new Map<string, Account>();
  #holder: LeaseHolder | null = null;
  #unchecked = 0;

  constructor(options: BudgetGatewayOptions) {
    this.#options = options;
  }

  /** Requests that were let through without a check, in this life. */
  get unchecked(): number {
    return this.#unchecked;
  }

  expect(request: AdmissionRequest): readonly BudgetDecision[] {
    return this.#with(request, (budget, nowMs) => budget.expect(request, nowMs));
  }

  reserve(request: AdmissionRequest): readonly BudgetDecision[] {
    return this.#with(request, (budget, nowMs) => budget.reserve(request, nowMs));
  }

  withdraw(request: AdmissionRequest): readonly BudgetDecision[] {
    const isKnown = this.#accounts.has(request.limits.tenant.id);
    return isKnown ? this.#with(request, (budget, nowMs) => budget.withdraw(request.requestId, nowMs)) : [];
  }

  settle(request: AdmissionRequest, used: ActualUsage, goesOn = false): void {
    this.#tell(request, (budget, nowMs) => budget.settle(request.requestId, used, nowMs, goesOn));
  }

  adopt(request: AdmissionRequest): void {
    this.#tell(request, (budget, nowMs) => budget.adopt(request, nowMs));
  }

  admitUnchecked(request: AdmissionRequest): void {
    this.#tell(request, (budget, nowMs) => budget.admitUnchecked(request, nowMs));
  }

  readmit(request: AdmissionRequest): void {
    this.#tell(request, (budget, nowMs) => budget.readmit(request, nowMs));
  }

  /**
   * The level as this cell knows it, otherwise as the object knows it; null without a cap, or when both do not know it.
   */
  async level(limits: BudgetLimits): Promise<BucketLevel | null> {
    const known = this.#accounts.get(limits.tenant.id)?.budget.level(limits, this.#options.now());
    if (known !== undefined) return known;
    const answered = await this.#call(limits.tenant.id, async (object) => await object.level(limits));
    return isLevel(answered) ? answered : null;
  }

  /**
   * Tells the budget object of limits that have changed, so that alerts are judged though no request comes. When it does not
   * answer, the next message about a request brings the limits.
   */
  async limitsChanged(limits: BudgetLimits): Promise<void> {
    await this.#call(limits.tenant.id, async (object) => await object.limitsChanged(limits));
  }

  #with(
    { limits }: AdmissionRequest,
    call: (budget: CellBudget, nowMs: number) => readonly BudgetEffect[],
  ): readonly BudgetDecision[] {
    const account = this.#account(limits);
    return this.#run(account, call(account.budget, this.#options.now()));
  }

  #tell(request: AdmissionRequest, call: (budget: CellBudget, nowMs: number) => void): void {
    this.#with(request, (budget, nowMs) => {
      call(budget, nowMs);
      return [];
    });
  }

  #account(limits: BudgetLimits): Account {
    const tenantId = limits.tenant.id;
    const known = this.#accounts.get(tenantId);
    if (known !== undefined) {
      known.limits = limits;
      return known;
    }
    this.#holder ??= this.#newHolder();
    const budget = new CellBudget(this.#holder, this.#options);
    const account: Account = { tenantId, budget, limits, timer: null, timerAtMs: 0, reportedOutage: null };
    this.#accounts.set(tenantId, account);
    return account;
  }

  /** This life of the Cell; it gets its number when the first budget is needed. */
  #newHolder(): LeaseHolder {
    const { cell, nextLife } = this.#options;
    let n = 0;
    const nextN = () => {
      n += 1;
      return n;
    };
    return { cell, life: nextLife(), nextN };
  }

  /** Carries out the effects of a budget; returns the decisions among them. */
  #run(account: Account, effects: readonly BudgetEffect[]): readonly BudgetDecision[] {
    const decisions: BudgetDecision[] = [];
    for (const effect of effects) {
      switch (effect.type) {
        case "decided":
          decisions.push({ requestId: effect.requestId, verdict: this.#verdict(effect.verdict) });
          break;
        case "ask":
          void this.#send(
            account,
            async (object) => await object.lease(effect.request),
            (answer, nowMs) => account.budget.answered(effect.request, answer, nowMs),
          );
          break;
        case "report":
          void this.#send(
            account,
            async (object) => await object.report(effect.report),
            (answer, nowMs) => account.budget.reported(effect.report, answer, nowMs),
          );
          break;
        default:
          effect satisfies never;
      }
    }
    this.#reportFaults(account);
    this.#arm(account);
    return decisions;
  }

  #reportFaults({ budget }: Account): void {
    for (const { field, consequence } of budget.takeFaults()) {
      this.#options.raise(issues.budgetAmountRefused(`cell ${this.#options.cell}`, field, consequence));
    }
  }

  /** What a budget's verdict means for the request. */
  #verdict(verdict: ReservationVerdict): BudgetVerdict {
    if (verdict.kind === "ok") return verdict;
    const { code } = verdict;
    // "invalid" is a defect of the gateway and not an outage: no request is let through because of it.
    if (verdict.kind === "unavailable") {
      const { failOpen, raise } = this.#options;
      raise(issues.budgetCheckFailed(code === "key_budget_check_failed" ? "key" : "tenant", failOpen, SILENT));
      if (verdict.isAdmitted) {
        this.#unchecked += 1;
        return { kind: "ok", level: null };
      }
    }
    const { retryAfterMs, level } = verdict.kind === "refused" ? verdict : { retryAfterMs: null, level: null };
    return { kind: "refused", refusal: { code, retryAfterMs, level } };
  }

  /** Sends a message, and takes the answer to it; null: none came in time. */
  async #send<T>(
    account: Account,
    message: (object: BudgetObjectApi) => Promise<T>,
    take: (answer: T | null, nowMs: number) => readonly BudgetEffect[],
  ): Promise<void> {
    const answer = await this.#call(account.tenantId, message);
    this.#options.late.put(this.#run(account, take(answer, this.#options.now())));
    this.#reportOutage(account);
  }

  async #call<T>(tenantId: string, message: (object: BudgetObjectApi) => Promise<T>): Promise<T | null> {
    return await callWithRetry(async () => await message(this.#options.budgetOf(tenantId)), DEADLINE_MS);
  }

  /** Raises one alert per outage and kind of limit that is settled without a check. */
  #reportOutage(account: Account): void {
    const undelivered = account.budget.undelivered(this.#options.now());
    if (undelivered === null || undelivered.forMs < UNDELIVERED_MS) return;
    if (undelivered.outage === account.reportedOutage) return;
    account.reportedOutage = undelivered.outage;
    const { tenant, key } = account.limits;
    const rate = isRated(tenant) || isRated(key);
    const { raise } = this.#options;
    if (rate) raise(issues.budgetSettlementFailed("bucket", SILENT));
    if (isCapped(key.term)) raise(issues.budgetSettlementFailed("key", SILENT));
    if (isCapped(tenant.term) || !(rate || isCapped(key.term))) raise(issues.budgetSettlementFailed("tenant", SILENT));
  }

  /**
   * Sets one timer per tenant, for the next time when there is something to do; an account without such a time is
   * dropped.
   */
  #arm(account: Account): void {
    if (this.#accounts.get(account.tenantId) !== account) return;
    const wakeMs = account.budget.nextWakeMs();
    if (account.timer !== null) {
      // A timer that fires early finds nothing to do; setting a new one for each request would cost more.
      if (wakeMs !== null && account.timerAtMs <= wakeMs) return;
      clearTimeout(account.timer);
    }
    account.timer = null;
    if (wakeMs !== null) {
      account.timerAtMs = wakeMs;
      account.timer = setTimeout(() => this.#tick(account), Math.max(0, wakeMs - this.#options.now()));
    } else if (account.budget.idle) this.#accounts.delete(account.tenantId);
  }

  #tick(account: Account): void {
    account.timer = null;
    this.#options.late.put(this.#run(account, account.budget.tick(this.#options.now())));
  }
}
