/**
 * The control service's calls to the cells (shared/wire/internal.ts). A cell that failed is not waited for until it answers
 * again (docs/rules/freshness.md#publishing).
 */
import { z } from "zod";
import {
  type FairshareLive,
  type FairshareSample,
  fairshareLiveSchema,
  fairshareSampleSchema,
} from "../../../shared/schema/load.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import {
  type AlertAck,
  type AlertBatch,
  alertBatchSchema,
  CELL_HEADER,
  type CellMetrics,
  type CellStats,
  type Change,
  cellMetricsSchema,
  cellStatsSchema,
  INTERNAL_PATHS,
} from "../../../shared/wire/internal.ts";
import {
  type BudgetRead,
  type BudgetSubject,
  budgetReadSchema,
  rebuiltSchema,
} from "../../../shared/wire/internal-budgets.ts";

/** A Worker that was deployed before queues or headroom were shown has none in its answer. */
const cellLiveSchema = fairshareLiveSchema.extend({
  headroom: fairshareLiveSchema.shape.headroom.default(0),
  batch_in_flight: fairshareLiveSchema.shape.batch_in_flight.default(0),
  batch_queued: fairshareLiveSchema.shape.batch_queued.default(0),
  waiting: fairshareLiveSchema.shape.waiting.default([]),
  waiting_cells: fairshareLiveSchema.shape.waiting_cells.default([]),
  adaptive: fairshareLiveSchema.shape.adaptive.default([]),
});
const cellSampleSchema = fairshareSampleSchema.extend({ adaptive: fairshareSampleSchema.shape.adaptive.default([]) });

/** A write answers after at most this long (docs/rules/freshness.md#write-path); nor does a list of cells wait longer for one. */
export const BRIEF_DEADLINE_MS = 1000;
/** For the one cell that a request is about: a far one may have to be connected to and its object to be started. */
const DEADLINE_MS = 5000;
/** The cell sums up the ledger for a whole batch of counters. */
const REBUILD_DEADLINE_MS = 10_000;

export interface CellAddress {
  readonly cell: string;
  readonly url: string;
}

interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly deadlineMs?: number;
}

export class Cells {
  readonly addresses: readonly CellAddress[];
  readonly #token: string;
  readonly #confirmWithinMs: number;
  /** Cells whose last call failed, and why. */
  readonly #failed = new Map<string, string>();
  /** Cells that failed and that {@link Cells.recovered} has not returned since. */
  readonly #missed = new Set<string>();

  constructor(addresses: readonly CellAddress[], token: string, confirmWithinMs = BRIEF_DEADLINE_MS) {
    this.addresses = addresses;
    this.#token = token;
    this.#confirmWithinMs = confirmWithinMs;
  }

  /**
   * Sends the changes to every cell; returns the names of the cells that have not confirmed. They are sent to a cell that
   * failed before too, but its answer is awaited only when `waitForFailed`: a Management write is not delayed by a cell
   * that is down.
   */
  async invalidate(items: readonly Change[], waitForFailed: boolean): Promise<readonly string[]> {
    if (items.length === 0) return [];
    const results = await Promise.all(
      this.addresses.map(async ({ cell, url }) => {
        const failedBefore = this.#failed.has(cell);
        const call = { method: "POST", body: { items }, deadlineMs: this.#confirmWithinMs };
        const confirmed = this.#call({ cell, url }, INTERNAL_PATHS.invalidate, call).then(
          () => true,
          () => false,
        );
        if (failedBefore && !waitForFailed) return cell;
        return (await confirmed) ? null : cell;
      }),
    );
    return results.filter((cell) => cell !== null);
  }

  /** Why a cell has not answered; undefined: its last call was answered. */
  failureOf(cell: string): string | undefined {
    return this.#failed.get(cell);
  }

  /** Cells that failed and answer again; each is returned once. Cells that still fail are called again by this. */
  async recovered(): Promise<readonly string[]> {
    const missed = this.addresses.filter(({ cell }) => this.#missed.has(cell));
    await Promise.allSettled(missed.map(async (address) => await this.stats(address, BRIEF_DEADLINE_MS)));
    const back = missed.map(({ cell }) => cell).filter((cell) => !this.#failed.has(cell));
    for (const cell of back) this.#missed.delete(cell);
    return back;
  }

  /** Throws when the cell does not answer. */
  async stats(address: CellAddress, deadlineMs = DEADLINE_MS): Promise<CellStats> {
    return cellStatsSchema.parse(await (await this.#call(address, INTERNAL_PATHS.stats, { deadlineMs })).json());
  }

  /** Throws when the cell does not answer. */
  async metrics(address: CellAddress): Promise<CellMetrics> {
    const response = await this.#call(address, INTERNAL_PATHS.metrics, { deadlineMs: BRIEF_DEADLINE_MS });
    return cellMetricsSchema.parse(await response.json());
  }

  /** Throws when the cell does not answer. */
  async setCapacity(address: CellAddress, maxInFlight: number | null): Promise<CellStats> {
    const call = { method: "PUT", body: { max_in_flight: maxInFlight } };
    const response = await this.#call(address, INTERNAL_PATHS.capacity, call);
    return cellStatsSchema.parse(await response.json());
  }

  /** Throws when the cell does not answer. */
  async live(address: CellAddress, deadlineMs = DEADLINE_MS): Promise<FairshareLive> {
    return cellLiveSchema.parse(await (await this.#call(address, INTERNAL_PATHS.live, { deadlineMs })).json());
  }

  /** Throws when the cell does not answer. */
  async history(address: CellAddress, sinceMs: number): Promise<readonly FairshareSample[]> {
    const response = await this.#call(address, `${INTERNAL_PATHS.history}?since_ms=${sinceMs}`);
    return z.array(cellSampleSchema).parse(await response.json());
  }

  /**
   * Acknowledges the alerts that `ack` names, which the cell then deletes, and returns the next ones. Throws when the cell
   * does not answer. The cell's Ledger answers this call: it does not show whether the Cell takes configuration.
   */
  async alerts(address: CellAddress, ack: AlertAck | null): Promise<AlertBatch> {
    const call = { method: "POST", body: { ack }, deadlineMs: BRIEF_DEADLINE_MS };
    const response = await this.#fetch(address, INTERNAL_PATHS.alerts, call);
    return alertBatchSchema.parse(await response.json());
  }

  /** What a tenant or key has used, from its budget object. Throws when this cell cannot reach the object. */
  async budgetUsage(address: CellAddress, subject: BudgetSubject): Promise<BudgetRead> {
    const response = await this.#fetch(address, INTERNAL_PATHS.budgetUsage, { method: "POST", body: subject });
    return budgetReadSchema.parse(await response.json());
  }

  /**
   * Has the cell compare these counters with the ledger; returns for how many it did. Throws when the cell does not answer.
   */
  async rebuildBudgets(address: CellAddress, subjects: readonly BudgetSubject[]): Promise<number> {
    const call = { method: "POST", body: { subjects }, deadlineMs: REBUILD_DEADLINE_MS };
    const response = await this.#fetch(address, INTERNAL_PATHS.budgetRebuild, call);
    return rebuiltSchema.parse(await response.json()).rebuilt;
  }

  /** Calls a cell, and remembers whether it answered. Throws when the cell does not answer, or answers with an error. */
  async #call(address: CellAddress, path: string, call: Call = {}): Promise<Response> {
    try {
      const response = await this.#fetch(address, path, call);
      this.#failed.delete(address.cell);
      return response;
    } catch (error) {
      this.#failed.set(address.cell, rootCause(error));
      this.#missed.add(address.cell);
      throw error;
    }
  }

  async #fetch(
    { cell, url }: CellAddress,
    path: string,
    { method = "GET", body, deadlineMs = DEADLINE_MS }: Call,
  ): Promise<Response> {
    const response = await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        "content-type": "application/json",
        [CELL_HEADER]: cell,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(deadlineMs),
      redirect: "manual",
    });
    if (response.ok) return response;
    await response.body?.cancel();
    throw new Error(`cell answered ${response.status}`);
  }
}
