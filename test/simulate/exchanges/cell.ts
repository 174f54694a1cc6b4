/**
 * One life of the Cell in the simulation of exchanges: its real parts, put together as the Cell object does. The disk keeps
 * what outlives it: capacity, revisions, and that it was busy.
 */
import type { ExchangeAnswer, ExchangeMessage } from "../../../edge/domain/admission/exchange-messages.ts";
import type {
  AdmissionRequest,
  Admitted,
  Decision,
  LedgerBatch,
  Settlement,
  Stale,
} from "../../../edge/domain/admission/rpc.ts";
import { Revisions } from "../../../edge/domain/cell/revisions.ts";
import { schedulerEvents } from "../../../edge/domain/cell/scheduler-events.ts";
import { createScheduler } from "../../../edge/domain/fairshare/scheduler.ts";
import type { Scheduler } from "../../../edge/domain/fairshare/types.ts";
import { AdmissionController } from "../../../edge/objects/cell/admission-controller.ts";
import { AdmissionEntries } from "../../../edge/objects/cell/admission-entries.ts";
import { type AdmissionEntry, type BudgetPort, LateDecisions } from "../../../edge/objects/cell/admission-entry.ts";
import { BudgetGateway } from "../../../edge/objects/cell/budget-gateway.ts";
import { ExchangeController, type ExchangeSessionState } from "../../../edge/objects/cell/exchange-controller.ts";
import { LedgerWriter } from "../../../edge/objects/cell/ledger-writer.ts";
import type { BudgetObjectApi } from "../../../edge/objects/object-ports.ts";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import type { Change, RevItem } from "../../../shared/internal.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import { thirtyDayMonthOf } from "../../harness/edge/budget/simulation.ts";
import type { Context, Timeline } from "./timeline.ts";
import type { ExchangeRun, Truth } from "./truth.ts";

export interface Disk {
  capacity: number;
  busy: boolean;
  revisions: readonly RevItem[];
  life: number;
}

/** What every life of the Cell gets. */
interface Surroundings {
  readonly algorithm: FairshareAlgorithm;
  readonly time: Timeline;
  readonly truth: Truth;
  /** A tenant's budget object, as code of this life calls it. */
  readonly budgetOf: (life: Context, tenantId: string) => BudgetObjectApi;
  readonly append: (batch: LedgerBatch) => Promise<void>;
}

/** The same time as in the Cell object. */
const ADOPTION_HOLD_MS = 500;

export class CellLife {
  readonly context: Context;
  readonly scheduler: Scheduler;
  readonly admission: AdmissionController;
  readonly #disk: Disk;
  readonly #around: Surroundings;
  readonly #ledgerWriter: LedgerWriter;
  readonly #budget: BudgetGateway;
  readonly #exchanges: ExchangeController;
  readonly #revisions = new Revisions();
  /** Entries that were given up, perhaps in the turn of their grant, which is reported only after that turn. */
  readonly #gone = new WeakSet<AdmissionEntry>();
  /** Requests that were settled here, perhaps also in the turn of their grant. */
  readonly #settled = new Set<string>();

  /** Must be called within `context`. */
  constructor(context: Context, disk: Disk, around: Surroundings) {
    this.context = context;
    this.#disk = disk;
    this.#around = around;
    const { time, algorithm, append } = around;
    const now = () => time.nowMs;
    const later = (delayMs: number, run: () => void) => void setTimeout(run, delayMs);
    this.#revisions.note(disk.revisions, now());
    const entries = new AdmissionEntries(this.#revisions, now);
    const late = new LateDecisions();
    this.scheduler = createScheduler({ algorithm, maxInFlight: disk.capacity, grantCheck: entries });
    const apply = this.scheduler.apply.bind(this.scheduler);
    this.scheduler.apply = (event, nowMs) => {
      const grants = apply(event, nowMs);
      for (const { requestId } of grants) around.truth.slot(requestId);
      return grants;
    };
    this.#ledgerWriter = new LedgerWriter("c", 1, () => ({ append }) as never);
    this.#budget = new BudgetGateway({
      cell: "c",
      failOpen: false,
      now,
      nextLife: () => (disk.life += 1),
      monthOf: thirtyDayMonthOf,
      budgetOf: (tenantId) => around.budgetOf(context, tenantId),
      late,
      deliverAlert: async () => undefined,
      raise: () => undefined,
    });
    this.admission = new AdmissionController({
      cell: "c",
      entries,
      scheduler: this.scheduler,
      budget: this.#watched(this.#budget),
      revisions: this.#revisions,
      maxQueuedPerTenant: 0,
      now,
      later,
      rows: { complete: async (row, orphan) => void (await this.#ledgerWriter.write(row, orphan)) },
      activity: {
        changed: () => {
          if (entries.size > 0) disk.busy = true;
        },
      },
    });
    const remove = entries.remove.bind(entries);
    entries.remove = (entry) => {
      remove(entry);
      this.#lost(entry);
    };
    late.readBy((decisions) => this.admission.applyBudgetDecisions(decisions));
    this.#exchanges = new ExchangeController({
      admission: {
        knows: (requestId) => this.admission.knows(requestId),
        holds: (entry) => this.admission.holds(entry),
        arrive: (request) => {
          this.#around.truth.admitted(request);
          const entry = this.admission.arrive(request);
          this.#follow(entry, "exchange");
          return entry;
        },
        decision: async (entry) => await this.admission.decision(entry),
        inUse: (entry) => this.admission.inUse(entry),
        settle: async (entry, settlement) => await this.settle(entry, settlement),
        abandon: (entry) => this.admission.abandon(entry),
        disconnected: (entry) => this.admission.disconnected(entry),
      },
      revisions: this.#revisions,
      rows: {
        record: async ({ row }) => void (await this.#ledgerWriter.write(row, false)),
        settleOrphan: async ({ row }) => await this.settleOrphan(row),
      },
      level: async () => null,
      later,
      failed: (error) => {
        throw error;
      },
    });
    if (!disk.busy) return;
    this.admission.apply({ type: "hold", on: true });
    later(ADOPTION_HOLD_MS, () => this.admission.apply({ type: "hold", on: false }));
  }

  admit(request: AdmissionRequest): Admitted<AdmissionEntry> {
    const items = this.#revisions.staleAmong(request.revs);
    if (items.length > 0) return { verdict: "stale", items };
    this.#around.truth.admitted(request);
    const entry = this.admission.arrive(request);
    this.#follow(entry, "call");
    const { decision } = entry;
    return decision === null || decision.verdict === "stale"
      ? { verdict: "waiting", permit: entry }
      : { ...decision, permit: entry };
  }

  hold(requestId: string): AdmissionEntry | null {
    const { entryCount: entriesBefore } = this.admission;
    const entry = this.admission.hold(requestId);
    if (entry === null) return null;
    const isBack = this.admission.entryCount > entriesBefore;
    if (isBack && entry.decision?.verdict !== "stale") this.#around.truth.admitted(entry.request);
    if (isBack || entry.decision === null) this.#follow(entry, "call");
    return entry;
  }

  openSession(message: ExchangeMessage): { readonly session: ExchangeSessionState; readonly answer: ExchangeAnswer } {
    return this.#exchanges.open(message);
  }

  exchange(session: ExchangeSessionState, message: ExchangeMessage): ExchangeAnswer {
    return this.#exchanges.exchange(session, message);
  }

  async news(session: ExchangeSessionState): Promise<ExchangeAnswer> {
    return await this.#exchanges.news(session);
  }

  end(session: ExchangeSessionState): void {
    this.#exchanges.end(session);
  }

  adopt(request: AdmissionRequest): AdmissionEntry {
    return this.admission.adopt(request);
  }

  async settle(entry: AdmissionEntry, settlement: Settlement): Promise<void> {
    const { truth } = this.#around;
    // Its client left before it heard of its grant.
    const { request_id: id } = settlement.row;
    if (this.admission.holds(entry) && truth.running.get(id)?.heard === false) truth.end(id, 0);
    if (this.admission.holds(entry)) this.#settled.add(id);
    await this.admission.settle(entry, settlement);
  }

  /** The Cell counts the request no longer, although it may run. */
  #lost(entry: AdmissionEntry): void {
    const { truth } = this.#around;
    const run = truth.running.get(entry.request.requestId);
    this.#gone.add(entry);
    if (run === undefined) return;
    if (!run.heard) truth.end(run.id, 0);
    else truth.uncount(run, "its permit was lost");
  }

  async settleOrphan(row: UsageRow): Promise<void> {
    const { truth } = this.#around;
    // The message came after its request had ended.
    if (truth.running.get(row.request_id)?.heard === false) truth.end(row.request_id, 0);
    this.#settled.add(row.request_id);
    this.admission.settledElsewhere(row);
    await this.#ledgerWriter.write(row, true);
  }

  async invalidate(changes: readonly Change[]): Promise<void> {
    const nowMs = this.#around.time.nowMs;
    this.#disk.revisions = [...this.#disk.revisions, ...this.#revisions.note(changes, nowMs)];
    const current = this.#revisions.current(changes);
    for (const event of schedulerEvents(current)) this.admission.apply(event);
  }

  async setCapacity(maxInFlight: number): Promise<void> {
    this.#disk.capacity = maxInFlight;
    this.admission.apply({ type: "capacity", maxInFlight });
  }

  /** Checks the grant of an entry against the laws when it is made. `by`: how a grant that is made at once is made. */
  #follow(entry: AdmissionEntry, by: ExchangeRun["by"]): void {
    const { truth } = this.#around;
    const decided = ({ verdict }: Decision | Stale, grantedBy: ExchangeRun["by"] = "call"): void => {
      const isOver = this.#gone.has(entry) || this.#settled.has(entry.request.requestId);
      if (verdict === "granted" && !isOver) truth.grant(entry.request, grantedBy, this.context);
    };
    if (entry.decision !== null) decided(entry.decision, by);
    else
      void this.admission.decision(entry).then(
        (decision) => decided(decision),
        () => undefined,
      );
  }

  /** Checks every charge against the law that a request is charged once. */
  #watched(budget: BudgetGateway): BudgetPort {
    const settle: BudgetPort["settle"] = (request, used, goesOn) => {
      this.#around.truth.charged(request.requestId, this.context, used.tokens);
      budget.settle(request, used, goesOn);
    };
    return {
      expect: (request) => budget.expect(request),
      reserve: (request) => budget.reserve(request),
      withdraw: (request) => budget.withdraw(request),
      settle,
      adopt: (request) => budget.adopt(request),
      admitUnchecked: (request) => budget.admitUnchecked(request),
      readmit: (request) => budget.readmit(request),
    };
  }
}
