/**
 * The external dependencies of the Durable Objects, as interfaces. Adapters implement them, edge/durable-objects.ts passes them
 * in, tests pass in their own. The objects import no adapter.
 */
import type { AlertEvent } from "../../shared/alerts.ts";
import type { CellSeen } from "../../shared/records.ts";
import type { ActualUsage } from "../domain/budget/amounts.ts";
import type { BudgetOwner } from "../domain/budget/limits.ts";
import type { TenantBudgetApi } from "../domain/budget/messages/rpc.ts";
import type { MonthOf } from "../domain/budget/term-budget.ts";
import type { MonthBounds } from "../domain/budget/usage-view.ts";
import type { AnalyticsStore } from "../domain/ledger/analytics-store.ts";
import type { LedgerApi } from "../domain/ledger/rpc.ts";
import type { Alerts, Clock, Log } from "../ports.ts";

/** The calls of a Cell to a tenant's budget object. */
export type BudgetObjectApi = Pick<TenantBudgetApi, "lease" | "report" | "level" | "limitsChanged">;

/** Takes the alerts of an object and sends them to the Ledger that keeps the alerts of its cell. */
export interface AlertChannel extends Alerts {
  /**
   * Sends events that have their own ids. Resolves when they are on the Ledger's disk; rejects when the Ledger was not reached.
   */
  deliver(events: readonly AlertEvent[]): Promise<void>;
}

/** Tells a Cell that an isolate whose sessions do not break is gone, or may be. */
export interface Silence {
  /**
   * A message of the isolate has arrived. True: it was unknown, or considered gone. `leaseMs`: how long it keeps slots that it
   * cannot renew, by its own statement; undefined: it states nothing.
   */
  heard(member: string, leaseMs?: number): boolean;
  /** Whether the isolate may be cut off: then nobody may use a slot that it gets now, until the slot is taken back. */
  isQuiet(member: string): boolean;
  /** An interval has passed, or more. Returns the isolates that have become quiet with it, and those that are gone. */
  pass(): { readonly quiet: readonly string[]; readonly gone: readonly string[] };
}

/** The external dependencies of a Cell. */
export interface CellPorts {
  readonly now: Clock;
  /** Runs a function once, after so many milliseconds. */
  readonly later: (delayMs: number, run: () => void) => void;
  readonly monthOf: MonthOf;
  readonly log: Log;
  readonly alerts: AlertChannel;
  /** A fresh stub of one of the cell's Ledgers. */
  readonly ledger: (shard: number) => LedgerApi;
  /** A fresh stub of a tenant's budget object. */
  readonly budgetOf: (tenantId: string) => BudgetObjectApi;
  /**
   * Writes the cell's state to the place where the control service finds every cell's. Rejects when it was not written.
   */
  readonly reportState: (state: CellSeen) => Promise<void>;
  /** Its intervals are those between two samples. */
  readonly silence: Silence;
}

/** The external dependencies of a Ledger. */
export interface LedgerPorts {
  readonly now: Clock;
  readonly log: Log;
  readonly analytics: AnalyticsStore;
  /**
   * Takes the alerts that this Ledger raises. `own`: the Ledger itself, which may be the one that keeps the cell's
   * alerts.
   */
  readonly alertsOf: (own: Pick<LedgerApi, "alert">) => Alerts;
}

/** The external dependencies of a tenant's budget object. */
export interface TenantBudgetPorts {
  readonly now: Clock;
  readonly log: Log;
  readonly monthOf: MonthOf;
  readonly monthBounds: MonthBounds;
  readonly ledgerSum: LedgerSum;
  /** Whether every row of this Cell that ended before a time has left its Ledgers. Rejects when one of them does not answer. */
  readonly hasShippedRows: (cell: string, endedBeforeMs: number) => Promise<boolean>;
  /**
   * Sends alerts to the Ledger that keeps the alerts of a Cell; null: of the Cell that the gateway is named after. Resolves
   * when they are on its disk; rejects when it was not reached.
   */
  readonly deliverAlerts: (cell: string | null, alerts: readonly AlertEvent[]) => Promise<void>;
}

/**
 * The usage of a tenant or key in the rows that ended from `sinceMs` (null: since ever) until `untilMs`. Rejects when
 * it cannot be read.
 */
export type LedgerSum = (
  whose: BudgetOwner,
  id: string,
  sinceMs: number | null,
  untilMs: number,
) => Promise<ActualUsage>;
