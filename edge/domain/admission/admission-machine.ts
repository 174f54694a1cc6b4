/**
 * A Cell's admission: which request holds a slot, which waits for a slot or for tokens, and what happens when each ends. The
 * scheduler decides about slots, the budgets about tokens; their decisions are applied here, and a request that waited is
 * checked again. Each request is in exactly one state ({@link STEPS}), and nothing is awaited between two changes. Invariants: a
 * request returns what it holds in the turn in which it ends or is given up; a request whose row has come never comes back; the
 * total charge of a request is what it used, or the estimate if that is more and it was given up.
 */
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import { type ActualUsage, minus as beyondUsed, larger as largerUsed, NOTHING_USED } from "../budget/amounts.ts";
import { NewestById, RecentIds } from "../cell/recent-ids.ts";
import type { GrantCheck, Scheduler, SchedulerEvent } from "../fairshare/types.ts";
import {
  type AdmissionEntry,
  arrivalOf,
  isLive,
  isSubCall,
  mayBeKnown,
  move,
  movesOn,
  newEntry,
  type RequestEvent,
  runsAtOnce,
  slotOf,
  USED_BY_FAILURE,
  usedBy,
} from "./admission-entry.ts";
import type { AdmissionOptions } from "./admission-options.ts";
import type { BudgetDecision } from "./budget-port.ts";
import type { AdmissionAnswer } from "./exchange-messages.ts";
import { ROW_WAITS_MS } from "./given-up-rows.ts";
import { exceedsQueueLimit, QUEUE_FULL } from "./queue-limit.ts";
import { lostSettlement, settledRow } from "./request-end.ts";
import type { AdmissionRequest, Decision, Settlement, SlotTaken, Stale } from "./rpc.ts";

/** The charges of so many requests are kept: enough for all that may run in a cell at once. */
const CHARGES_KEPT = 10_000;

const WAITS: AdmissionAnswer = { verdict: "waiting" };
const NO_SLOT: SlotTaken = { admission: "fast", queueWaitMs: 0 };

export class AdmissionMachine implements GrantCheck {
  readonly #options: AdmissionOptions;
  readonly #scheduler: Scheduler;
  readonly #entries = new Map<string, AdmissionEntry>();
  readonly #ended = new RecentIds();
  /** What requests were charged that were given up, and whose rows are written. */
  readonly #charges = new NewestById<ActualUsage>(CHARGES_KEPT);
  readonly #events: SchedulerEvent[] = [];
  #applying = false;
  /** The request that arrives in this turn: its records were compared a moment ago, and its answer is returned. */
  #arriving: AdmissionEntry | null = null;

  /** The scheduler asks this machine whether a request may have its slot. */
  constructor(options: AdmissionOptions, schedulerOf: (check: GrantCheck) => Scheduler) {
    this.#options = options;
    this.#scheduler = schedulerOf(this);
  }

  /**
   * Enters a request, or one that was stale or given up. One that asks again while it has its place, or its answer, keeps it.
   * Only a new one, or one that moves to another model, is refused because the queue is full. Null: it has ended, and nobody
   * waits for an answer.
   */
  ask(request: AdmissionRequest, member: string): AdmissionAnswer | null {
    const known = this.#entries.get(request.requestId);
    if (known === undefined && this.#ended.has(request.requestId)) return null;
    const moves = known !== undefined && movesOn(known, request);
    const items = runsAtOnce(request) ? [] : this.#options.revisions.staleAmong(request.revs);
    if (items.length > 0 && (known === undefined || moves)) return { verdict: "stale", items };
    if (known !== undefined && isLive(known)) {
      if (request.anew === true || moves) this.#clear(known, "is lost", moves ? USED_BY_FAILURE : NOTHING_USED, true);
      else if (known.state !== "stale") {
        if (request.ask !== undefined) known.request = { ...known.request, ask: request.ask };
        return known.answer ?? WAITS;
      }
    }
    const waitedMs =
      known === undefined || moves ? request.waitedMs : Math.max(this.#ageMsOf(known), request.waitedMs ?? 0);
    const told = this.#enter(request, member, (entry) => {
      // It must count as live: otherwise nobody would give it up if its isolate were lost.
      if (items.length > 0) this.#checkAgain(entry);
      else if (runsAtOnce(request)) this.#run(entry, NO_SLOT);
      else this.#arrive(entry, waitedMs, moves || waitedMs === null);
    });
    return told ?? WAITS;
  }

  /**
   * The isolate says that the request waits. One that was given up comes back to its place: the time that it has waited
   * counts, and when its records have changed it is checked again first. Null: there is nothing to tell.
   */
  waits(requestId: string): Decision | Stale | null {
    const known = this.#entries.get(requestId);
    if (known === undefined) return this.#ended.has(requestId) ? null : { verdict: "stale", items: [] };
    if (known.state !== "given up") return known.answer;
    // The scheduler takes the values of an arrival to be the newest ones.
    const isCurrent = this.#isCurrent(known);
    return this.#enter(known.request, known.member, (entry) => {
      if (isCurrent) this.#arrive(entry, this.#ageMsOf(entry));
      else this.#checkAgain(entry);
    });
  }

  /** The isolate says that the request runs. One that was given up while it ran is counted again. False: it is not known to run. */
  runs(requestId: string): boolean {
    const known = this.#entries.get(requestId);
    if (known?.state !== "given up") return known !== undefined || this.#ended.has(requestId);
    const { request, member, slot, answer } = known;
    if (slot === null || answer?.verdict !== "granted") return false;
    this.#enter(request, member, (entry) => this.#run(entry, slot));
    return true;
  }

  /** Whether the request has been entered, or has ended. */
  isKnown(requestId: string): boolean {
    return this.#entries.has(requestId) || this.#ended.has(requestId);
  }

  /** A request that runs comes back, which an earlier life of this Cell let through, or which was given up: even above the cap. */
  comeBack(request: AdmissionRequest, member: string): void {
    const known = this.#entries.get(request.requestId);
    if (known === undefined ? this.#ended.has(request.requestId) : known.state === "running") return;
    if (known !== undefined && isLive(known)) this.#clear(known, "is lost", NOTHING_USED);
    this.#enter(request, member, (entry) => this.#run(entry, slotOf(request)));
  }

  /** A request has ended, whichever way its row came. Resolves when the row is durable. */
  async end(settlement: Settlement): Promise<void> {
    const { row, upstream } = settlement;
    const { cell, rows } = this.#options;
    const entry = this.#entries.get(row.request_id);
    this.#ended.add(row.request_id);
    this.#options.givenUpRows.forget(row.request_id);
    if (entry === undefined) return await rows.complete({ ...row, cell }, true, upstream);
    const ended = settledRow(settlement, entry.slot, cell, this.#ageMsOf(entry));
    this.#clear(entry, "ends", usedBy(settlement));
    await rows.complete(ended, entry.mayHaveRow, upstream);
  }

  /**
   * There is no sign that the request still runs: it returns what it holds, and is charged the estimate if it ran. Its row
   * waits in case the request shows up after all.
   */
  giveUp(requestId: string, rowWaitsMs = ROW_WAITS_MS): void {
    const entry = this.#entries.get(requestId);
    if (entry === undefined || !isLive(entry)) return;
    const settlement = lostSettlement(entry, this.#options.now());
    const row = settledRow(settlement, entry.slot, this.#options.cell, this.#ageMsOf(entry));
    const ran = entry.state === "running";
    this.#clear(entry, "is lost", usedBy(settlement), ran);
    if (ran) entry.charged = largerUsed(usedBy(settlement), entry.charged ?? NOTHING_USED);
    this.#lapseLater(entry, row, rowWaitsMs);
  }

  /** The isolate reports again: the rows of its requests wait no longer than other rows. */
  heardAgain(member: string): void {
    const latestMs = this.#options.now() + ROW_WAITS_MS;
    for (const entry of this.#entries.values())
      if (entry.member === member && entry.loss !== null && entry.loss.dueMs > latestMs)
        this.#lapseLater(entry, entry.loss.row, ROW_WAITS_MS);
  }

  /** A request leaves without having used anything, and its row goes another way. It may ask again. */
  withdraw(requestId: string): void {
    const entry = this.#entries.get(requestId);
    this.#options.givenUpRows.forget(requestId);
    if (entry !== undefined) this.#clear(entry, "ends", NOTHING_USED);
  }

  /**
   * The requests of an isolate that hold a slot or wait. Those that wait for a slot come first, so that none of them gets a
   * returned slot.
   */
  liveOf(member: string): readonly AdmissionEntry[] {
    const live = [...this.#entries.values()].filter((entry) => entry.member === member && isLive(entry));
    return live.toSorted((one, other) => Number(one.slot !== null) - Number(other.slot !== null));
  }

  /** The isolate is silent: its stale requests hold up no other requests of their tenant. */
  quiet(member: string): void {
    for (const { state, request } of this.liveOf(member))
      if (state === "stale") this.apply({ type: "unheard", requestId: request.requestId });
  }

  /**
   * Applies an event and reserves budgets for the requests that it grants; a refusal frees its slot for the next request in the
   * same turn.
   */
  apply(event: SchedulerEvent): void {
    this.#events.push(event);
    if (this.#applying) return;
    const { budget, now, changed } = this.#options;
    this.#applying = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        const grants = this.#scheduler.apply(next, now());
        for (const requestId of this.#scheduler.takeDeferred()) {
          const entry = this.#entries.get(requestId);
          if (entry === undefined) continue;
          this.#checkAgain(entry);
          this.applyBudgetDecisions(budget.withdraw(entry.request));
        }
        for (const { requestId, admission, queueWaitMs } of grants) {
          const entry = this.#entries.get(requestId);
          if (entry !== undefined) this.#reserve(entry, { admission, queueWaitMs: Math.round(queueWaitMs) });
        }
      }
    } finally {
      this.#applying = false;
    }
    changed();
  }

  /**
   * Applies the decisions of the budgets, one after another. A verdict on a request that has left is ignored. A request whose
   * records changed while it waited for tokens is checked again, for any verdict.
   */
  applyBudgetDecisions(decisions: readonly BudgetDecision[]): void {
    for (const { requestId, verdict } of decisions) {
      const entry = this.#entries.get(requestId);
      if (entry?.state !== "reserving" || entry.slot === null) continue;
      if (!this.#isCurrent(entry)) {
        this.#checkAgain(entry);
        if (verdict.kind === "ok") this.#options.budget.settle(entry.request, NOTHING_USED);
        this.apply({ type: "defer", requestId });
      } else if (verdict.kind === "ok")
        this.#answer(entry, "is granted", { verdict: "granted", grant: { ...entry.slot, level: verdict.level } });
      else {
        this.#answer(entry, "is refused", { verdict: "refused", refusal: verdict.refusal });
        this.apply({ type: "release", requestId, actualTokens: 0 });
      }
    }
  }

  /** In the order of arrival: those that are entered, or have a row that is still to be written. */
  get entries(): Iterable<AdmissionEntry> {
    return this.#entries.values();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** When the request that has been entered longest started to wait, epoch ms; `nowMs` when no request is entered. */
  oldestArrivalMs(nowMs: number): number {
    return this.#entries.values().next().value?.arrivedMs ?? nowMs;
  }

  mayHave(requestId: string): boolean {
    const entry = this.#entries.get(requestId);
    return entry === undefined || this.#isCurrent(entry);
  }

  isUnheard(requestId: string): boolean {
    const entry = this.#entries.get(requestId);
    return entry !== undefined && this.#options.isQuiet(entry.member);
  }

  /** Enters a request, as `begin` does; earlier charges are remembered. Returns the answer to send at once; null: it waits. */
  #enter(request: AdmissionRequest, member: string, begin: (entry: AdmissionEntry) => void): Decision | Stale | null {
    const { requestId, waitedMs } = request;
    const { now, revisions, entered } = this.#options;
    const charged = this.#charges.take(requestId);
    const entry = this.#entries.get(requestId) ?? newEntry(request, member, now() - (waitedMs ?? 0), charged);
    Object.assign(entry, { request, generation: revisions.generation, slot: null, answer: null, loss: null });
    this.#entries.set(requestId, entry);
    this.#options.givenUpRows.forget(requestId);
    entered(member);
    this.#arriving = entry;
    try {
      begin(entry);
    } finally {
      this.#arriving = null;
    }
    return entry.answer;
  }

  /** `waitedMs` null: it is new. `needsPlace`: it is refused when the queue is full. */
  #arrive(entry: AdmissionEntry, waitedMs: number | null, needsPlace = false): void {
    const { request } = entry;
    move(entry, "asks");
    if (isSubCall(request)) {
      this.#reserve(entry, NO_SLOT);
      this.#options.changed();
    } else this.apply({ type: "arrive", arrival: arrivalOf(request), waitedMs });
    if (entry.state !== "waiting") return;
    const { maxQueuedPerTenant, budget } = this.#options;
    const queuedOfTenant = this.#scheduler.queuedOf(request.tenant.id);
    if (needsPlace && exceedsQueueLimit(maxQueuedPerTenant, queuedOfTenant, this.#scheduler.queued)) {
      this.#answer(entry, "is refused", { verdict: "refused", refusal: QUEUE_FULL });
      this.apply({ type: "leave", requestId: request.requestId });
    } else this.applyBudgetDecisions(budget.expect(request));
  }

  /** The request has its slot, or is a sub-call, which needs none: its reservation is requested from its budgets. */
  #reserve(entry: AdmissionEntry, slot: SlotTaken): void {
    move(entry, "gets a slot");
    entry.slot = slot;
    this.applyBudgetDecisions(this.#options.budget.reserve(entry.request));
  }

  /** The request has its slot already, or is a sub-call, which needs none. */
  #run(entry: AdmissionEntry, slot: SlotTaken): void {
    const { request } = entry;
    const { budget, changed } = this.#options;
    entry.slot = slot;
    this.#answer(entry, "runs already", { verdict: "granted", grant: { ...slot, level: null } });
    if (runsAtOnce(request) && !mayBeKnown(request) && entry.charged === null) budget.admitUnchecked(request);
    else {
      // An earlier life of this Cell, or its isolate, may have charged it.
      entry.mayHaveRow = true;
      if (entry.charged === null) budget.adopt(request);
      else budget.readmit(request);
    }
    if (isSubCall(request)) changed();
    else this.apply({ type: "adopt", arrival: arrivalOf(request) });
  }

  /** The request keeps its place, and its Worker checks it again. */
  #checkAgain(entry: AdmissionEntry): void {
    const items = this.#options.revisions.staleAmong(entry.request.revs);
    this.#answer(entry, "has older records", { verdict: "stale", items });
    entry.slot = null;
    // should it come back with these records, they are compared again
    entry.generation = Number.NaN;
  }

  #answer(entry: AdmissionEntry, event: RequestEvent, answer: Decision | Stale): void {
    move(entry, event);
    entry.answer = answer;
    if (entry !== this.#arriving) this.#options.decided(entry, answer);
  }

  #ageMsOf({ arrivedMs }: AdmissionEntry): number {
    return Math.max(0, this.#options.now() - arrivedMs);
  }

  /** Whether a request may be granted on the records that it was sent with. While none has changed, this only reads the clock. */
  #isCurrent(entry: AdmissionEntry): boolean {
    const { now, revisions, isQuiet } = this.#options;
    const { revs, openUntilMs } = entry.request;
    if (entry === this.#arriving) return true;
    // Nobody uses a grant to a silent isolate; when the isolate reports again, it asks again.
    if (isQuiet(entry.member)) return false;
    if (openUntilMs !== null && now() >= openUntilMs) return false;
    if (entry.generation === revisions.generation) return true;
    if (revisions.staleAmong(revs).length > 0) return false;
    entry.generation = revisions.generation;
    return true;
  }

  /** Returns what the request holds, and charges what it used. `mayGoOn`: it was given up, and may still run. */
  #clear(entry: AdmissionEntry, event: "is lost" | "ends", used: ActualUsage, mayGoOn = false): void {
    const { request, charged, slot, state: before } = entry;
    const { requestId } = request;
    const { budget, changed } = this.#options;
    // The charge of a request that was given up is already part of its usage.
    const owed = charged === null ? used : beyondUsed(used, charged);
    move(entry, event);
    entry.loss = null;
    if (event === "ends") this.#entries.delete(requestId);
    if (before === "waiting" || before === "reserving") this.applyBudgetDecisions(budget.withdraw(request));
    else if (before === "running") budget.settle(request, owed, mayGoOn);
    else if (before === "given up" && charged !== null) {
      budget.readmit(request);
      budget.settle(request, owed);
    }
    if (isSubCall(request) || before === "refused" || before === "given up") changed();
    else if (slot === null) this.apply({ type: "leave", requestId });
    else this.apply({ type: "release", requestId, actualTokens: owed.tokens });
  }

  /** Unless the request shows up before, its row is written then, and the charge is remembered. */
  #lapseLater(entry: AdmissionEntry, row: UsageRow, delayMs: number): void {
    const loss = { row, dueMs: this.#options.now() + delayMs };
    entry.loss = loss;
    this.#options.givenUpRows.wait(loss, () => {
      if (entry.loss !== loss) return false;
      move(entry, "ends");
      this.#entries.delete(row.request_id);
      this.#charges.set(row.request_id, entry.charged ?? NOTHING_USED);
      return true;
    });
  }
}
