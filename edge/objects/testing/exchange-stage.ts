/** One session of exchanges at the Cell, with the real front desk. */
import { vi } from "vitest";
import type { UsageRow } from "../../../shared/usage-row.ts";
import type { Ask, Settlement } from "../../domain/ask.ts";
import type { ExchangeAnswer, ExchangeMessage } from "../../domain/exchange/messages.ts";
import { ExchangeDesk } from "../exchange-desk.ts";
import { type Desk, deskOf } from "./desk.ts";

/** Says nothing. */
export const NOTHING: ExchangeMessage = { ends: [], departures: [], records: [], hits: [], asks: [] };

/** A session's Cell side with the real front desk; a test moves the time. */
export class ExchangeStage {
  readonly world: Desk;
  readonly exchanges: ExchangeDesk;
  readonly recorded: UsageRow[] = [];
  readonly failures: unknown[] = [];
  stores: (row: UsageRow) => Promise<void> = async () => undefined;

  constructor(slots: number) {
    this.world = deskOf("weighted", slots);
    const take = async ({ row }: { readonly row: UsageRow }) => {
      this.recorded.push(row);
      await this.stores(row);
    };
    this.exchanges = new ExchangeDesk({
      desk: this.world.desk,
      revisions: this.world.revisions,
      rows: { record: take, settleOrphan: take },
      level: async () => null,
      later: (delayMs, run) => void setTimeout(run, delayMs),
      failed: (error) => void this.failures.push(error),
    });
  }

  open(...asks: readonly Ask[]) {
    return this.exchanges.open({ ...NOTHING, asks });
  }

  /** Of the rows that the front desk made: whose, their status and their tokens. */
  get rows() {
    return this.world.rows.map((row) => [row.request_id, row.status_code, row.total_tokens]);
  }

  get load() {
    const { scheduler, desk } = this.world;
    return [scheduler.inFlight, scheduler.queued, desk.seated];
  }

  async pass(ms: number): Promise<void> {
    this.world.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }
}

/** An end as the isolate says it. */
export const endOf = ({ requestId, row }: Ask): Settlement => ({
  row: { ...row, request_id: requestId },
  actualTokens: 3,
});
/** Who was told what. */
export const verdicts = ({ decided }: ExchangeAnswer) => decided.map(([id, { verdict }]) => `${id} ${verdict}`);
