/**
 * Calls to the Cell object in the context of one request: sessions, rows that no session takes, and questions. A failed call is
 * retried once on a fresh stub when that can help; when it fails again, the answer is 503 `scheduler unavailable`
 * (docs/rules/admission.md#unavailable). A row that its Cell cannot take goes to the Ledger directly, and is sent again while
 * the Ledger is unreachable too: the Ledger recognises a row by its request id.
 */
import { issues } from "../../../shared/alerts.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import { sleep } from "../../../shared/time/sleep.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { RevItem } from "../../../shared/wire/internal.ts";
import type { ExchangeApi, ExchangeSession } from "../../domain/admission/exchange-messages.ts";
import type { CellApi } from "../../domain/admission/rpc.ts";
import type { BudgetLimits } from "../../domain/budget/limits.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import { shardOf } from "../../domain/ledger/row-line.ts";
import type { LedgerApi } from "../../domain/ledger/rpc.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import type { Alerts, Log, MakeCall } from "../../ports.ts";
import { isDiskFull, isOverloaded, mayCallAgain } from "./call-errors.ts";
import type { LostRows } from "./lost-rows.ts";

/**
 * Pauses between attempts at the Ledger. Their sum is well below the time that the platform grants to work after an
 * answer.
 */
const LEDGER_PAUSES_MS = [250, 500, 1000, 2000, 4000, 8000];
/** The same where a Ledger may have no owner. */
const LEDGER_PAUSES_BETWEEN_OWNERS_MS = [...LEDGER_PAUSES_MS, 4000, 4000, 4000];
/** Rows that may wait for the Ledger at once; a row beyond that is tried only once. */
const HELD_MAX = 1000;

/** Finds a Cell and its Ledgers; each call returns a fresh stub. */
export interface AdmissionStubs {
  cell(name: string): CellApi & ExchangeApi;
  ledger(name: string): LedgerApi;
}

interface CellAdmissionOptions {
  readonly stubs: AdmissionStubs;
  readonly cell: string;
  readonly shards: number;
  readonly alerts: Alerts;
  readonly log: Log;
  /** Where a Cell may have no owner: how it and its Ledgers are called, as long as both live where they live now. */
  readonly calls?: (() => MakeCall) | undefined;
  /** Counts the rows that are given up; undefined: they are only logged. */
  readonly lost?: LostRows;
}

export class CellAdmission {
  readonly cell: string;
  readonly #options: CellAdmissionOptions;
  #held = 0;
  /** How often the Cell could not be reached since it was reached last. The first time is logged, and the number when it is back. */
  #failures = 0;

  constructor(options: CellAdmissionOptions) {
    this.#options = options;
    this.cell = options.cell;
  }

  async record(row: UsageRow, upstream: UpstreamOutcomes = {}): Promise<void> {
    try {
      // The Cell may have the row already, from a call whose answer was lost.
      const again = async (cell: CellApi) => await cell.settleOrphan(row, upstream);
      await this.#call(async (cell) => await cell.record(row, upstream), again);
    } catch {
      await this.#toLedger(row, upstream);
    }
  }

  async settleOrphan(row: UsageRow, upstream: UpstreamOutcomes = {}): Promise<void> {
    try {
      await this.#call(async (cell) => await cell.settleOrphan(row, upstream));
    } catch {
      await this.#toLedger(row, upstream);
    }
  }

  async staleAmong(items: readonly RevItem[]): Promise<readonly RevItem[]> {
    return await this.#call(async (cell) => await cell.staleAmong(items));
  }

  async changedAmong(items: readonly RevItem[]): Promise<readonly RevItem[]> {
    return await this.#calls()(async () => await this.#stub().staleAmong(items));
  }

  async level(limits: BudgetLimits): Promise<BucketLevel | null> {
    try {
      return await this.#call(async (cell) => await cell.level(limits));
    } catch {
      return null;
    }
  }

  async inFlightByModel(): Promise<ReadonlyMap<string, number>> {
    return new Map(await this.#call(async (cell) => await cell.inFlightByModel()));
  }

  /** Opens a session. Throws what the call throws. */
  async openSession(...given: Parameters<ExchangeApi["openSession"]>): ReturnType<ExchangeApi["openSession"]> {
    const make = this.#calls();
    let isGivenUp = false;
    const open = async () => {
      const opened = await this.#stub().openSession(...given);
      if (isGivenUp) opened.session[Symbol.dispose]();
      return opened;
    };
    try {
      const { session, answer } = await make(open);
      this.#reached();
      return { session: madeBy(make, session), answer };
    } catch (error) {
      isGivenUp = true;
      throw error;
    }
  }

  /** Calls the Cell for the internal routes. Throws `scheduler_unavailable`. */
  async withCell<T>(work: (cell: CellApi) => Promise<T>): Promise<T> {
    return await this.#call(work);
  }

  /**
   * The failure of a request whose Cell cannot be reached. `isReported`: the log and the operator already know that the Cell is
   * unavailable, because an earlier call by the same caller failed too.
   */
  unavailable(error: unknown, isReported = false): GatewayError {
    const { log, alerts } = this.#options;
    if (!isReported) {
      this.#failures += 1;
      if (this.#failures === 1) log.event("scheduler_unavailable", { cell: this.cell, reason: rootCause(error) });
      const reason = isOverloaded(error) ? "overloaded" : isDiskFull(error) ? "its disk is full" : "no answer";
      alerts.raise(issues.schedulerUnavailable(this.cell, reason));
    }
    return new GatewayError("scheduler_unavailable", { cause: error });
  }

  /** `again`: the second call; it differs from the first one where the first one may have arrived. */
  async #call<T>(work: (cell: CellApi) => Promise<T>, again = work): Promise<T> {
    const answer = await this.#answer(work, again);
    this.#reached();
    return answer;
  }

  #reached(): void {
    const { log, lost } = this.#options;
    lost?.tell();
    if (this.#failures === 0) return;
    log.event("scheduler_available", { cell: this.cell, failures: this.#failures });
    this.#failures = 0;
  }

  async #answer<T>(work: (cell: CellApi) => Promise<T>, again: typeof work): Promise<T> {
    try {
      return await this.#calls()(async () => await work(this.#stub()));
    } catch (first) {
      if (!mayCallAgain(first)) throw this.unavailable(first);
      try {
        return await this.#calls()(async () => await again(this.#stub()));
      } catch (second) {
        throw this.unavailable(second);
      }
    }
  }

  #calls(): MakeCall {
    return this.#options.calls?.() ?? justCall;
  }

  #stub(): CellApi & ExchangeApi {
    return this.#options.stubs.cell(this.cell);
  }

  async #toLedger(row: UsageRow, upstream: UpstreamOutcomes): Promise<void> {
    const { calls, log, lost } = this.#options;
    const pausesMs = calls === undefined ? LEDGER_PAUSES_MS : LEDGER_PAUSES_BETWEEN_OWNERS_MS;
    const pauses = this.#held < HELD_MAX ? pausesMs : [];
    this.#held += 1;
    let failure: string | null = null;
    try {
      for (const pauseMs of pauses) {
        if ((await this.#ledgerFailure(row, upstream)) === null) return;
        await sleep(pauseMs);
      }
      failure = await this.#ledgerFailure(row, upstream);
      if (failure === null) return;
    } finally {
      this.#held -= 1;
    }
    lost?.add();
    log.event("usage_row_lost", { request_id: row.request_id, cell: this.cell, reason: failure });
  }

  /** Why the Ledger has not taken the row; null: it has. */
  async #ledgerFailure(row: UsageRow, upstream: UpstreamOutcomes): Promise<string | null> {
    const { stubs, shards } = this.#options;
    const name = `${this.cell}:${shardOf(row.request_id, shards)}`;
    try {
      await this.#calls()(async () => await stubs.ledger(name).appendOrphan({ ...row, cell: this.cell }, upstream));
      return null;
    } catch (error) {
      return rootCause(error);
    }
  }
}

const justCall: MakeCall = async (call) => await call();

/** The session, with its calls made in this way. */
function madeBy(make: MakeCall, session: ExchangeSession): ExchangeSession {
  return {
    exchange: async (message) => await make(async () => await session.exchange(message)),
    news: async () => await make(async () => await session.news()),
    close: async () => await session.close(),
    [Symbol.dispose]: () => session[Symbol.dispose](),
  };
}
