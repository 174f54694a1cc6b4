/**
 * Admission in a cluster of several machines: a Cell has no owner for some seconds when its machine is lost, and a machine may be
 * cut off from it. A request waits for the next owner instead of failing (docs/rules/admission.md#between-owners), and holds its
 * slot, or its place in the queue, under a lease (docs/rules/admission.md#leases-of-isolates). A grant that it cannot use counts as a
 * lost place: the request asks again.
 */
import { issues } from "../../shared/alerts.ts";
import { GatewayError } from "../../shared/errors.ts";
import { isSubCall } from "../domain/admission/admission-entry.ts";
import type { AdmissionRequest, CacheHit, Decision, Settlement, Stale } from "../domain/admission/rpc.ts";
import type {
  Admission,
  AdmissionOutcome,
  Alerts,
  CacheHitVerdict,
  CellView,
  Clock,
  HitWaiter,
  Permit,
  Sleep,
} from "../ports.ts";
import type { SlotLease } from "./owner-watch.ts";
import { isAway, Patience, type PatienceTerms } from "./patience.ts";

/** How often a request may get its grant too late, because its isolate was cut off meanwhile. */
const LATE_MAX = 10;

interface ClusterOptions {
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly alerts: Alerts;
  /** Starts a lease in the context of the caller. */
  readonly lease: (onEnd: () => void) => SlotLease;
  /** Lets work outlive the request in whose context it runs. */
  readonly keepAlive: (work: Promise<unknown>) => void;
}

export class ClusterAdmission implements Admission {
  readonly cell: string;
  readonly view: CellView;
  readonly record: Admission["record"];
  readonly settleOrphan: Admission["settleOrphan"];
  readonly #inner: Admission;
  readonly #options: ClusterOptions;
  readonly #terms: PatienceTerms;

  constructor(inner: Admission, options: ClusterOptions) {
    this.cell = inner.cell;
    this.view = inner.view;
    this.record = async (...row) => await inner.record(...row);
    this.settleOrphan = async (...row) => await inner.settleOrphan(...row);
    this.#inner = inner;
    this.#options = options;
    this.#terms = { ...options, patient: 0 };
  }

  async admit(request: AdmissionRequest, before?: Permit | null): Promise<AdmissionOutcome> {
    const permit =
      before instanceof ClusterPermit
        ? before
        : new ClusterPermit(this.#inner, this.#options, new Patience(this.#terms));
    return await permit.ask(request);
  }

  async confirmHit(hit: CacheHit, waiter: HitWaiter): Promise<CacheHitVerdict | null> {
    const { clock, keepAlive } = this.#options;
    const { signal, openUntilMs } = waiter;
    const patience = new Patience(this.#terms);
    for (;;) {
      const asked = this.#inner.confirmHit(patience.began ? { ...hit, again: true } : hit, waiter);
      try {
        return await patience.awaited(asked);
      } catch (error) {
        // A late answer has taken the row, which must still become durable.
        keepAlive(asked.then(async (verdict) => await verdict?.recorded).catch(() => undefined));
        if (!isAway(error) || !patience.mayPause()) throw error;
        await patience.pause(signal);
        if (signal.aborted) throw error;
        if (openUntilMs !== null && clock() >= openUntilMs) return null;
      }
    }
  }
}

/** What one request holds at its Cell, from its first admission request to its end. */
class ClusterPermit implements Permit {
  readonly #admission: Admission;
  readonly #options: ClusterOptions;
  readonly #patience: Patience;
  /** Aborted when it ends. */
  readonly #over = new AbortController();
  /** Null: the Cell, as far as it was reached, has nothing for it. */
  #inner: Permit | null = null;
  #lease: SlotLease | null = null;
  #isLost = false;
  #whenLost: () => void = () => undefined;
  #decide!: () => Promise<Decision | Stale>;
  #late = 0;

  constructor(admission: Admission, options: ClusterOptions, patience: Patience) {
    this.#admission = admission;
    this.#options = options;
    this.#patience = patience;
  }

  async ask(request: AdmissionRequest): Promise<AdmissionOutcome> {
    this.#lease?.release();
    this.#isLost = false;
    this.#lease = this.#options.lease(() => this.#lose());
    const answer = await this.#asked(request).catch((error: unknown) => {
      if (isAway(error) && !isSubCall(request) && this.#patience.mayPause()) return null;
      this.#lease?.release();
      throw error;
    });
    if (answer === null) {
      this.#inner = null;
      this.#decide = async () => await this.#asksAgain();
      return { verdict: "waiting", permit: this };
    }
    if (answer.verdict !== "refused") this.#patience.answered();
    if (answer.verdict === "stale") {
      this.#lease.release();
      return answer;
    }
    this.#inner = answer.permit;
    if (answer.verdict !== "waiting" && (await this.#flawOf(answer)) === null) return { ...answer, permit: this };
    this.#decide = async () =>
      await this.#taken(answer.verdict === "waiting" ? await answer.permit.decision() : answer);
    return { verdict: "waiting", permit: this };
  }

  async decision(): Promise<Decision | Stale> {
    try {
      return await this.#decide();
    } catch (error) {
      this.#lease?.release();
      throw error;
    }
  }

  async settle(settlement: Settlement): Promise<void> {
    this.#end();
    if (this.#inner === null) await this.#admission.settleOrphan(settlement.row, settlement.upstream);
    else await this.#inner.settle(settlement);
  }

  leave(): void {
    this.#end();
    this.#inner?.leave();
  }

  whenLost(run: () => void): void {
    this.#whenLost = run;
    if (this.#isLost) run();
  }

  async #asked(request: AdmissionRequest): Promise<AdmissionOutcome> {
    const asked = this.#admission.admit(this.#patience.began ? { ...request, again: true } : request, this.#inner);
    return isSubCall(request) ? await asked : await this.#patience.awaited(asked);
  }

  /** Why a decision is of no use: a grant came after the lease had ended, or the budgets have no owner, as the Cell may. */
  async #flawOf(decision: Decision | Stale): Promise<"late" | "budgets away" | null> {
    if (decision.verdict === "granted") return (await this.#lease?.isHeld()) === true ? null : "late";
    if (decision.verdict === "stale" || !decision.refusal.code.endsWith("budget_check_failed")) return null;
    return this.#patience.mayPause() ? "budgets away" : null;
  }

  async #taken(decision: Decision | Stale): Promise<Decision | Stale> {
    const flaw = await this.#flawOf(decision);
    if (flaw === null) return decision;
    if (flaw === "budgets away") {
      this.#patience.waitsForBudgets();
      return await this.#asksAgain();
    }
    this.#late += 1;
    if (this.#late < LATE_MAX) throw new Error("the slot is lost");
    const { alerts } = this.#options;
    alerts.raise(
      issues.schedulerUnavailable(this.#admission.cell, "out of reach again and again while a request waited"),
    );
    throw new GatewayError("scheduler_unavailable");
  }

  /** Pauses, and fails as a place that is lost does. */
  async #asksAgain(): Promise<never> {
    await this.#patience.pause(this.#over.signal);
    throw new Error("the place is lost");
  }

  #lose(): void {
    this.#isLost = true;
    this.#whenLost();
  }

  #end(): void {
    this.#lease?.release();
    this.#over.abort();
  }
}
