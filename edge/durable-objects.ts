/**
 * The Durable Object classes that the runtime makes, by their names in wrangler.toml: each composes one object of
 * edge/objects with the adapters that it is given (edge/objects/object-ports.ts). Nothing is decided here.
 */
import { reportCell } from "./adapters/cell-report.ts";
import { analyticsStoreOf } from "./adapters/clickhouse-insert.ts";
import { consoleLog } from "./adapters/console-log.ts";
import { ledgerSum } from "./adapters/ledger-sums.ts";
import { alertLedgerOf, LedgerAlerts } from "./adapters/objects/ledger-alerts.ts";
import { ObjectStubs } from "./adapters/objects/object-stubs.ts";
import { timerSleep } from "./adapters/timer-sleep.ts";
import { monthBounds, monthOf } from "./adapters/zone-months.ts";
import type { Bindings } from "./bindings.ts";
import { holderLeaseMs } from "./cluster/holder-lease.ts";
import { MemberSilence } from "./cluster/member-silence.ts";
import { SAMPLE_EVERY_MS } from "./domain/cell/history.ts";
import { type LogLimits, limitsPerShard } from "./domain/ledger/ledger-log.ts";
import type { LedgerApi } from "./domain/ledger/rpc.ts";
import { type Env, parseEnv } from "./env.ts";
import { CellObject } from "./objects/cell/cell.ts";
import { LedgerObject } from "./objects/ledger/ledger.ts";
import { objectName } from "./objects/object-name.ts";
import type { AlertChannel, CellPorts, LedgerPorts } from "./objects/object-ports.ts";
import { TenantBudgetObject } from "./objects/tenant-budget/tenant-budget.ts";

const now = (): number => Date.now();

/** The Cell of a region. */
export class Cell extends CellObject {
  constructor(state: DurableObjectState, bindings: Bindings) {
    const env = parseEnv(bindings);
    const name = objectName(state, env.cell);
    super(state, bindings, { ...env, cell: name }, cellPorts(name, state, new ObjectStubs(bindings, env.cells), env));
  }
}

/** One of a cell's Ledgers, named `<cell>:<shard>`. */
export class Ledger extends LedgerObject {
  /** `limits`: how much the Ledger may keep; without them, its share of the cell's limits. */
  constructor(state: DurableObjectState, bindings: Bindings, limits?: LogLimits) {
    const env = parseEnv(bindings);
    const ports = ledgerPorts(state, new ObjectStubs(bindings, env.cells), env);
    super(state, bindings, ports, limits ?? limitsPerShard(env.ledgerShards));
  }
}

/** The budgets of a tenant, named by its id. */
export class TenantBudget extends TenantBudgetObject {
  constructor(state: DurableObjectState, bindings: Bindings) {
    const { clickhouse, cell: ownCell, cells, ledgerShards } = parseEnv(bindings);
    const stubs = new ObjectStubs(bindings, cells);
    super(state, bindings, {
      now,
      log: consoleLog,
      monthOf,
      monthBounds,
      ledgerSum: async (whose, id, sinceMs, untilMs) => await ledgerSum(clickhouse, whose, id, sinceMs, untilMs),
      hasShippedRows: async (cell, endedBeforeMs) => {
        const shards = Array.from({ length: ledgerShards }, (_, shard) => stubs.ledger(`${cell}:${shard}`));
        const statuses = await Promise.all(shards.map(async (ledger) => await ledger.status()));
        return statuses.every(({ oldestMs }) => oldestMs === null || oldestMs >= endedBeforeMs);
      },
      deliverAlerts: async (cell, alerts) =>
        await alertsBy(() => stubs.ledger(alertLedgerOf(cell ?? ownCell)), state).deliver(alerts),
    });
  }
}

function cellPorts(
  cell: string,
  state: DurableObjectState,
  stubs: ObjectStubs,
  { redis, admissionPatienceMs }: Env,
): CellPorts {
  return {
    now,
    later: (delayMs, run) => void setTimeout(run, delayMs),
    monthOf,
    log: consoleLog,
    alerts: alertsBy(() => stubs.ledger(alertLedgerOf(cell)), state),
    ledger: (shard) => stubs.ledger(`${cell}:${shard}`),
    budgetOf: (tenantId) => stubs.budget(tenantId),
    reportState: async (seen) => await reportCell(redis, cell, seen),
    silence: new MemberSilence(holderLeaseMs(admissionPatienceMs), SAMPLE_EVERY_MS),
  };
}

function ledgerPorts(state: DurableObjectState, stubs: ObjectStubs, { clickhouse }: Env): LedgerPorts {
  const name = objectName(state);
  const first = alertLedgerOf(name.slice(0, name.lastIndexOf(":")));
  return {
    now,
    log: consoleLog,
    analytics: analyticsStoreOf(clickhouse),
    // The first shard keeps the alerts of all shards.
    alertsOf: (own) => alertsBy(() => (name === first ? own : stubs.ledger(first)), state),
  };
}

function alertsBy(ledger: () => Pick<LedgerApi, "alert">, state: DurableObjectState): AlertChannel {
  return new LedgerAlerts({
    ledger,
    clock: now,
    sleep: timerSleep,
    uuid: () => crypto.randomUUID(),
    keepAlive: (work) => state.waitUntil(work),
    log: consoleLog,
  });
}
