/**
 * The Cell object: one admission domain (the specification's pod). Isolates ask in exchanges, each in a session that holds
 * what was granted in it; or by `admit`, which answers at once with a permit that holds the slot or the place in the queue
 * (design §4). Admission state is memory only; capacity override, revisions, counters, history and busy mark are on its storage.
 */
import { DurableObject } from "cloudflare:workers";
import type { CellMetrics, CellStats, Change, RevItem } from "../../../shared/internal.ts";
import { NIL_UUID, type UsageRow } from "../../../shared/usage-row.ts";
import { reportCell } from "../../adapters/cell-report.ts";
import { consoleLog } from "../../adapters/console-log.ts";
import { ObjectStubs } from "../../adapters/objects/object-stubs.ts";
import { monthOf } from "../../adapters/zone-months.ts";
import type { ExchangeAnswer, ExchangeMessage, RowRecord } from "../../domain/admission/exchange-messages.ts";
import type { AdmissionRequest, Admitted, CacheHit, CacheHitAnswer, LedgerApi } from "../../domain/admission/rpc.ts";
import type { BudgetLimits } from "../../domain/budget/limits.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import { type CountedEvent, EventCounters } from "../../domain/cell/event-counters.ts";
import { History, type HistorySample } from "../../domain/cell/history.ts";
import { RefusalRateLimit } from "../../domain/cell/refusal-rate-limit.ts";
import { RequestCounters } from "../../domain/cell/request-counters.ts";
import { REVISION_KEEP_MS, Revisions } from "../../domain/cell/revisions.ts";
import { schedulerEvents } from "../../domain/cell/scheduler-events.ts";
import { createScheduler } from "../../domain/fairshare/scheduler.ts";
import type { Scheduler, SchedulerSnapshot } from "../../domain/fairshare/types.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import { type Bindings, type Env, parseEnv } from "../../env.ts";
import { AdmissionController } from "./admission-controller.ts";
import type { AdmissionEntry } from "./admission-entry.ts";
import { alertForwarderOf } from "./alert-forwarder.ts";
import { BudgetGateway } from "./budget-gateway.ts";
import { cellGauges, ledgerStatuses } from "./cell-gauges.ts";
import { CellStore } from "./cell-store.ts";
import { ExchangeController, type ExchangeSessionState } from "./exchange-controller.ts";
import { SessionTarget } from "./exchange-session.ts";
import { Heartbeat } from "./heartbeat.ts";
import { LedgerWriter } from "./ledger-writer.ts";
import { Permit } from "./permit.ts";
import { Receipt } from "./receipt.ts";

/** After a reset under load, adoptions come first: nothing is granted for so long (design §4). */
const ADOPTION_HOLD_MS = 500;

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : "unknown");
const later = (delayMs: number, run: () => void) => void setTimeout(run, delayMs);

export class Cell extends DurableObject<Bindings> {
  readonly #config: Env;
  readonly #places: ObjectStubs;
  readonly #store: CellStore;
  readonly #scheduler: Scheduler;
  readonly #desk: AdmissionController;
  readonly #budget: BudgetGateway;
  readonly #courier: LedgerWriter;
  readonly #exchanges: ExchangeController;
  readonly #revisions = new Revisions();
  readonly #counters = new RequestCounters();
  readonly #tallies = new EventCounters();
  readonly #refusals = new RefusalRateLimit();
  readonly #cell: string;
  readonly #history: History;
  readonly #pulse: Heartbeat;
  #busy = false;

  constructor(state: DurableObjectState, bindings: Bindings) {
    super(state, bindings);
    this.#config = parseEnv(bindings);
    this.#places = new ObjectStubs(bindings, this.#config.cells);
    this.#cell = state.id.name ?? this.#config.cell;
    this.#store = new CellStore(state.storage);
    for (const { item, seenMs } of this.#store.loadRevisions()) this.#revisions.note([item], seenMs);
    this.#history = new History(this.#store);
    this.#scheduler = createScheduler({
      algorithm: this.#config.fairshareAlgorithm,
      maxInFlight: this.#capacity(),
      judge: { mayHave: (id) => this.#desk.mayHave(id), deferred: (id) => this.#desk.deferred(id) },
    });
    this.#courier = new LedgerWriter(this.#cell, this.#config.ledgerShards, (shard) => this.#ledger(shard));
    const alerts = alertForwarderOf(this.#cell, this.#places, (work) => this.ctx.waitUntil(work));
    this.#budget = new BudgetGateway({
      cell: this.#cell,
      failOpen: this.#config.failOpen,
      now: Date.now,
      nextLife: () => this.#store.nextLife(),
      monthOf,
      budgetOf: (tenantId) => this.#places.budget(tenantId),
      judged: (requestId, verdict) => this.#desk.budgetDecided(requestId, verdict),
      deliverAlert: async (alert) => await alerts.deliver(alert),
      raise: (issue) => alerts.raise(issue),
    });
    this.#desk = new AdmissionController({
      cell: this.#cell,
      scheduler: this.#scheduler,
      budget: this.#budget,
      revisions: this.#revisions,
      maxQueuedPerTenant: this.#config.maxQueuedPerTenant,
      now: Date.now,
      later,
      complete: async (row, orphan, upstream) => await this.#complete(row, orphan, upstream),
      changed: () => this.#changed(),
    });
    this.#exchanges = new ExchangeController({
      desk: this.#desk,
      revisions: this.#revisions,
      rows: {
        record: async (record) => await this.#record(record),
        settleOrphan: async (record) => await this.#settleOrphan(record),
      },
      level: async (limits) => await this.#budget.level(limits),
      later,
      failed: (error) => consoleLog.event("ask_failed", { cell: this.#cell, reason: nameOf(error) }),
    });
    this.#pulse = new Heartbeat({
      later,
      sample: () => this.#sample(),
      report: async () => await this.#report(),
      save: () => this.#save(),
      seated: () => this.#desk.seated,
      rest: () => {
        this.#history.save(true);
        this.#markBusy(false);
      },
      failed: (error) => consoleLog.event("cell_save_failed", { cell: this.#cell, reason: nameOf(error) }),
    });
    this.#tallies.restore(this.#store.eventCounts);
    const saved = this.#store.counters;
    if (saved !== null) this.#counters.restore(saved);
    this.#busy = this.#store.busy;
    if (this.#busy) this.#holdForAdoptions();
  }

  /** Answers at once: stale, granted, refused, or waiting with a place that the permit holds. */
  async admit(ask: AdmissionRequest): Promise<Admitted<Permit<AdmissionEntry>>> {
    const items = this.#revisions.staleAmong(ask.revs);
    if (items.length > 0) return { verdict: "stale", items };
    const seat = this.#desk.arrive(ask);
    const permit = new Permit(this.#desk, seat);
    const { decision } = seat;
    return decision === null || decision.verdict === "stale" ? { verdict: "waiting", permit } : { ...decision, permit };
  }

  /** One exchange after another with an isolate, as long as it holds the session (design §4). */
  async openSession(
    message: ExchangeMessage,
  ): Promise<{ session: SessionTarget<ExchangeSessionState>; answer: ExchangeAnswer }> {
    const { session, answer } = this.#exchanges.open(message);
    return { session: new SessionTarget(this.#exchanges, session), answer };
  }

  /** The permit of a request that was asked for in an exchange. */
  async hold(requestId: string): Promise<{ permit: Permit<AdmissionEntry> } | null> {
    const seat = this.#desk.hold(requestId);
    return seat === null ? null : { permit: new Permit(this.#desk, seat) };
  }

  /** The slot of a request that outlived an earlier Cell is counted, even above the cap. */
  async adopt(ask: AdmissionRequest): Promise<{ permit: Permit<AdmissionEntry> }> {
    return { permit: new Permit(this.#desk, this.#desk.adopt(ask)) };
  }

  /** A row that never held a permit. Unauthenticated refusals beyond their bound are only counted. */
  async record(row: UsageRow, upstream: UpstreamOutcomes = {}): Promise<void> {
    await this.#record({ row, upstream });
  }

  async #record({ row, upstream }: RowRecord): Promise<void> {
    if (row.tenant_id === NIL_UUID && !this.#refusals.allow(Date.now())) {
      this.#counters.count(row);
      return;
    }
    await this.#complete({ ...row, cell: this.#cell }, false, upstream);
  }

  /** An answer without a slot: its row is taken unless a record that it rests on is outdated. */
  async hit({ revs, limits, row }: CacheHit, again = false): Promise<CacheHitAnswer<Receipt>> {
    const items = this.#revisions.staleAmong(revs);
    if (items.length > 0) return { verdict: "stale", items };
    const receipt = new Receipt(this.#complete({ ...row, cell: this.#cell }, again));
    return { verdict: "current", level: limits === null ? null : await this.#budget.level(limits), receipt };
  }

  /** A row whose permit could not be settled; it may have come before by the permit's own end. */
  async settleOrphan(row: UsageRow, upstream: UpstreamOutcomes = {}): Promise<void> {
    await this.#settleOrphan({ row, upstream });
  }

  async #settleOrphan({ row, upstream }: RowRecord): Promise<void> {
    this.#desk.settledElsewhere(row);
    await this.#complete({ ...row, cell: this.#cell }, true, upstream);
  }

  async staleAmong(items: readonly RevItem[]): Promise<readonly RevItem[]> {
    return this.#revisions.staleAmong(items);
  }

  async level(limits: BudgetLimits): Promise<BucketLevel | null> {
    return await this.#budget.level(limits);
  }

  /** Resolves when no request can be admitted on an older record. */
  async invalidate(changes: readonly Change[]): Promise<void> {
    const nowMs = Date.now();
    this.#store.saveRevisions(this.#revisions.note(changes, nowMs), nowMs);
    const current = this.#revisions.current(changes);
    for (const event of schedulerEvents(current)) this.#desk.apply(event);
    const sinceMs = this.#desk.oldestArrivalMs(nowMs);
    this.#revisions.prune(sinceMs);
    this.#store.pruneRevisions(sinceMs - REVISION_KEEP_MS);
  }

  /** A cap that outlives this object; null returns to the configured one. Lowering it aborts nothing (decisions §7.4). */
  async setCapacity(maxInFlight: number | null): Promise<CellStats> {
    this.#store.capacity = maxInFlight;
    this.#desk.apply({ type: "capacity", maxInFlight: this.#capacity() });
    return await this.stats();
  }

  /** Who holds and who waits, by group and tenant (decisions §7.2). */
  async fairshareLive(): Promise<SchedulerSnapshot> {
    const nowMs = Date.now();
    return this.#history.live(this.#scheduler.snapshot(nowMs), nowMs);
  }

  /** The last hour from `sinceMs` on (decisions §7.3), earlier lives of this object included. */
  async fairshareHistory(sinceMs: number): Promise<readonly HistorySample[]> {
    return this.#history.since(sinceMs, Date.now());
  }

  /** Counts what leaves no usage row. */
  async tally(counted: readonly CountedEvent[]): Promise<void> {
    this.#tallies.add(counted);
    this.#pulse.wake();
  }

  async stats(): Promise<CellStats> {
    const { inFlight, queued, maxInFlight } = this.#scheduler;
    return { cell: this.#cell, in_flight: inFlight, queued, max_in_flight: maxInFlight };
  }

  async metrics(): Promise<CellMetrics> {
    const shards = Array.from({ length: this.#config.ledgerShards }, (_, shard) => this.#ledger(shard));
    const ledgers = await ledgerStatuses(shards);
    const { inFlight, queued } = this.#scheduler;
    const gauges = cellGauges({ inFlight, queued, unchecked: this.#budget.unchecked, ledgers });
    return { cell: this.#cell, families: [...this.#counters.families(), ...this.#tallies.families(), ...gauges] };
  }

  /** A row that may have come before counts when the Ledger says that it has not: an earlier life has counted the other. */
  async #complete(row: UsageRow, orphan: boolean, upstream: UpstreamOutcomes = {}): Promise<void> {
    if (!orphan) this.#count(row, upstream);
    const isNew = await this.#courier.write(row, orphan);
    if (orphan && isNew) this.#count(row, upstream);
  }

  #count(row: UsageRow, upstream: UpstreamOutcomes): void {
    this.#counters.count(row, upstream);
    this.#pulse.wake();
  }

  #capacity(): number {
    return this.#store.capacity ?? this.#config.globalMaxInFlight;
  }

  #ledger(shard: number): LedgerApi {
    return this.#places.ledger(`${this.#cell}:${shard}`);
  }

  #holdForAdoptions(): void {
    this.#desk.apply({ type: "hold", on: true });
    later(ADOPTION_HOLD_MS, () => this.#desk.apply({ type: "hold", on: false }));
  }

  #changed(): void {
    if (this.#desk.seated === 0) return;
    this.#markBusy(true);
    this.#pulse.wake();
  }

  /** Written when load begins and ends, never per request. */
  #markBusy(busy: boolean): void {
    if (this.#busy === busy) return;
    this.#store.busy = busy;
    this.#busy = busy;
  }

  #save(): void {
    this.#store.counters = this.#counters.save();
    const tallies = this.#tallies.save();
    if (tallies.length > 0) this.#store.eventCounts = tallies;
    this.#history.save(false);
  }

  #sample(nowMs = Date.now()): void {
    this.#history.add(this.#scheduler.snapshot(nowMs), nowMs);
  }

  async #report(): Promise<void> {
    const { in_flight, queued, max_in_flight } = await this.stats();
    const row = { in_flight, queued, max_in_flight, last_seen_ms: Date.now() };
    if (!(await reportCell(this.#config.redis, this.#cell, row)))
      consoleLog.event("cell_report_failed", { cell: this.#cell });
  }
}
