/**
 * The Cell's admission controller: who holds a slot, who waits for a slot or for tokens, and what happens at the end of each. Slots
 * are the scheduler's decision, tokens the budget's; whoever waited is judged again here. Invariant: every request is in
 * `#seats` from its arrival until it is settled or loses its way here while it waits, and what it holds is given back in that
 * turn, before any await. One that asks again takes the place of its earlier entry, whose permit then means nothing.
 */
import type { UsageRow } from "../../../shared/usage-row.ts";
import { type SlotTaken, settledRow } from "../../domain/admission/permit-end.ts";
import type { AdmissionRequest, Decision, Settlement, Stale } from "../../domain/admission/rpc.ts";
import type { ActualUsage } from "../../domain/budget/amounts.ts";
import { RecentIds } from "../../domain/cell/recent-ids.ts";
import type { GrantCheck, SchedulerEvent } from "../../domain/fairshare/types.ts";
import type { AdmissionControllerOptions } from "./admission-controller-options.ts";
import {
  type AdmissionEntry,
  arrivalOf,
  type BudgetVerdict,
  largerUsage,
  lostSettlement,
  NO_USAGE,
  usageBeyond,
  usedBy,
} from "./admission-entry.ts";
import { DetachedRequests } from "./detached-requests.ts";
import { exceedsQueueLimit, QUEUE_FULL } from "./queue-limit.ts";

export class AdmissionController implements GrantCheck {
  readonly #options: AdmissionControllerOptions;
  readonly #seats = new Map<string, AdmissionEntry>();
  readonly #events: SchedulerEvent[] = [];
  readonly #lost: DetachedRequests;
  readonly #ended = new RecentIds();
  #applying = false;
  /** Its records were compared just now, in the turn of its arrival. */
  #arriving: AdmissionEntry | null = null;

  constructor(options: AdmissionControllerOptions) {
    this.#options = options;
    this.#lost = new DetachedRequests(options.later);
  }

  /**
   * Seats a request; its entry has a decision when one was made in this turn, else it waits. One that was to be judged again
   * takes its place again, one that lost its place to a reset gets another: neither is refused for want of room.
   */
  arrive(ask: AdmissionRequest): AdmissionEntry {
    const { scheduler, budget, maxQueuedPerTenant } = this.#options;
    const hasWaited = ask.waitedMs !== null || this.#seats.get(ask.requestId)?.decision?.verdict === "stale";
    const seat = this.#take(ask, null);
    if (!this.holds(seat)) return seat;
    this.#arriving = seat;
    this.apply({ type: "arrive", arrival: arrivalOf(ask), waitedMs: ask.waitedMs });
    this.#arriving = null;
    if (seat.slot !== null) {
      seat.inUse = seat.decision?.verdict === "granted";
    } else if (
      !hasWaited &&
      exceedsQueueLimit(maxQueuedPerTenant, scheduler.queuedOf(ask.tenant.id), scheduler.queued)
    ) {
      seat.decision = { verdict: "refused", refusal: QUEUE_FULL };
      this.apply({ type: "leave", requestId: ask.requestId });
    } else if (seat.decision === null) budget.expect(ask);
    return seat;
  }

  mayHave(requestId: string): boolean {
    const seat = this.#seats.get(requestId);
    return seat === undefined || this.#isCurrent(seat);
  }

  deferred(requestId: string): void {
    const seat = this.#seats.get(requestId);
    if (seat === undefined) return;
    this.#sendBack(seat);
    this.#options.budget.withdraw(seat.ask);
  }

  /**
   * A request that has a seat, or had one that it waited on, gets another permit, and the earlier one means nothing; null: it
   * has none (any more). It has not used a grant.
   */
  hold(requestId: string): AdmissionEntry | null {
    const held = this.#seats.get(requestId);
    if (held !== undefined) return this.#reseat({ ...held, inUse: false });
    const away = this.#lost.waiting(requestId);
    return away === null ? null : this.#comeBack(away);
  }

  /** Counts a slot that was in use before this Cell started, or before its session was lost. */
  adopt(ask: AdmissionRequest): AdmissionEntry {
    const held = this.#seats.get(ask.requestId);
    if (held?.decision?.verdict === "granted") return this.#reseat({ ...held, inUse: true });
    const admission = ask.row.admission === "queued" ? "queued" : "fast";
    const slot = { admission, queueWaitMs: ask.row.queue_wait_ms } as const;
    const seat = this.#take(ask, slot);
    if (!this.holds(seat)) return seat;
    seat.decision = { verdict: "granted", grant: { ...slot, level: null } };
    seat.inUse = true;
    seat.mayHaveRow = true;
    if (seat.charged !== null) this.#options.budget.readmit(ask);
    else this.#options.budget.adopt(ask);
    this.apply({ type: "adopt", arrival: arrivalOf(ask) });
    return seat;
  }

  /** Applies an event and asks the budgets of those whom it grants; a refusal frees its slot for the next in turn. */
  apply(event: SchedulerEvent): void {
    this.#events.push(event);
    if (this.#applying) return;
    this.#applying = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        for (const { requestId, admission, queueWaitMs } of this.#options.scheduler.apply(next, this.#options.now())) {
          const seat = this.#seats.get(requestId);
          if (seat === undefined) continue;
          seat.slot = { admission, queueWaitMs: Math.round(queueWaitMs) };
          this.#options.budget.reserve(seat.ask);
        }
      }
    } finally {
      this.#applying = false;
    }
    this.#options.changed();
  }

  /**
   * Takes the budgets' verdict on a request that holds its slot. One that left meanwhile is not told; one whose records
   * changed while its tokens were on their way is judged again, whatever the verdict.
   */
  budgetDecided(requestId: string, verdict: BudgetVerdict): void {
    const seat = this.#seats.get(requestId);
    if (seat === undefined || seat.slot === null || seat.decision !== null) return;
    if (!this.#isCurrent(seat)) {
      this.#sendBack(seat);
      seat.slot = null;
      if (verdict.kind === "ok") this.#options.budget.settle(seat.ask, NO_USAGE);
      this.apply({ type: "defer", requestId });
      return;
    }
    const decision: Decision =
      verdict.kind === "ok"
        ? { verdict: "granted", grant: { ...seat.slot, level: verdict.level } }
        : { verdict: "refused", refusal: verdict.refusal };
    this.#tell(seat, decision);
    if (decision.verdict === "refused") this.apply({ type: "release", requestId, actualTokens: 0 });
  }

  async decision(seat: AdmissionEntry): Promise<Decision | Stale> {
    if (!this.holds(seat)) throw new Error("the permit has ended");
    if (seat.decision !== null) return seat.decision;
    return await new Promise((resolve, reject) => seat.waiters.push({ resolve, reject }));
  }

  inUse(seat: AdmissionEntry): void {
    seat.inUse = true;
  }

  async settle(seat: AdmissionEntry, settlement: Settlement): Promise<void> {
    if (!this.#leave(seat, usedBy(settlement))) return;
    this.#ended.add(seat.ask.requestId);
    const row = settledRow(settlement, seat.slot, this.#options.cell, this.#options.now() - seat.arrivedMs);
    await this.#options.complete(row, seat.mayHaveRow, settlement.upstream);
  }

  /**
   * The permit's holder is gone, or only the way to it. Whoever was told a decision is settled; whoever waited gives way.
   * `mayHaveRow`: its request may have gone another way before, or may do so yet.
   */
  abandon(seat: AdmissionEntry, mayHaveRow = seat.mayHaveRow): void {
    if (seat.decision !== null && seat.decision.verdict !== "stale") this.#settleLost(seat, mayHaveRow);
    else if (this.#leave(seat, NO_USAGE))
      this.#lost.detach(seat, this.#lostRow(seat, lostSettlement(seat, this.#options.now()), true));
  }

  #settleLost(seat: AdmissionEntry, mayHaveRow: boolean): void {
    const settlement = lostSettlement(seat, this.#options.now());
    if (!this.#leave(seat, usedBy(settlement), true)) return;
    if (seat.decision?.verdict === "granted" || mayHaveRow)
      this.#lost.rememberCharge(seat.ask.requestId, largerUsage(usedBy(settlement), seat.charged));
    // Whoever was told a decision may have handed its row in by another way.
    this.#lostRow(seat, settlement, seat.decision !== null || mayHaveRow)();
  }

  /** Writes its row as of now, when it is called. */
  #lostRow(seat: AdmissionEntry, settlement: Settlement, orphan: boolean): () => void {
    const { cell, now, complete } = this.#options;
    const row = settledRow(settlement, seat.slot, cell, now() - seat.arrivedMs);
    return () => void complete(row, orphan).catch(() => undefined);
  }

  /** The request was settled by another way than its permit: what it held comes back, its permit writes no row. */
  settledElsewhere(row: UsageRow): void {
    this.#ended.add(row.request_id);
    this.#lost.reattach(row.request_id);
    const seat = this.#seats.get(row.request_id);
    if (seat !== undefined) this.#leave(seat, usedBy({ row, actualTokens: row.total_tokens }));
  }

  /** The request holds a slot here or waits, or did and has lost its permit: a first word of it comes late. */
  knows(requestId: string): boolean {
    return this.#seats.has(requestId) || this.#lost.has(requestId);
  }

  /** The seat is its request's: it has not been given up, nor is there another one in its place. */
  holds(seat: AdmissionEntry): boolean {
    return this.#seats.get(seat.ask.requestId) === seat;
  }

  /** Since when the one waits who was seated first, epoch ms; `nowMs` when nobody is. No ask to be judged came much before. */
  oldestArrivalMs(nowMs: number): number {
    const [first] = this.#seats.values();
    return first?.arrivedMs ?? nowMs;
  }

  get seated(): number {
    return this.#seats.size;
  }

  /** A request that has ended gets no seat: this word of it came late, and nobody waits for the answer. */
  #take(ask: AdmissionRequest, slot: SlotTaken | null): AdmissionEntry {
    const earlier = this.#seats.get(ask.requestId);
    const isBack = slot === null && earlier?.decision?.verdict === "stale";
    if (earlier !== undefined && !isBack) this.#leave(earlier, NO_USAGE);
    const charged = this.#lost.takeCharge(ask.requestId);
    this.#lost.reattach(ask.requestId);
    const { now, revisions } = this.#options;
    const seat: AdmissionEntry = {
      ask,
      arrivedMs: isBack ? earlier.arrivedMs : now() - (ask.waitedMs ?? 0),
      generation: revisions.generation,
      slot,
      decision: null,
      charged: earlier?.charged ?? charged,
      mayHaveRow: earlier?.mayHaveRow ?? (charged !== null || ask.waitedMs !== null),
      inUse: false,
      waiters: [],
    };
    if (!this.#ended.has(ask.requestId)) this.#seats.set(ask.requestId, seat);
    return seat;
  }

  /** It waits again, as long as it has; it is judged again first if what it rests on has changed. */
  #comeBack({ ask, arrivedMs, generation }: AdmissionEntry): AdmissionEntry {
    const back = { ...ask, waitedMs: Math.max(0, this.#options.now() - arrivedMs) };
    const seat = this.#take(back, null);
    if (!this.holds(seat)) return seat;
    seat.generation = generation;
    // The scheduler takes the values of whoever arrives to be the newest.
    if (this.#isCurrent(seat)) this.apply({ type: "arrive", arrival: arrivalOf(back), waitedMs: back.waitedMs });
    else this.#sendBack(seat);
    if (seat.slot === null && seat.decision === null) this.#options.budget.expect(back);
    return seat;
  }

  /** Costs nothing but a look at the clock while no record has changed. */
  #isCurrent(seat: AdmissionEntry): boolean {
    const { revisions, now } = this.#options;
    const { revs, openUntilMs } = seat.ask;
    if (seat === this.#arriving) return true;
    if (openUntilMs !== null && now() >= openUntilMs) return false;
    if (seat.generation === revisions.generation) return true;
    if (revisions.staleAmong(revs).length > 0) return false;
    seat.generation = revisions.generation;
    return true;
  }

  /** Tells one whose turn has come to be judged again. */
  #sendBack(seat: AdmissionEntry): void {
    this.#tell(seat, { verdict: "stale", items: this.#options.revisions.staleAmong(seat.ask.revs) });
  }

  #tell(seat: AdmissionEntry, decision: Decision | Stale): void {
    seat.decision = decision;
    for (const waiter of seat.waiters.splice(0)) waiter.resolve(decision);
  }

  /** What was never lost goes on under a new permit; the earlier one means nothing any more. */
  #reseat(held: AdmissionEntry): AdmissionEntry {
    for (const waiter of held.waiters.splice(0)) waiter.reject(new Error("the permit has ended"));
    const seat: AdmissionEntry = { ...held, waiters: [] };
    this.#seats.set(seat.ask.requestId, seat);
    return seat;
  }

  /** True for the one caller that ends the seat. */
  #leave(seat: AdmissionEntry, used: ActualUsage, goesOn = false): boolean {
    const { requestId } = seat.ask;
    if (!this.holds(seat)) return false;
    this.#seats.delete(requestId);
    for (const waiter of seat.waiters.splice(0)) waiter.reject(new Error("the permit has ended"));
    const { budget } = this.#options;
    // What its lost permit was charged has been counted for it as well.
    const owed = usageBeyond(used, seat.charged);
    if (seat.decision === null) budget.withdraw(seat.ask);
    else if (seat.decision.verdict === "granted") budget.settle(seat.ask, owed, goesOn);
    if (seat.slot === null) this.apply({ type: "leave", requestId });
    else if (seat.decision?.verdict !== "refused")
      this.apply({ type: "release", requestId, actualTokens: owed.tokens });
    else this.#options.changed();
    return true;
  }
}
