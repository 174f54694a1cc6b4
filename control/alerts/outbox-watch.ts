/**
 * Says so when configuration does not reach the key-value store or a cell for more than a minute (decisions §35). Told when
 * it begins and once a minute while it lasts; what repeats is suppressed by whoever takes alerts.
 */
import { issueOf } from "../../shared/alerts.ts";
import { type AlertSink, raisedNow } from "./alert-sink.ts";

const OVERDUE_MS = 60_000;
const AGAIN_MS = 60_000;

/** Changes that are not confirmed yet, and since when the oldest waits; null when none does. */
export interface Unconfirmed {
  readonly changes: number;
  readonly sinceMs: number | null;
}

export class OutboxWatch {
  readonly #unconfirmed: () => Promise<Unconfirmed>;
  readonly #sink: AlertSink;
  readonly #cell: string;
  #toldAtMs: number | null = null;

  /** `cell`: the control service's own, which its alerts carry. */
  constructor(unconfirmed: () => Promise<Unconfirmed>, sink: AlertSink, cell: string) {
    this.#unconfirmed = unconfirmed;
    this.#sink = sink;
    this.#cell = cell;
  }

  /** Looks once. Rejects when the database or the sink does not answer. */
  async run(nowMs: number): Promise<void> {
    const { changes, sinceMs } = await this.#unconfirmed();
    if (sinceMs === null || nowMs - sinceMs <= OVERDUE_MS) {
      this.#toldAtMs = null;
      return;
    }
    if (this.#toldAtMs !== null && nowMs - this.#toldAtMs < AGAIN_MS) return;
    const detail = `${changes} changes wait for the key-value store or a cell`;
    const issue = issueOf("redis_sync_failed", "Configuration sync failed", detail);
    await this.#sink.take([raisedNow(issue, nowMs, this.#cell)]);
    this.#toldAtMs = nowMs;
  }
}
