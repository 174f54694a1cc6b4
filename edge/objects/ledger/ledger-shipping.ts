/**
 * Sends what a Ledger holds to the analytics store: sealed segments of rows, and spans. Every insert carries a token that
 * stands for the same rows at every attempt. What the store refuses for its content is halved until the refused rows stand
 * alone, so that it holds up nothing else; the refused rows are answered, the refused spans dropped. It never lets go of a
 * row: whoever asked it to send does, once everything of the segment is in the store or set aside.
 */
import { findRequests, insertLines, RowsRefused, StoreFailure } from "../../adapters/clickhouse-insert.ts";
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
import type { ClickhouseEnv } from "../../env.ts";
import type { Log } from "../../ports.ts";
import type { DeadLetterStore, RefusedRow } from "./dead-letter-store.ts";
import type { LedgerStore } from "./ledger-store.ts";
import type { SpanStore } from "./span-store.ts";

interface LedgerShippingOptions {
  readonly store: LedgerStore;
  readonly aside: DeadLetterStore;
  readonly spans: SpanStore;
  readonly clickhouse: ClickhouseEnv;
  /** Name of the Ledger; a part of every token. */
  readonly ledger: string;
  readonly log: Log;
}

/** What the store refused of a segment, and how many rows that are aside longest have to make room for it. */
export interface RefusedRows {
  readonly rows: readonly RefusedRow[];
  readonly displaced: number;
}

interface Row {
  readonly line: string;
  /** It may have reached the store by another way. */
  readonly orphan: boolean;
}

export class LedgerShipping {
  readonly #options: LedgerShippingOptions;

  constructor(options: LedgerShippingOptions) {
    this.#options = options;
  }

  /**
   * Resolves when every row of a sealed segment is in the store or was refused by it; with null when the turn had no more
   * inserts, and then goes on from there the next time. Throws StoreFailure, also when the
   * store takes no row of the segment and there is no room to set them all aside.
   */
  async segment(segment: number, turn: { inserts: number }): Promise<RefusedRows | null> {
    const { store, aside } = this.#options;
    const rows: readonly Row[] = store
      .commitsOf(segment)
      .flatMap(({ lines, orphan }) => lines.map((line) => ({ line, orphan })));
    let plan = aside.plan?.segment === segment ? aside.plan : await this.#begun(segment, rows);
    for (let range = plan.left[0]; range !== undefined; range = plan.left[0]) {
      if (turn.inserts <= 0) return null;
      turn.inserts -= 1;
      const taken = await this.#taken(plan, range, rows);
      plan = taken ? planAfterInsert(plan) : planAfterRefusal(plan);
      if (!taken || aside.plan !== null) aside.plan = plan;
    }
    const refused = plan.refused.map((at) => refusedRow(rows[at]?.line ?? ""));
    const sizes = refused.map((row) => row.bytes);
    const room = deadLetterRoom(aside.sizes, sizes, plan.taken);
    if (room === null) {
      aside.plan = restartedPlan(plan);
      throw new StoreFailure("it refuses every row");
    }
    return { rows: refused, displaced: room.displaced };
  }

  /** Sends the spans that wait, in so many parts at most. Throws StoreFailure. */
  async spans(parts: number): Promise<void> {
    const { spans } = this.#options;
    for (let left = parts; left > 0; left -= 1) {
      const part = spans.seal();
      if (part === null) return;
      await this.#someSpans(part.lines, this.#token(`spans-${part.name}`));
      spans.sent(part);
    }
  }

  /** The plan of a segment that was never sent; on disk when some of its rows are skipped or might have been. */
  async #begun(segment: number, rows: readonly Row[]): Promise<SendPlan> {
    const { aside, clickhouse } = this.#options;
    const orphans = rows.flatMap(({ line, orphan }) => (orphan ? [requestIdOf(line)] : []));
    if (orphans.length === 0) return planOf(segment, rows.length);
    const known = await findRequests(clickhouse, orphans);
    const skip = rows.flatMap(({ line, orphan }, at) => (orphan && known.has(requestIdOf(line)) ? [at] : []));
    aside.plan = planOf(segment, rows.length, skip);
    return aside.plan;
  }

  /**
   * Whether the store has the rows of a range now. Rows that it refuses although it has them were taken by an attempt
   * whose answer was lost. Throws StoreFailure.
   */
  async #taken(plan: SendPlan, range: RowRange, rows: readonly Row[]): Promise<boolean> {
    const { clickhouse, ledger, log } = this.#options;
    const skip = new Set(plan.skip);
    const lines = rows.flatMap(({ line }, at) => (at >= range.from && at < range.to && !skip.has(at) ? [line] : []));
    if (lines.length === 0) return true;
    try {
      await insertLines(clickhouse, "usage_raw", lines, this.#token(rangeName(plan, range)));
      return true;
    } catch (error) {
      if (!(error instanceof RowsRefused)) throw error;
      const requests = lines.map(requestIdOf);
      const known = await findRequests(clickhouse, requests);
      if (requests.every((id) => known.has(id))) return true;
      if (requests.length === 1)
        log.event("usage_row_refused", { ledger, request_id: requests[0] ?? "", code: error.code });
      return false;
    }
  }

  async #someSpans(lines: readonly string[], token: string): Promise<void> {
    const { clickhouse, ledger, log } = this.#options;
    try {
      await insertLines(clickhouse, "spans", lines, token);
    } catch (error) {
      if (!(error instanceof RowsRefused)) throw error;
      if (lines.length <= 1) return log.event("span_refused", { ledger, code: error.code });
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
