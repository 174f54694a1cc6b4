/**
 * Sends the contents of a Ledger to the analytics store: sealed segments of rows, and spans. Every insert carries a token that
 * means the same rows at every attempt. A segment that the store refuses for its content is halved until the refused rows are
 * isolated, so that they hold up nothing else; the refused rows are returned, refused spans are dropped. This class never
 * deletes a row: the Ledger does, once every row of the segment is in the store or among the dead letters.
 */
import { rootCause } from "../../../shared/text/root-cause.ts";
import { type AnalyticsStore, RowsRefused, StoreFailure } from "../../domain/ledger/analytics-store.ts";
import { requestIdOf } from "../../domain/ledger/row-line.ts";
import {
  deadLetterRoom,
  planAfterInsert,
  planAfterRefusal,
  planOf,
  type RowRange,
  rangeName,
  restartedPlan,
  type SendPlan,
} from "../../domain/ledger/send-plan.ts";
import type { Log } from "../../ports.ts";
import type { DeadLetterStore, RefusedRow } from "./dead-letter-store.ts";
import type { LedgerStore } from "./ledger-store.ts";
import type { SpanStore } from "./span-store.ts";

interface LedgerShippingOptions {
  readonly store: LedgerStore;
  readonly deadLetters: DeadLetterStore;
  readonly spans: SpanStore;
  readonly analytics: AnalyticsStore;
  /** Name of the Ledger; it is part of every token. */
  readonly ledger: string;
  readonly log: Log;
}

/** The rows of a segment that the store refused, and how many of the oldest dead letters must make room for them. */
export interface RefusedRows {
  readonly rows: readonly RefusedRow[];
  readonly displaced: number;
}

interface Row {
  readonly line: string;
  /** Whether the row may have reached the store by another way. */
  readonly orphan: boolean;
}

export class LedgerShipping {
  readonly #options: LedgerShippingOptions;

  constructor(options: LedgerShippingOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the store has every row of a sealed segment, or refused it; resolves with null when the turn's inserts are
   * used up, and continues from there the next time. Throws StoreFailure, also when the store takes no row of the segment and
   * there is no room to keep all of them as dead letters.
   */
  async segment(segment: number, turn: { inserts: number }): Promise<RefusedRows | null> {
    const { store, deadLetters } = this.#options;
    const rows: readonly Row[] = store
      .commitsOf(segment)
      .flatMap(({ lines, orphan }) => lines.map((line) => ({ line, orphan })));
    let plan = deadLetters.plan?.segment === segment ? deadLetters.plan : await this.#begun(segment, rows);
    for (let range = plan.left[0]; range !== undefined; range = plan.left[0]) {
      if (turn.inserts <= 0) return null;
      turn.inserts -= 1;
      const taken = await this.#taken(plan, range, rows);
      plan = taken ? planAfterInsert(plan) : planAfterRefusal(plan);
      if (!taken || deadLetters.plan !== null) deadLetters.plan = plan;
    }
    const refused = plan.refused.map((at) => refusedRow(rows[at]?.line ?? ""));
    const sizes = refused.map((row) => row.bytes);
    const room = deadLetterRoom(deadLetters.sizes, sizes, plan.taken);
    if (room === null) {
      deadLetters.plan = restartedPlan(plan);
      throw new StoreFailure("the analytics store refuses every row");
    }
    return { rows: refused, displaced: room.displaced };
  }

  /** Sends the spans that wait, in at most this many parts. Throws StoreFailure. */
  async spans(parts: number): Promise<void> {
    const { spans } = this.#options;
    for (let left = parts; left > 0; left -= 1) {
      const part = spans.seal();
      if (part === null) return;
      await this.#someSpans(part.lines, this.#token(`spans-${part.name}`));
      spans.sent(part);
    }
  }

  /** The plan of a segment that was never sent; it is on disk when some of its rows are skipped or may be. */
  async #begun(segment: number, rows: readonly Row[]): Promise<SendPlan> {
    const { deadLetters, analytics } = this.#options;
    const orphans = rows.flatMap(({ line, orphan }) => (orphan ? [requestIdOf(line)] : []));
    if (orphans.length === 0) return planOf(segment, rows.length);
    const known = await analytics.findRequests(orphans);
    const skip = rows.flatMap(({ line, orphan }, at) => (orphan && known.has(requestIdOf(line)) ? [at] : []));
    deadLetters.plan = planOf(segment, rows.length, skip);
    return deadLetters.plan;
  }

  /**
   * Whether the store has the rows of a range now. When it has rows that it refuses, an attempt whose answer was lost
   * has inserted them. Throws StoreFailure.
   */
  async #taken(plan: SendPlan, range: RowRange, rows: readonly Row[]): Promise<boolean> {
    const { analytics, ledger, log } = this.#options;
    const skip = new Set(plan.skip);
    const lines = rows.flatMap(({ line }, at) => (at >= range.from && at < range.to && !skip.has(at) ? [line] : []));
    if (lines.length === 0) return true;
    try {
      await analytics.insert("usage_raw", lines, this.#token(rangeName(plan, range)));
      return true;
    } catch (error) {
      if (!(error instanceof RowsRefused)) throw error;
      const requests = lines.map(requestIdOf);
      const known = await analytics.findRequests(requests);
      if (requests.every((id) => known.has(id))) return true;
      if (requests.length === 1)
        log.event("usage_row_refused", {
          ledger,
          request_id: requests[0] ?? "",
          code: error.code,
          reason: rootCause(error),
        });
      return false;
    }
  }

  async #someSpans(lines: readonly string[], token: string): Promise<void> {
    const { analytics, ledger, log } = this.#options;
    try {
      await analytics.insert("spans", lines, token);
    } catch (error) {
      if (!(error instanceof RowsRefused)) throw error;
      if (lines.length <= 1) return log.event("span_refused", { ledger, code: error.code, reason: rootCause(error) });
      const middle = Math.ceil(lines.length / 2);
      await this.#someSpans(lines.slice(0, middle), `${token}-0`);
      await this.#someSpans(lines.slice(middle), `${token}-1`);
    }
  }

  #token(name: string): string {
    return `${this.#options.ledger}-${this.#options.store.instance}-${name}`;
  }
}

function refusedRow(line: string): RefusedRow {
  return { requestId: requestIdOf(line), line, bytes: new TextEncoder().encode(line).byteLength };
}
