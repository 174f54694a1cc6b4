/** The messages to a Ledger (docs/rules/settlement-and-rows.md#custody). Plain data only, so that it survives RPC. */
import type { AlertEvent } from "../../../shared/alerts.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { AlertAck, AlertBatch } from "../../../shared/wire/internal.ts";
import type { SavedCounters } from "../cell/request-counters.ts";
import type { SpanRecord } from "../trace/trace.ts";
import type { UpstreamOutcomes } from "../upstream/attempt-outcomes.ts";

/** A batch of rows on its way from a Cell to a Ledger; applied once per (cell, epoch, sequence). */
export interface LedgerBatch {
  readonly cell: string;
  readonly epoch: string;
  readonly sequence: number;
  /** These rows may have arrived before in another way: each is checked by its request id. */
  readonly orphan: boolean;
  readonly rows: readonly UsageRow[];
}

export interface LedgerStatus {
  readonly segments: number;
  readonly bytes: number;
  readonly dropped: number;
  readonly aside: number;
  /** When the request of the oldest row that waits for the store ended, epoch ms; null: none waits. */
  readonly oldestMs: number | null;
}

/** RPC surface of the Ledger object. */
export interface LedgerApi {
  /**
   * Resolves when the batch is durable, with the requests of its rows that the log held before. A batch seen before changes
   * nothing.
   */
  append(batch: LedgerBatch): Promise<readonly string[]>;
  /** A Worker's own fallback when its Cell is gone; deduplicated by request id against log and store. */
  appendOrphan(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void>;
  /** Counts rows that a Worker has given up, because neither Cell nor Ledger took them. Resolves when the count is durable. */
  lost(rows: number): Promise<void>;
  /** Keeps the spans of a traced request until the analytics store has them. */
  spans(requestId: string, spans: readonly SpanRecord[]): Promise<void>;
  /** Waiting segments and bytes, rows dropped because the log was full, and dead letters (rows that the store refuses). */
  status(): Promise<LedgerStatus>;
  /**
   * Hands over the counts of the rows that Workers handed in themselves, each once: only the Cell of the Ledger calls it, which adds
   * them to its own (docs/rules/metrics.md#lives).
   */
  takeCounts(): Promise<SavedCounters>;
  /** Keeps alerts for the control service, each id once. Resolves when they are durable. */
  alert(events: readonly AlertEvent[]): Promise<void>;
  /** Deletes the alerts that the control service has, and returns the next. */
  alerts(ack: AlertAck | null): Promise<AlertBatch>;
}
