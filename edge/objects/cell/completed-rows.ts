/**
 * Takes the rows of requests that ended, from the Cell to its Ledgers (ledger-writer.ts), and counts those that the Ledger
 * takes: of several rows of one request it keeps one, and only the Ledger knows which. Rows of unauthenticated refusals above
 * their limit are only counted (docs/rules/settlement-and-rows.md#refusals).
 */
import { NIL_UUID, type UsageRow } from "../../../shared/usage/usage-row.ts";
import type { RowRecord } from "../../domain/admission/exchange-messages.ts";
import { RecentIds } from "../../domain/cell/recent-ids.ts";
import { RefusalRateLimit } from "../../domain/cell/refusal-rate-limit.ts";
import type { RequestCounters } from "../../domain/cell/request-counters.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { LedgerWriter } from "./ledger-writer.ts";

interface CompletedRowsOptions {
  readonly cell: string;
  readonly counters: RequestCounters;
  readonly writer: Pick<LedgerWriter, "write">;
  /** Called with every row that is counted. */
  readonly heartbeat: Pick<Heartbeat, "counted">;
  readonly now: () => number;
}

export class CompletedRows {
  readonly #options: CompletedRowsOptions;
  readonly #refusals = new RefusalRateLimit();
  /** Unauthenticated refusals: those below the limit, whose rows may be written, and those that are only counted. */
  readonly #below = new RecentIds();
  readonly #above = new RecentIds();

  constructor(options: CompletedRowsOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the row is durable, or above the limit. `orphan`: another row of the request may have been written before, by its
   * Worker or by an earlier life of the Cell; the first one counts.
   */
  async complete(row: UsageRow, orphan: boolean, upstream: UpstreamOutcomes = {}): Promise<void> {
    const { writer, counters, heartbeat } = this.#options;
    if (row.tenant_id === NIL_UUID && !this.#isBelow(row.request_id)) {
      if (!this.#above.add(row.request_id)) return;
      counters.count(row);
    } else {
      if (!(await writer.write(row, orphan))) return;
      counters.count(row, upstream);
    }
    heartbeat.counted();
  }

  /** Takes the row of a request that asked for no slot. `again`: it may have come before. */
  async record({ row, upstream }: RowRecord, again = false): Promise<void> {
    await this.complete({ ...row, cell: this.#options.cell }, again, upstream);
  }

  /** A decision on a row holds when the row comes again. */
  #isBelow(requestId: string): boolean {
    if (this.#below.has(requestId)) return true;
    if (this.#above.has(requestId) || !this.#refusals.allow(this.#options.now())) return false;
    return this.#below.add(requestId);
  }
}
