/**
 * The Cell's admission controller: which request holds a slot, which waits for a slot or for tokens, and what happens
 * at the end of each request. The scheduler decides about slots, the budgets decide about tokens; both answer with
 * decisions, which are applied here, and a request that waited is judged again. Invariant: a request is among the
 * entries from its arrival until it is settled or gives up its place here, and what it holds is given back in that same
 * turn, before any await. A request that arrives again replaces its earlier entry, whose permit then has no effect.
 */
import type { UsageRow } from "../../../shared/usage-row.ts";
import type { RowRecord } from "../../domain/admission/exchange-messages.ts";
import { chargedTokens, type SlotTaken, settledRow } from "../../domain/admission/permit-end.ts";
import type { AdmissionRequest, Decision, Settlement, Stale } from "../../domain/admission/rpc.ts";
import { type ActualUsage, beyondUsed, largerUsed, NOTHING_USED } from "../../domain/budget/amounts.ts";
import { RecentIds } from "../../domain/cell/recent-ids.ts";
import type { Revisions } from "../../domain/cell/revisions.ts";
import type { Scheduler, SchedulerEvent } from "../../domain/fairshare/types.ts";
import type { Later } from "../object-ports.ts";
import type { AdmissionEntries } from "./admission-entries.ts";
import {
  type AdmissionEntry,
  arrivalOf,
  type BudgetDecision,
  type BudgetPort,
  isDecided,
  isSubCall,
  lostSettlement,
  mayComeBack,
  type RowCompletion,
  usedBy,
} from "./admission-entry.ts";
import { DetachedRequests } from "./detached-requests.ts";
import { exceedsQueueLimit, QUEUE_FULL } from "./queue-limit.ts";

interface AdmissionControllerOptions {
  readonly cell: string;
  /** Empty at first. The scheduler uses the same object as its grant check. */
  readonly entries: AdmissionEntries;
  readonly scheduler: Scheduler;
  readonly budget: BudgetPort;
  readonly revisions: Pick<Revisions, "generation" | "staleAmong">;
  readonly rows: RowCompletion;
  /**
   * How many requests of one tenant may wait; 0: as many as the cell's queue takes
   * (docs/rules/admission.md#queue-bounds).
   */
  readonly maxQueuedPerTenant: number;
  readonly now: () => number;
  readonly later: Later;
  /** Called at every change of the requests that hold a slot, wait, or are sub-calls. */
  readonly activity: { changed(): void };
}

export class AdmissionController {
  readonly #options: AdmissionControllerOptions;
  readonly #entries: AdmissionEntries;
  readonly #events: SchedulerEvent[] = [];
  readonly #detached: DetachedRequests;
  readonly #ended = new RecentIds();
  #applying = false;

  constructor(options: AdmissionControllerOptions) {
    this.#options = options;
    this.#entries = options.entries;
    this.#detached = new DetachedRequests(options.later, options.rows);
  }

  /**
   * Enters a request; its entry has a decision when one was made in this turn, otherwise it waits. A request that was
   * sent back to be judged again takes its place again, and one that lost its place to a reset gets another; neither is
   * refused because the queue is full.
   */
  arrive(request: AdmissionRequest): AdmissionEntry {
    const { scheduler, budget, maxQueuedPerTenant } = this.#options;
    const { requestId, tenant, waitedMs } = request;
    const hasWaited = waitedMs !== null || this.#entries.get(requestId)?.decision?.verdict === "stale";
    const entry = this.#enter(request, null);
    if (!this.holds(entry)) return entry;
    this.#entries.setArriving(entry);
    this.apply({ type: "arrive", arrival: arrivalOf(request), waitedMs });
    this.#entries.setArriving(null);
    if (entry.slot !== null) {
      entry.inUse = entry.decision?.verdict === "granted";
    } else if (!hasWaited && exceedsQueueLimit(maxQueuedPerTenant, scheduler.queuedOf(tenant.id), scheduler.queued)) {
      entry.decision = { verdict: "refused", refusal: QUEUE_FULL };
      this.apply({ type: "leave", requestId });
    } else if (entry.decision === null) this.applyBudgetDecisions(budget.expect(request));
    return entry;
  }

  /**
   * Another permit for a request that has an entry, or had one while it waited; the earlier permit has no effect from
   * then on. Null: the request has no entry, or none any more. The new permit's grant is not in use yet.
   */
  hold(requestId: string): AdmissionEntry | null {
    const held = this.#entries.get(requestId);
    if (held !== undefined) return this.#replace({ ...held, inUse: false });
    const detached = this.#detached.waiting(requestId);
    return detached === null ? null : this.#comeBack(detached);
  }

  /**
   * Counts a slot that was in use before this Cell started, or before its session was lost; or takes a sub-call, which
   * has no slot.
   */
  adopt(request: AdmissionRequest): AdmissionEntry {
    const held = this.#entries.get(request.requestId);
    // The first message of a sub-call is this one, so it shows nothing.
    const received = !isSubCall(request) || request.waitedMs !== null;
    if (held?.decision?.verdict === "granted") return this.#replace({ ...held, inUse: true, received });
    const admission = request.row.admission === "queued" ? "queued" : "fast";
    const slot = { admission, queueWaitMs: request.row.queue_wait_ms } as const;
    const entry = this.#enter(request, slot);
    if (!this.holds(entry)) return entry;
    entry.decision = { verdict: "granted", grant: { ...slot, level: null } };
    entry.inUse = true;
    entry.received = received;
    entry.mayHaveRow = true;
    const { budget, activity } = this.#options;
    if (entry.charged !== null) budget.readmit(request);
    // A sub-call that an earlier life of this Cell knew may have been charged by that life.
    else if (isSubCall(request) && request.waitedMs === null) budget.admitUnchecked(request);
    else budget.adopt(request);
    if (isSubCall(request)) activity.changed();
    else this.apply({ type: "adopt", arrival: arrivalOf(request) });
    return entry;
  }

  /**
   * Applies an event and reserves budgets for the requests that it grants; a refusal frees its slot for the next
   * request in the same turn.
   */
  apply(event: SchedulerEvent): void {
    this.#events.push(event);
    if (this.#applying) return;
    const { scheduler, budget, now, activity } = this.#options;
    this.#applying = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        const grants = scheduler.apply(next, now());
        for (const requestId of scheduler.takeDeferred()) this.#defer(requestId);
        for (const { requestId, admission, queueWaitMs } of grants) {
          const entry = this.#entries.get(requestId);
          if (entry === undefined) continue;
          entry.slot = { admission, queueWaitMs: Math.round(queueWaitMs) };
          this.applyBudgetDecisions(budget.reserve(entry.request));
        }
      }
    } finally {
      this.#applying = false;
    }
    activity.changed();
  }

  /** Applies what the budgets decided, one after another. */
  applyBudgetDecisions(decisions: readonly BudgetDecision[]): void {
    for (const decision of decisions) this.#applyBudgetDecision(decision);
  }

  /**
   * A verdict on a request that has left is ignored. A request whose records changed while it waited for tokens is
   * judged again, whatever the verdict.
   */
  #applyBudgetDecision({ requestId, verdict }: BudgetDecision): void {
    const entry = this.#entries.get(requestId);
    if (entry === undefined || entry.slot === null || entry.decision !== null) return;
    if (!this.#entries.isCurrent(entry)) {
      this.#sendBack(entry);
      entry.slot = null;
      if (verdict.kind === "ok") this.#options.budget.settle(entry.request, NOTHING_USED);
      this.apply({ type: "defer", requestId });
      return;
    }
    const decision: Decision =
      verdict.kind === "ok"
        ? { verdict: "granted", grant: { ...entry.slot, level: verdict.level } }
        : { verdict: "refused", refusal: verdict.refusal };
    this.#decide(entry, decision);
    if (decision.verdict === "refused") this.apply({ type: "release", requestId, actualTokens: 0 });
  }

  async decision(entry: AdmissionEntry): Promise<Decision | Stale> {
    if (!this.holds(entry)) throw new Error("the permit has ended");
    if (entry.decision !== null) return entry.decision;
    const decided = Promise.withResolvers<Decision | Stale>();
    entry.waiters.push(decided);
    return await decided.promise;
  }

  /** The holder calls the upstream; `reported`: it says so itself. */
  inUse(entry: AdmissionEntry, reported = true): void {
    entry.inUse = true;
    entry.received ||= reported;
  }

  /** The holder watches its slot, so it has it. */
  watched(entry: AdmissionEntry): void {
    entry.received = true;
  }

  /** The request has ended, also when its holder did not learn that another permit has replaced this one. */
  async settle(entry: AdmissionEntry, settlement: Settlement): Promise<void> {
    const { requestId } = entry.request;
    if (!this.#leave(entry, usedBy(settlement)))
      return this.#ended.has(requestId) ? undefined : await this.settleOrphan(settlement);
    this.#ended.add(requestId);
    await this.#options.rows.complete(this.#rowOf(entry, settlement), entry.mayHaveRow, settlement.upstream);
  }

  /**
   * The permit's holder has left without an end. A request that got a decision is settled; one that waited, or may not know of its
   * decision, gives up its place.
   */
  abandon(entry: AdmissionEntry): void {
    if (isDecided(entry) && !mayComeBack(entry)) this.#settleLost(entry, entry.mayHaveRow);
    else this.#detach(entry);
  }

  /**
   * The connection to the permit's holder has ended, which says nothing of the holder: a request that got a decision keeps what it
   * holds until the grace is over, and even then its row waits, because its holder may have stood still.
   */
  disconnected(entry: AdmissionEntry): void {
    if (!isDecided(entry)) this.#detach(entry);
    else this.#detached.afterGrace(entry, this.#entries, () => this.#detach(entry));
  }

  /**
   * The isolate was silent for too long, and others may have what it holds. It may come back and ask again for a request of which
   * nothing went upstream, or whose grant may not have arrived, so the row of such a request waits for it. One that runs has been
   * ended by its isolate, and is settled.
   */
  takeBack(entry: AdmissionEntry): void {
    if (entry.inUse && !mayComeBack(entry)) this.#settleLost(entry, true);
    else this.#detach(entry, entry.request.holder);
  }

  /** An isolate whose requests may have been taken back is heard. */
  isBack(holder: string): void {
    this.#detached.isBack(holder);
  }

  /** What may be in use is charged at once, as when a permit is lost; only its row waits. */
  #detach(entry: AdmissionEntry, silent?: string): void {
    const settlement = lostSettlement(entry, this.#options.now());
    const used = entry.inUse ? usedBy(settlement) : NOTHING_USED;
    if (!this.#leave(entry, used, entry.inUse)) return;
    const charged = entry.inUse ? largerUsed(used, entry.charged ?? NOTHING_USED) : entry.charged;
    this.#detached.detach({ ...entry, charged }, this.#rowOf(entry, settlement), silent);
  }

  /** The isolate of a request that is judged again is not heard any more: the request holds up no other one. */
  unheard({ request: { requestId }, decision }: AdmissionEntry): void {
    if (decision?.verdict === "stale") this.apply({ type: "unheard", requestId });
  }

  #settleLost(entry: AdmissionEntry, mayHaveRow: boolean): void {
    const settlement = lostSettlement(entry, this.#options.now());
    const used = usedBy(settlement);
    if (!this.#leave(entry, used, true)) return;
    const { charged, decision, request } = entry;
    if (decision?.verdict === "granted" || mayHaveRow)
      this.#detached.rememberCharge(request.requestId, charged === null ? used : largerUsed(used, charged));
    // A request that got a decision may have handed in its row by another way.
    const orphan = decision !== null || mayHaveRow;
    void this.#options.rows.complete(this.#rowOf(entry, settlement), orphan).catch(() => undefined);
  }

  /** The row of a request that is settled now. */
  #rowOf(entry: AdmissionEntry, settlement: Settlement): UsageRow {
    const { cell, now } = this.#options;
    return settledRow(settlement, entry.slot, cell, now() - entry.arrivedMs);
  }

  /** Takes the row of a request that was settled by another way than its permit. Resolves when the row is durable. */
  async settleOrphan({ row, upstream }: RowRecord): Promise<void> {
    this.settledElsewhere(row);
    const { rows, cell } = this.#options;
    await rows.complete({ ...row, cell }, true, upstream);
  }

  /** The request was settled by another way than its permit: what it held comes back, its permit writes no row. */
  settledElsewhere(row: UsageRow): void {
    this.#ended.add(row.request_id);
    this.#detached.reattach(row.request_id);
    const entry = this.#entries.get(row.request_id);
    if (entry !== undefined) this.#leave(entry, usedBy({ row, actualTokens: chargedTokens(row) }));
  }

  /**
   * Whether the request holds a slot here or waits, or did so and has lost its permit; its first message then comes
   * late.
   */
  knows(requestId: string): boolean {
    return this.#entries.get(requestId) !== undefined || this.#detached.has(requestId);
  }

  /** Whether the entry is its request's current one: it has not ended, and no other entry has replaced it. */
  holds(entry: AdmissionEntry): boolean {
    return this.#entries.holds(entry);
  }

  get entryCount(): number {
    return this.#entries.size;
  }

  /** The requests that gave up their places, and may still come back: their rows are not written yet. */
  get awaitedCount(): number {
    return this.#detached.waitingCount;
  }

  /** A request that has ended is not entered: its message came late, and no code waits for the answer. */
  #enter(request: AdmissionRequest, slot: SlotTaken | null): AdmissionEntry {
    const { requestId, waitedMs } = request;
    const earlier = this.#entries.get(requestId);
    const isBack = slot === null && earlier?.decision?.verdict === "stale";
    if (earlier !== undefined && !isBack) this.#leave(earlier, NOTHING_USED);
    const charged = this.#detached.takeCharge(requestId);
    this.#detached.reattach(requestId);
    const { now, revisions } = this.#options;
    const entry: AdmissionEntry = {
      request,
      arrivedMs: isBack ? earlier.arrivedMs : now() - (waitedMs ?? 0),
      generation: revisions.generation,
      slot,
      decision: null,
      charged: earlier?.charged ?? charged,
      mayHaveRow: earlier?.mayHaveRow ?? (charged !== null || waitedMs !== null),
      inUse: false,
      received: false,
      waiters: [],
    };
    if (!this.#ended.has(requestId)) this.#entries.put(entry);
    return entry;
  }

  /**
   * The request waits again, and the time that it has waited counts; when its records have changed, it is judged again
   * first.
   */
  #comeBack({ request, arrivedMs, generation }: AdmissionEntry): AdmissionEntry {
    const back = { ...request, waitedMs: Math.max(0, this.#options.now() - arrivedMs) };
    const entry = this.#enter(back, null);
    if (!this.holds(entry)) return entry;
    entry.generation = generation;
    // The scheduler takes the values of an arrival to be the newest ones.
    if (this.#entries.isCurrent(entry))
      this.apply({ type: "arrive", arrival: arrivalOf(back), waitedMs: back.waitedMs });
    else this.#sendBack(entry);
    if (entry.slot === null && entry.decision === null) this.applyBudgetDecisions(this.#options.budget.expect(back));
    return entry;
  }

  /** The scheduler has deferred a request at its turn. The request keeps its place, and its Worker judges it again. */
  #defer(requestId: string): void {
    const entry = this.#entries.get(requestId);
    if (entry === undefined) return;
    this.#sendBack(entry);
    this.applyBudgetDecisions(this.#options.budget.withdraw(entry.request));
  }

  /** Answers to the holder that its request has to be judged again. */
  #sendBack(entry: AdmissionEntry): void {
    this.#decide(entry, { verdict: "stale", items: this.#options.revisions.staleAmong(entry.request.revs) });
  }

  #decide(entry: AdmissionEntry, decision: Decision | Stale): void {
    entry.decision = decision;
    for (const waiter of entry.waiters.splice(0)) waiter.resolve(decision);
  }

  /** A request that was never lost goes on under a new permit; the earlier permit has no effect any more. */
  #replace(held: AdmissionEntry): AdmissionEntry {
    for (const waiter of held.waiters.splice(0)) waiter.reject(new Error("the permit has ended"));
    const entry: AdmissionEntry = { ...held, waiters: [] };
    this.#entries.put(entry);
    return entry;
  }

  /** Ends the entry. True only for the first call. */
  #leave(entry: AdmissionEntry, used: ActualUsage, goesOn = false): boolean {
    const { request, charged } = entry;
    const { requestId } = request;
    if (!this.holds(entry)) return false;
    this.#entries.remove(entry);
    for (const waiter of entry.waiters.splice(0)) waiter.reject(new Error("the permit has ended"));
    const { budget, activity } = this.#options;
    // What the request was charged when it lost its permit is part of its usage already.
    const owed = charged === null ? used : beyondUsed(used, charged);
    if (entry.decision === null) this.applyBudgetDecisions(budget.withdraw(request));
    else if (entry.decision.verdict === "granted") budget.settle(request, owed, goesOn);
    if (isSubCall(request)) activity.changed();
    else if (entry.slot === null) this.apply({ type: "leave", requestId });
    else if (entry.decision?.verdict !== "refused")
      this.apply({ type: "release", requestId, actualTokens: owed.tokens });
    else activity.changed();
    return true;
  }
}
