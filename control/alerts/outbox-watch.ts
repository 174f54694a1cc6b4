/**
 * Raises an alert when configuration does not reach the key-value store or a cell for more than a minute
 * (docs/rules/alerts.md#issues-and-texts). It is raised when this begins and once a minute while it lasts; the alert
 * sink suppresses repeats.
 */
import { issueOf } from "../../shared/alerts.ts";
import { type AlertSink, raisedNow } from "../kernel/alert-sink.ts";
import type { Unconfirmed } from "../kernel/context.ts";

const OVERDUE_MS = 60_000;
const AGAIN_MS = 60_000;

export class OutboxWatch {
  readonly #unconfirmed: () => Promise<Unconfirmed>;
  readonly #sink: AlertSink;
  readonly #cell: string;
  #raisedAtMs: number | null = null;

  /** `cell`: the control service's own cell, which its alerts name. */
  constructor(unconfirmed: () => Promise<Unconfirmed>, sink: AlertSink, cell: string) {
    this.#unconfirmed = unconfirmed;
    this.#sink = sink;
    this.#cell = cell;
  }

  /** Looks once. Rejects when the database or the sink does not answer. */
  async run(nowMs: number): Promise<void> {
    const { changes, sinceMs } = await this.#unconfirmed();
    if (sinceMs === null || nowMs - sinceMs <= OVERDUE_MS) {
      this.#raisedAtMs = null;
      return;
    }
    if (this.#raisedAtMs !== null && nowMs - this.#raisedAtMs < AGAIN_MS) return;
    const detail = `${changes} changes wait for the key-value store or a cell`;
    const issue = issueOf("redis_sync_failed", detail);
    await this.#sink.take([raisedNow(issue, nowMs, this.#cell)]);
    this.#raisedAtMs = nowMs;
  }
}
