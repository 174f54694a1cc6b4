/**
 * The Cell object: one admission domain (docs/rules/configuration.md#cells). This file has its RPC calls; the parts are made in
 * compose-cell.ts. Isolates are its members, and send admission requests in exchanges (docs/rules/admission.md#exchanges).
 * Admission state and counters are in memory only; capacity override, revisions, history and busy isolates are in the object's
 * storage.
 */
import { DurableObject, RpcTarget } from "cloudflare:workers";
import { mergedWaiting } from "../../../shared/fairshare/merged-waiting.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { CellMetrics, CellStats, Change, RevItem } from "../../../shared/wire/internal.ts";
import type { Bindings } from "../../bindings.ts";
import { waitingForBudget } from "../../domain/admission/admission-entry.ts";
import type {
  ExchangeAnswer,
  ExchangeApi,
  ExchangeMessage,
  ExchangeSession,
  SessionOpening,
} from "../../domain/admission/exchange-messages.ts";
import { chargedTokens } from "../../domain/admission/request-end.ts";
import type { CellApi } from "../../domain/admission/rpc.ts";
import { type BudgetLimits, limitsOf } from "../../domain/budget/limits.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { CountedEvent } from "../../domain/cell/event-counters.ts";
import type { HistorySample } from "../../domain/cell/history.ts";
import { REVISION_KEEP_MS } from "../../domain/cell/revisions.ts";
import { schedulerEvents } from "../../domain/cell/scheduler-events.ts";
import type { LiveSnapshot } from "../../domain/fairshare/types.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import type { CellPorts } from "../object-ports.ts";
import { askLedgers, cellGauges } from "./cell-gauges.ts";
import { type CellParts, type CellSettings, composeCell } from "./compose-cell.ts";
import type { MemberSession, Members } from "./members.ts";

export class CellObject extends DurableObject<Bindings> implements CellApi, ExchangeApi {
  readonly #settings: CellSettings;
  readonly #ports: CellPorts;
  readonly #parts: CellParts;
  readonly #life = crypto.randomUUID();

  constructor(state: DurableObjectState, bindings: Bindings, settings: CellSettings, ports: CellPorts) {
    super(state, bindings);
    this.#settings = settings;
    this.#ports = ports;
    this.#parts = composeCell(state.storage, settings, ports);
  }

  async life(member: string): Promise<string> {
    this.#parts.members.heard(member);
    return this.#life;
  }

  async openSession(
    member: SessionOpening,
    message: ExchangeMessage,
  ): Promise<{ session: SessionTarget; answer: ExchangeAnswer }> {
    const { members } = this.#parts;
    const { session, answer } = members.open(member, message);
    return { session: new SessionTarget(members, session), answer };
  }

  async record(row: UsageRow, upstream: UpstreamOutcomes = {}): Promise<void> {
    this.#parts.admission.withdraw(row.request_id);
    await this.#parts.rows.record({ row, upstream });
  }

  async settleOrphan(row: UsageRow, upstream: UpstreamOutcomes = {}): Promise<void> {
    await this.#parts.admission.end({ row, actualTokens: chargedTokens(row), upstream });
  }

  async staleAmong(items: readonly RevItem[]): Promise<readonly RevItem[]> {
    return this.#parts.revisions.staleAmong(items);
  }

  async level(limits: BudgetLimits): Promise<BucketLevel | null> {
    return await this.#parts.budget.level(limits);
  }

  /** Resolves when no request can be admitted any more on an older record. */
  async invalidate(changes: readonly Change[]): Promise<void> {
    const { store, revisions, admission, budget } = this.#parts;
    const nowMs = this.#ports.now();
    store.saveRevisions(revisions.note(changes, nowMs), nowMs);
    const current = revisions.current(changes);
    for (const event of schedulerEvents(current)) admission.apply(event);
    for (const { budget: subject } of current)
      if (subject !== undefined) void budget.limitsChanged(limitsOf(subject.key, subject.tenant));
    const sinceMs = admission.oldestArrivalMs(nowMs);
    revisions.prune(sinceMs);
    store.pruneRevisions(sinceMs - REVISION_KEEP_MS);
  }

  async setCapacity(maxInFlight: number | null): Promise<CellStats> {
    const { store, admission } = this.#parts;
    store.capacity = maxInFlight;
    admission.apply({ type: "capacity", maxInFlight: maxInFlight ?? this.#settings.globalMaxInFlight });
    return await this.stats();
  }

  async fairshareLive(): Promise<LiveSnapshot> {
    const { scheduler, history, admission, adaptive } = this.#parts;
    const nowMs = this.#ports.now();
    const forBudgets = [...admission.entries].flatMap((entry) => waitingForBudget(entry, nowMs));
    const waiting = mergedWaiting([scheduler.waiting(nowMs), forBudgets]);
    return { ...history.live(scheduler.snapshot(nowMs), nowMs), waiting, adaptive: adaptive.view() };
  }

  async fairshareHistory(sinceMs: number): Promise<readonly HistorySample[]> {
    return this.#parts.history.since(sinceMs, this.#ports.now());
  }

  async tally(counted: readonly CountedEvent[]): Promise<void> {
    const { eventCounters, heartbeat } = this.#parts;
    eventCounters.add(counted);
    heartbeat.counted();
  }

  async stats(): Promise<CellStats> {
    const { inFlight, queued, maxInFlight } = this.#parts.scheduler;
    return { cell: this.#settings.cell, in_flight: inFlight, queued, max_in_flight: maxInFlight };
  }

  async isEntered(requestId: string): Promise<boolean> {
    return [...this.#parts.admission.entries].some(({ request }) => request.requestId === requestId);
  }

  async inFlightByModel(): Promise<readonly (readonly [modelName: string, inFlight: number])[]> {
    return this.#parts.scheduler.inFlightByModel();
  }

  async reportBudgets(): Promise<void> {
    await this.#parts.budget.reportAll();
  }

  async metrics(): Promise<CellMetrics> {
    const { cell, ledgerShards } = this.#settings;
    const { counters, eventCounters, budget, scheduler, heartbeat } = this.#parts;
    const shards = Array.from({ length: ledgerShards }, (_, shard) => this.#ports.ledger(shard));
    const [ledgers, taken] = await Promise.all([
      askLedgers(shards, async (ledger) => await ledger.status()),
      askLedgers(shards, async (ledger) => await ledger.takeCounts()),
    ]);
    for (const counts of taken) counters.add(counts);
    const { inFlight, batchInFlight, queued } = scheduler;
    const gauges = cellGauges({ inFlight, batchInFlight, queued, unchecked: budget.unchecked, ledgers });
    heartbeat.scraped();
    return { cell, families: [...counters.families(), ...eventCounters.families(), ...gauges] };
  }
}

/** A session as an RPC capability: when its holder's context ends, the runtime disposes it. */
export class SessionTarget extends RpcTarget implements ExchangeSession {
  readonly #members: Members;
  readonly #session: MemberSession;

  constructor(members: Members, session: MemberSession) {
    super();
    this.#members = members;
    this.#session = session;
  }

  async exchange(message: ExchangeMessage): Promise<ExchangeAnswer> {
    return this.#members.exchange(this.#session, message);
  }

  async news(): Promise<ExchangeAnswer> {
    return await this.#members.news(this.#session);
  }

  async close(): Promise<void> {
    this.#members.end(this.#session);
  }

  [Symbol.dispose](): void {
    this.#members.end(this.#session);
  }
}
