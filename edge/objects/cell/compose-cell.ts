/**
 * The composition of a Cell: its parts are made only here, each from parts that were made before it. No part knows one
 * that is made after it: the scheduler and the budgets return decisions, which the admission controller applies; later
 * decisions of the budgets go through LateDecisions.
 */
import { holderLeaseMs } from "../../domain/admission/holder-lease.ts";
import { EventCounters } from "../../domain/cell/event-counters.ts";
import { History, SAMPLE_EVERY_MS } from "../../domain/cell/history.ts";
import { RequestCounters } from "../../domain/cell/request-counters.ts";
import { Revisions } from "../../domain/cell/revisions.ts";
import { createScheduler } from "../../domain/fairshare/scheduler.ts";
import type { Scheduler } from "../../domain/fairshare/types.ts";
import type { Env } from "../../env.ts";
import type { CellPorts } from "../object-ports.ts";
import { AdmissionController } from "./admission-controller.ts";
import { AdmissionEntries } from "./admission-entries.ts";
import { LateDecisions } from "./admission-entry.ts";
import { AlertForwarder } from "./alert-forwarder.ts";
import { BudgetGateway } from "./budget-gateway.ts";
import { CellStore } from "./cell-store.ts";
import { CompletedRows } from "./completed-rows.ts";
import { ExchangeController } from "./exchange-controller.ts";
import { Heartbeat } from "./heartbeat.ts";
import { LedgerWriter } from "./ledger-writer.ts";
import { SilentHolders } from "./silent-holders.ts";

/**
 * After a reset under load nothing is granted for this long, so that adoptions come first
 * (docs/rules/admission.md#reset-and-adoption).
 */
const ADOPTION_HOLD_MS = 500;

/** The configuration of a Cell; `cell`: its name. */
export type CellSettings = Pick<
  Env,
  | "cell"
  | "fairshareAlgorithm"
  | "globalMaxInFlight"
  | "maxQueuedPerTenant"
  | "failOpen"
  | "ledgerShards"
  | "admissionPatienceMs"
>;

/** The parts of a Cell that its RPC calls use. */
export interface CellParts {
  readonly store: CellStore;
  readonly revisions: Revisions;
  readonly scheduler: Scheduler;
  readonly history: History;
  readonly counters: RequestCounters;
  readonly eventCounters: EventCounters;
  readonly heartbeat: Heartbeat;
  readonly rows: CompletedRows;
  readonly budget: BudgetGateway;
  readonly entries: AdmissionEntries;
  readonly admission: AdmissionController;
  readonly exchanges: ExchangeController;
  readonly holders: SilentHolders;
}

/**
 * Makes the parts of one life of a Cell from what earlier lives left on its disk. After a reset under load nothing is
 * granted at first.
 */
export function composeCell(storage: DurableObjectStorage, settings: CellSettings, ports: CellPorts): CellParts {
  const { cell, ledgerShards } = settings;
  const { now, later, log } = ports;

  const store = new CellStore(storage);
  const revisions = new Revisions();
  for (const { item, seenMs } of store.loadRevisions()) revisions.note([item], seenMs);
  const history = new History(store);
  const counters = new RequestCounters();
  const saved = store.counters;
  if (saved !== null) counters.add(saved);
  const eventCounters = new EventCounters();
  eventCounters.restore(store.eventCounts);

  const entries = new AdmissionEntries(revisions, now, {
    heard: (holder, leaseMs) => holders.heard(holder, leaseMs),
    isQuiet: (holder) => holders.isQuiet(holder),
  });
  const scheduler = createScheduler({
    algorithm: settings.fairshareAlgorithm,
    maxInFlight: store.capacity ?? settings.globalMaxInFlight,
    grantCheck: entries,
  });

  const heartbeat = new Heartbeat({
    later,
    sample: () => {
      const nowMs = now();
      history.add(scheduler.snapshot(nowMs), nowMs);
    },
    passed: () => holders.sweep(),
    report: async () => {
      const { inFlight, queued, maxInFlight } = scheduler;
      const state = { in_flight: inFlight, queued, max_in_flight: maxInFlight, last_seen_ms: now() };
      if (!(await ports.reportState(state))) log.event("cell_report_failed", { cell });
    },
    save: () => {
      store.counters = counters.save();
      const counts = eventCounters.save();
      if (counts.length > 0) store.eventCounts = counts;
      history.save(false);
    },
    entryCount: () => entries.size + admission.awaitedCount,
    rest: () => {
      history.save(true);
      store.busy = false;
    },
    failed: (error) => log.event("cell_save_failed", { cell, reason: nameOf(error) }),
  });
  const activity = {
    changed: () => {
      if (entries.size === 0) return;
      store.busy = true;
      heartbeat.wake();
    },
  };

  const writer = new LedgerWriter(cell, ledgerShards, ports.ledger);
  const rows = new CompletedRows({ cell, counters, writer, heartbeat, now });

  const alerts = new AlertForwarder(ports.alerts, now);
  const late = new LateDecisions();
  const budget = new BudgetGateway({
    cell,
    failOpen: settings.failOpen,
    now,
    nextLife: () => store.nextLife(),
    monthOf: ports.monthOf,
    budgetOf: ports.budgetOf,
    late,
    deliverAlert: async (alert) => await alerts.deliver(alert),
    raise: (issue) => alerts.raise(issue),
  });

  const { maxQueuedPerTenant } = settings;
  const admission = new AdmissionController({
    cell,
    entries,
    scheduler,
    budget,
    revisions,
    rows,
    maxQueuedPerTenant,
    now,
    later,
    activity,
  });
  const holders = new SilentHolders({
    leaseMs: holderLeaseMs(settings.admissionPatienceMs),
    everyMs: SAMPLE_EVERY_MS,
    entries,
    takeBack: (entry) => admission.takeBack(entry),
    isBack: (holder) => admission.isBack(holder),
    unheard: (entry) => admission.unheard(entry),
  });
  late.readBy((decisions) => admission.applyBudgetDecisions(decisions));

  const exchanges = new ExchangeController({
    admission,
    revisions,
    rows: {
      record: async (record) => await rows.record(record),
      settleOrphan: async (record) => await admission.settleOrphan(record),
    },
    level: async (limits) => await budget.level(limits),
    later,
    failed: (error) => log.event("ask_failed", { cell, reason: nameOf(error) }),
  });

  if (store.busy) {
    admission.apply({ type: "hold", on: true });
    later(ADOPTION_HOLD_MS, () => admission.apply({ type: "hold", on: false }));
  }
  return {
    store,
    revisions,
    scheduler,
    history,
    counters,
    eventCounters,
    heartbeat,
    rows,
    budget,
    admission,
    entries,
    exchanges,
    holders,
  };
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : "unknown");
