/**
 * The composition of a Cell: its parts are made only here, each from parts that were made before it. No part knows one
 * that is made after it: the scheduler and the budgets return decisions, or put later ones, which admission applies.
 */
import { OutageLines } from "../../../shared/text/outage-lines.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import { AdaptiveCapacities } from "../../domain/adaptive/adaptive-capacities.ts";
import { isLive } from "../../domain/admission/admission-entry.ts";
import { AdmissionMachine } from "../../domain/admission/admission-machine.ts";
import { GivenUpRows } from "../../domain/admission/given-up-rows.ts";
import { EventCounters } from "../../domain/cell/event-counters.ts";
import { History } from "../../domain/cell/history.ts";
import { RequestCounters } from "../../domain/cell/request-counters.ts";
import { Revisions } from "../../domain/cell/revisions.ts";
import { createScheduler } from "../../domain/fairshare/scheduler.ts";
import type { Scheduler } from "../../domain/fairshare/types.ts";
import type { Env } from "../../env.ts";
import type { CellPorts } from "../object-ports.ts";
import { BudgetGateway } from "./budget-gateway.ts";
import { CellStore } from "./cell-store.ts";
import { CompletedRows } from "./completed-rows.ts";
import { Heartbeat } from "./heartbeat.ts";
import { LedgerWriter } from "./ledger-writer.ts";
import { Members } from "./members.ts";
import { ReturnHold } from "./return-hold.ts";

/** The configuration of a Cell; `cell`: its name. */
export type CellSettings = Pick<
  Env,
  | "cell"
  | "fairshareAlgorithm"
  | "globalMaxInFlight"
  | "cellHeadroom"
  | "maxQueuedPerTenant"
  | "failOpen"
  | "ledgerShards"
>;

/** The parts of a Cell that its RPC calls use. */
export type CellParts = ReturnType<typeof composeCell>;

/**
 * Creates the parts of one life of a Cell from the disk of earlier lives. After a reset under load nothing is granted at first.
 */
export function composeCell(storage: DurableObjectStorage, settings: CellSettings, ports: CellPorts) {
  const { cell, ledgerShards } = settings;
  const { now, later, log } = ports;

  const store = new CellStore(storage);
  const revisions = new Revisions();
  for (const { item, seenMs } of store.loadRevisions()) revisions.note([item], seenMs);
  const history = new History(store);
  const counters = new RequestCounters();
  const eventCounters = new EventCounters();

  const adaptive = new AdaptiveCapacities({
    known: store.adaptive,
    now,
    random: () => Math.random(),
    inFlightOf: (model) => scheduler.inFlightOf(model),
    inFlightBy: (tenantId) => scheduler.inFlightBy(tenantId),
    changed: (event, { reason }) => {
      eventCounters.add([{ metric: "gateway_adaptive_capacity_changes_total", labels: [reason], times: 1 }]);
      admission.apply(event);
    },
  });
  const saveAdaptive = (): void => {
    const changed = adaptive.takeUnsaved();
    if (changed !== null) store.adaptive = changed;
  };
  const reports = new OutageLines();
  const heartbeat = new Heartbeat({
    later,
    sample: () => {
      const nowMs = now();
      history.add(scheduler.snapshot(nowMs), nowMs, adaptive.sample());
    },
    passed: () => {
      members.pass();
      const busy = new Set([...admission.entries].filter(isLive).map(({ member }) => member));
      if (busy.size > 0) store.busyMembers = busy;
    },
    report: async () => {
      const { inFlight, queued, maxInFlight } = scheduler;
      const state = { in_flight: inFlight, queued, max_in_flight: maxInFlight, last_seen_ms: now() };
      await ports
        .reportState(state)
        .then(() => reports.answered(now()))
        .catch((error: unknown) => {
          const facts = reports.failed(now());
          if (facts !== null) log.event("cell_report_failed", { cell, reason: rootCause(error), ...facts });
        });
    },
    save: () => {
      history.save(false);
      saveAdaptive();
    },
    entryCount: () => admission.size,
    rest: () => {
      history.save(true);
      saveAdaptive();
      store.busyMembers = new Set();
    },
    failed: (error) => log.event("cell_save_failed", { cell, reason: rootCause(error) }),
  });
  const writer = new LedgerWriter(cell, ledgerShards, ports.ledger);
  const rows = new CompletedRows({ cell, counters, writer, heartbeat, now });

  const budget = new BudgetGateway({
    cell,
    failOpen: settings.failOpen,
    now,
    nextLife: () => store.nextLife(),
    monthOf: ports.monthOf,
    budgetOf: ports.budgetOf,
    late: { put: (decisions) => admission.applyBudgetDecisions(decisions) },
    raise: (issue) => ports.alerts.raise(issue),
  });

  const givenUpRows = new GivenUpRows({
    store,
    complete: async (row) => await rows.complete(row, true),
    now,
    later,
    failed: (error) => log.event("cell_save_failed", { cell, reason: rootCause(error) }),
  });
  let scheduler!: Scheduler;
  const admission: AdmissionMachine = new AdmissionMachine(
    {
      cell,
      budget,
      revisions,
      rows: {
        complete: async (row, orphan, upstream) => {
          adaptive.ended(row, upstream);
          await rows.complete(row, orphan, upstream);
        },
      },
      givenUpRows,
      maxQueuedPerTenant: settings.maxQueuedPerTenant,
      now,
      later,
      // The others of a busy Cell are written as time passes.
      entered: (member) => {
        if (store.busyMembers.size === 0) store.busyMembers = new Set([member]);
      },
      changed: () => {
        if (admission.size > 0) heartbeat.wake();
      },
      decided: (entry, answer) => members.decided(entry, answer),
      isQuiet: (member) => members.isQuiet(member),
    },
    (grantCheck) => {
      scheduler = createScheduler({
        algorithm: settings.fairshareAlgorithm,
        maxInFlight: store.capacity ?? settings.globalMaxInFlight,
        headroom: settings.cellHeadroom,
        grantCheck,
        capOf: (model) => adaptive.capOf(model),
      });
      return scheduler;
    },
  );

  const members: Members = new Members({
    admission,
    revisions,
    record: async (record, again) => await rows.record(record, again),
    level: async (limits) => await budget.level(limits),
    later,
    silence: ports.silence,
    isBack: (member) => returnHold.isBack(member),
    failed: (error) => log.event("ask_failed", { cell, reason: rootCause(error) }),
  });

  const returnHold = new ReturnHold(store.busyMembers, {
    hold: (on) => admission.apply({ type: "hold", on }),
    later,
  });
  givenUpRows.recover(store.loadGivenUpRows(), (requestId) => admission.isKnown(requestId));
  return {
    store,
    revisions,
    scheduler,
    history,
    counters,
    eventCounters,
    heartbeat,
    rows,
    adaptive,
    budget,
    admission,
    members,
  };
}
