/**
 * The TenantBudget object, one per tenant and named by its id: the shell around TenantBudgetAuthority
 * (docs/rules/budgets.md#leases). It gives the authority its clock, its disk and the sums of the ledger. A lease is on
 * disk before its answer leaves; other changes are written by the alarm, and Cells repeat their reports until then.
 */
import { DurableObject } from "cloudflare:workers";
import { rootCause } from "../../../shared/text/root-cause.ts";
import type { Bindings } from "../../bindings.ts";
import { LEDGER_DELAY_MS, TenantBudgetAuthority } from "../../domain/budget/authority/tenant-budget-authority.ts";
import type { BudgetLimits, BudgetOwner } from "../../domain/budget/limits.ts";
import {
  type BudgetReport,
  LEASE_QUESTION,
  type LeaseAnswer,
  type LeaseRequest,
  type ReportAnswer,
  type TenantBudgetApi,
} from "../../domain/budget/messages/rpc.ts";
import { isOf } from "../../domain/budget/shapes.ts";
import { type BucketLevel, bucketsIn, tightestLevel } from "../../domain/budget/token-bucket.ts";
import { type BudgetUsage, budgetUsageOf, periodStartMs } from "../../domain/budget/usage-view.ts";
import { callWithRetry } from "../call-with-retry.ts";
import { objectName } from "../object-name.ts";
import type { TenantBudgetPorts } from "../object-ports.ts";
import { BudgetStore } from "./budget-store.ts";
import { LedgerReconciler } from "./ledger-reconciler.ts";

/** Changes other than leases are written to disk this long after they happened. */
const CHECKPOINT_MS = 5_000;
/** The row of a pool is written whole for each lease: once it would have more of them, everything is stored instead. */
const GRANTS_MAX = 200;
/** When the ledger did not answer for a dead cell, or the Ledger for alerts, it is called again after this long. */
const RETRY_MS = 10_000;
/** A Ledger that hangs must not keep the alarm: the object would store and settle nothing meanwhile. */
const LEDGER_WITHIN_MS = 5_000;

export class TenantBudgetObject extends DurableObject<Bindings> implements TenantBudgetApi {
  readonly #ports: TenantBudgetPorts;
  readonly #store: BudgetStore;
  readonly #core: TenantBudgetAuthority;
  readonly #check: LedgerReconciler;
  #alarmAtMs: number | null = null;
  /** The Cell that reported last: the Ledger beside it gets the alerts. */
  #lastCell: string | null = null;
  #alertsFromMs = 0;

  constructor(state: DurableObjectState, bindings: Bindings, ports: TenantBudgetPorts) {
    super(state, bindings);
    this.#ports = ports;
    this.#store = new BudgetStore(state.storage);
    const { state: stored, damaged } = this.#store.load();
    if (damaged > 0) ports.log.event("budget_rows_damaged", { tenant_id: objectName(state), rows: damaged });
    this.#core = new TenantBudgetAuthority(stored, ports.monthOf, ports.now());
    this.#check = new LedgerReconciler(this.#core, ports, () => void this.#arm().catch(() => undefined));
  }

  async lease(request: LeaseRequest): Promise<LeaseAnswer> {
    this.#lastCell = request.report.cell;
    if (isOf(LEASE_QUESTION, request) && !this.#check.isFresh(request.limits, this.#ports.now())) {
      // The cell's report is applied first: the ledger has the same rows, and they would count twice.
      this.#core.report(request.report, this.#ports.now());
      await this.#check.beforeDeciding(request.limits);
    }
    const { answer, grants } = this.#core.lease(request, this.#ports.now());
    if (grants !== null && grants.leases.length > GRANTS_MAX) this.#checkpoint();
    else if (grants !== null) this.#store.putGrants(grants);
    await this.#arm();
    return answer;
  }

  async report(report: BudgetReport, isLast = false): Promise<ReportAnswer> {
    this.#lastCell = report.cell;
    const answer = this.#core.report(report, this.#ports.now());
    if (isLast) this.#checkpoint();
    await this.#arm();
    return answer;
  }

  async limitsChanged(limits: BudgetLimits): Promise<void> {
    await this.#check.beforeDeciding(limits);
    this.#core.limitsChanged(limits, this.#ports.now());
    await this.#arm();
  }

  async level(limits: BudgetLimits): Promise<BucketLevel | null> {
    const buckets = this.#core.buckets(limits, this.#ports.now());
    await this.#arm();
    return tightestLevel(bucketsIn(buckets));
  }

  async usage(whose: BudgetOwner, limits: BudgetLimits, activeUntilMs: number | null): Promise<BudgetUsage> {
    await this.#check.beforeReading(whose, limits);
    const nowMs = this.#ports.now();
    const { limits: newest, account, reserved } = this.#core.read(whose, limits, nowMs);
    await this.#arm();
    const { term } = newest[whose];
    const zone = newest.tenant.timezone;
    const { monthBounds } = this.#ports;
    const startMs = periodStartMs(term, zone, nowMs, monthBounds);
    const monthEndMs = term.period === "monthly" ? monthBounds(nowMs, zone).endMs : null;
    const endMs = term.period === "term" ? activeUntilMs : monthEndMs;
    return budgetUsageOf(term, account, reserved, { startMs, endMs }, nowMs);
  }

  async endUserUsage(limits: BudgetLimits, activeUntilMs: number | null): Promise<BudgetUsage | null> {
    return this.#core.isKnown(limits.key.id) ? await this.usage("key", limits, activeUntilMs) : null;
  }

  async rebuild(whose: BudgetOwner, limits: BudgetLimits): Promise<boolean> {
    const answered = await this.#check.recheck(whose, limits);
    await this.#arm();
    return answered;
  }

  override async alarm(): Promise<void> {
    this.#alarmAtMs = null;
    try {
      // Not only after the ledger has answered.
      this.#checkpoint();
      await Promise.all([this.#deliverAlerts(), this.#settleDeadCells()]);
      this.#checkpoint();
    } catch (error) {
      this.#ports.log.event("budget_alarm_failed", { tenant_id: objectName(this.ctx), reason: rootCause(error) });
    }
    await this.#arm();
  }

  #checkpoint(): void {
    if (!this.#core.dirty) return;
    try {
      this.#store.putCheckpoint(this.#core.checkpoint());
    } catch (error) {
      // Memory is ahead of the disk, and the difference is not known: start again from the disk; Cells repeat their
      // reports.
      this.ctx.abort("checkpoint failed");
      throw error;
    }
  }

  /** Never rejects: lost alerts are sent again under the same id. */
  async #deliverAlerts(): Promise<void> {
    const alerts = this.#core.undelivered;
    if (alerts.length === 0) return;
    const nowMs = this.#ports.now();
    const events = alerts.map((alert) => ({ ...alert, atMs: nowMs, count: 1 }));
    const sent = await callWithRetry(async () => {
      await this.#ports.deliverAlerts(this.#lastCell, events);
      return true;
    }, LEDGER_WITHIN_MS);
    if (sent === null) this.#alertsFromMs = nowMs + RETRY_MS;
    else this.#core.delivered(alerts);
  }

  /** Leases of dead cells count as spent until the ledger was read for every counter concerned. */
  async #settleDeadCells(): Promise<void> {
    this.#core.tick(this.#ports.now());
    const waiting = this.#core.countersAwaitingLedger(this.#ports.now());
    // Use that the ledger does not have yet would return as unused.
    if (waiting.length === 0 || !(await this.#hasRowsOfDeadCells())) return;
    const unanswered = await this.#check.recheckAfterDeath(waiting);
    if (unanswered !== null) this.#core.ledgerSettled(unanswered);
  }

  /** Never rejects: a Ledger that does not answer may have some. */
  async #hasRowsOfDeadCells(): Promise<boolean> {
    const { now, hasShippedRows } = this.#ports;
    const endedBeforeMs = now() - LEDGER_DELAY_MS;
    const cells = this.#core.cellsAwaitingLedger;
    const answers = await Promise.all(
      cells.map(
        async (cell) => await callWithRetry(async () => await hasShippedRows(cell, endedBeforeMs), LEDGER_WITHIN_MS),
      ),
    );
    return answers.every((hasShipped) => hasShipped === true);
  }

  /** Sets the one alarm: for the checkpoint, alerts, or the next check of silent cells. An earlier alarm stays. */
  async #arm(): Promise<void> {
    const nowMs = this.#ports.now();
    const wakeMs = this.#core.nextWakeMs();
    const wake = wakeMs === null ? null : Math.max(wakeMs, nowMs + (wakeMs <= nowMs ? RETRY_MS : 0));
    const save = this.#core.dirty ? nowMs + CHECKPOINT_MS : null;
    const alert = this.#core.undelivered.length === 0 ? null : Math.max(nowMs, this.#alertsFromMs);
    const atMs = Math.min(wake ?? Infinity, save ?? Infinity, alert ?? Infinity);
    if (atMs === Infinity || (this.#alarmAtMs !== null && this.#alarmAtMs <= atMs)) return;
    this.#alarmAtMs = atMs;
    try {
      await this.ctx.storage.setAlarm(atMs);
    } catch (error) {
      // If the time were kept although the alarm was not set, no later alarm would be set.
      if (this.#alarmAtMs === atMs) this.#alarmAtMs = null;
      throw error;
    }
  }
}
