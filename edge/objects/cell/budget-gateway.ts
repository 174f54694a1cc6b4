/**
 * The Cell's budgets: one CellBudget per tenant that is active or was a short time ago, and the calls that these request
 * (docs/rules/budgets.md#leases). CellBudget and the TenantBudgetObject object decide what may be spent; this file carries
 * their messages, keeps deadlines and timers, and applies the rule for an unreachable object
 * (docs/rules/budgets.md#unreachable). Invariant: after every call into a CellBudget its effects are run, its faults are
 * reported and its timer is reset. The gateway returns the decisions, and never calls admission.
 *
 * The end users of a tenant have a separate CellBudget and object (docs/rules/budgets.md#end-users). A request with such a
 * budget draws from its tenant's budget first, then from its end user's; if the second refuses, the drawn amount returns to the
 * first.
 */
import { type Issue, issues } from "../../../shared/alerts.ts";
import type { BudgetDecision, BudgetPort, BudgetVerdict, LateDecisions } from "../../domain/admission/budget-port.ts";
import type { AdmissionRequest, BudgetRefusal } from "../../domain/admission/rpc.ts";
import type { ActualUsage } from "../../domain/budget/amounts.ts";
import { type BudgetLimits, endUsersOf, isCapped, isEndUser } from "../../domain/budget/limits.ts";
import type { BudgetReport } from "../../domain/budget/messages/rpc.ts";
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

/** A request that two budgets bind, until both have decided. */
interface TwoBudgets {
  readonly request: AdmissionRequest;
  /** The same for the budget of its end user. */
  readonly own: AdmissionRequest;
}

/** The name of a refusal by the budget of an end user, which is a key's budget in its object. */
const END_USER_CODES: Partial<Record<BudgetRefusal["code"], BudgetRefusal["code"]>> = {
  key_budget_exhausted: "end_user_budget_exhausted",
  key_budget_check_failed: "budget_check_failed",
};

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
  readonly #undecided = new Map<string, TwoBudgets>();
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
    return this.#withEach(request, (budget, each, nowMs) => budget.expect(each, nowMs));
  }

  reserve(request: AdmissionRequest): readonly BudgetDecision[] {
    const own = ofEndUser(request);
    if (own !== null) this.#undecided.set(request.requestId, { request, own });
    return this.#with(request, (budget, nowMs) => budget.reserve(request, nowMs));
  }

  withdraw(request: AdmissionRequest): readonly BudgetDecision[] {
    this.#undecided.delete(request.requestId);
    return this.#withKnown(request, (budget, nowMs) => budget.withdraw(request.requestId, nowMs));
  }

  settle(request: AdmissionRequest, used: ActualUsage, goesOn = false): void {
    this.#withKnown(request, (budget, nowMs) => {
      budget.settle(request.requestId, used, nowMs, goesOn);
      return [];
    });
  }

  adopt(request: AdmissionRequest): void {
    this.#tell(request, (budget, each, nowMs) => budget.adopt(each, nowMs));
  }

  admitUnchecked(request: AdmissionRequest): void {
    this.#tell(request, (budget, each, nowMs) => budget.admitUnchecked(each, nowMs));
  }

  readmit(request: AdmissionRequest): void {
    this.#tell(request, (budget, each, nowMs) => budget.readmit(each, nowMs));
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
   * Reports changed limits to the budget object, so that alerts are evaluated even if no request comes. If it does not answer, the
   * next message about a request brings the limits.
   */
  async limitsChanged(limits: BudgetLimits): Promise<void> {
    await this.#call(limits.tenant.id, async (object) => await object.limitsChanged(limits));
  }

  /** Returns every lease that no request draws from, and reports what has ended, to every budget object that answers. */
  async reportAll(): Promise<void> {
    const nowMs = this.#options.now();
    await Promise.all(
      [...this.#accounts.values()].map(async (account) => {
        const report = account.budget.rest(nowMs);
        if (report !== null) await this.#report(account, report, true);
      }),
    );
  }

  #with(
    { limits }: AdmissionRequest,
    call: (budget: CellBudget, nowMs: number) => readonly BudgetEffect[],
  ): readonly BudgetDecision[] {
    const account = this.#account(limits);
    return this.#run(account, call(account.budget, this.#options.now()));
  }

  /** The same for every budget that binds the request. */
  #withEach(
    request: AdmissionRequest,
    call: (budget: CellBudget, each: AdmissionRequest, nowMs: number) => readonly BudgetEffect[],
  ): readonly BudgetDecision[] {
    const own = ofEndUser(request);
    return [request, ...(own === null ? [] : [own])].flatMap((each) =>
      this.#with(each, (budget, nowMs) => call(budget, each, nowMs)),
    );
  }

  #tell(request: AdmissionRequest, call: (budget: CellBudget, each: AdmissionRequest, nowMs: number) => void): void {
    this.#withEach(request, (budget, each, nowMs) => {
      call(budget, each, nowMs);
      return [];
    });
  }

  /** For every budget that may hold something for the request: its limits may have been others then. */
  #withKnown(
    { limits }: AdmissionRequest,
    call: (budget: CellBudget, nowMs: number) => readonly BudgetEffect[],
  ): readonly BudgetDecision[] {
    return [limits.tenant.id, endUsersOf(limits.tenant.id)].flatMap((id) => {
      const account = this.#accounts.get(id);
      return account === undefined ? [] : this.#run(account, call(account.budget, this.#options.now()));
    });
  }

  /** The decision on the verdict of one budget: of two, the tenant's comes first. */
  #decided(account: Account, requestId: string, verdict: BudgetVerdict): readonly BudgetDecision[] {
    const two = this.#undecided.get(requestId);
    if (two === undefined) return [{ requestId, verdict }];
    const { request, own } = two;
    const isSecond = account.tenantId === own.limits.tenant.id;
    if (!isSecond && verdict.kind === "ok") return this.#with(own, (budget, nowMs) => budget.reserve(own, nowMs));
    this.#undecided.delete(requestId);
    // The amount that the other budget has given, or fetches, for the request is returned.
    const released = verdict.kind === "ok" ? [] : this.withdraw(request);
    const tenantLevel = this.#accounts.get(request.limits.tenant.id)?.budget.level(request.limits, this.#options.now());
    return [...released, { requestId, verdict: isSecond ? withLevel(verdict, tenantLevel ?? null) : verdict }];
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
          decisions.push(...this.#decided(account, effect.requestId, this.#verdict(account, effect.verdict)));
          break;
        case "ask":
          void this.#send(
            account,
            async (object) => await object.lease(effect.request),
            (answer, nowMs) => account.budget.answered(effect.request, answer, nowMs),
          );
          break;
        case "report":
          void this.#report(account, effect.report);
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

  /** The consequence of a budget's verdict for the request. */
  #verdict({ limits }: Account, verdict: ReservationVerdict): BudgetVerdict {
    if (verdict.kind === "ok") return verdict;
    const code = (isEndUser(limits.key.id) && END_USER_CODES[verdict.code]) || verdict.code;
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

  async #report(account: Account, report: BudgetReport, isLast = false): Promise<void> {
    await this.#send(
      account,
      async (object) => await object.report(report, isLast),
      (answer, nowMs) => account.budget.reported(report, answer, nowMs),
    );
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

  /** Sets one timer per tenant, for the next time when there is work; an account without such a time is dropped. */
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

/** The request as the budget of its end user sees it; null if it has none. */
function ofEndUser(request: AdmissionRequest): AdmissionRequest | null {
  const { endUserLimits = null } = request;
  return endUserLimits === null ? null : { ...request, limits: endUserLimits };
}

function withLevel(verdict: BudgetVerdict, level: BucketLevel | null): BudgetVerdict {
  return verdict.kind === "ok" ? { kind: "ok", level } : { kind: "refused", refusal: { ...verdict.refusal, level } };
}
