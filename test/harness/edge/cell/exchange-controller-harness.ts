/** One session of exchanges at the Cell, with the real admission controller. */
import { vi } from "vitest";
import type { ExchangeAnswer, ExchangeMessage } from "../../../../edge/domain/admission/exchange-messages.ts";
import type { AdmissionRequest, Settlement } from "../../../../edge/domain/admission/rpc.ts";
import { ExchangeController } from "../../../../edge/objects/cell/exchange-controller.ts";
import type { UsageRow } from "../../../../shared/usage-row.ts";
import { type AdmissionHarness, admissionHarnessOf } from "./admission-harness.ts";

/** A message without content. */
export const EMPTY_MESSAGE: ExchangeMessage = { ends: [], departures: [], records: [], hits: [], asks: [] };

/** A session's Cell side with the real admission controller; a test moves the time. */
export class ExchangeControllerHarness {
  readonly world: AdmissionHarness;
  readonly exchanges: ExchangeController;
  readonly recorded: UsageRow[] = [];
  readonly failures: unknown[] = [];
  stores: (row: UsageRow) => Promise<void> = async () => undefined;

  constructor(slots: number) {
    this.world = admissionHarnessOf("weighted", slots);
    const take = async ({ row }: { readonly row: UsageRow }) => {
      this.recorded.push(row);
      await this.stores(row);
    };
    this.exchanges = new ExchangeController({
      admission: this.world.admission,
      revisions: this.world.revisions,
      rows: { record: take, settleOrphan: take },
      level: async () => null,
      later: (delayMs, run) => void setTimeout(run, delayMs),
      failed: (error) => void this.failures.push(error),
    });
  }

  open(...requests: readonly AdmissionRequest[]) {
    return this.exchanges.open({ ...EMPTY_MESSAGE, asks: requests });
  }

  /** The rows that the admission controller made: request, status and tokens. */
  get rows() {
    return this.world.rows.map((row) => [row.request_id, row.status_code, row.total_tokens]);
  }

  get load() {
    const { scheduler, admission } = this.world;
    return [scheduler.inFlight, scheduler.queued, admission.entryCount];
  }

  async pass(ms: number): Promise<void> {
    this.world.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }
}

/** An end as the isolate sends it. */
export const endOf = ({ requestId, row }: AdmissionRequest): Settlement => ({
  row: { ...row, request_id: requestId },
  actualTokens: 3,
});
/** The verdict for each request. */
export const verdicts = ({ decided }: ExchangeAnswer) => decided.map(([id, { verdict }]) => `${id} ${verdict}`);
