/**
 * Step 9: the one end of a request that held a slot. Three triggers (end, error, client gone), and one latch: only the
 * first counts. The promise `done` is given to `waitUntil` before the response is returned
 * (docs/rules/settlement-and-rows.md#exactly-once).
 */
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import { type Billed, NOTHING_BILLED, totalTokens } from "../../domain/usage/billing.ts";
import type { AdmittedRequest } from "../admit/admit.ts";
import type { Call } from "../call/context.ts";
import { type EndDetails, reportEnd } from "../call/report/report-end.ts";
import { usageRowOf, withEnergy } from "../call/report/usage-row.ts";
import type { CapturedCall } from "../capture/captured-call.ts";

/** How a request ended. */
export interface RequestEnd extends EndDetails {
  /** The client's status; 499 if it left. */
  readonly statusCode: number;
  readonly billed?: Billed;
  /** The row has its tokens, and nothing is charged for them (docs/rules/boons.md#answers). */
  readonly refunded?: true;
  readonly ttftMs?: number;
}

export class Settler {
  readonly #call: Call;
  #request: AdmittedRequest;
  readonly #finished = Promise.withResolvers<void>();
  #ended = false;
  #captured: CapturedCall | null = null;

  /** The row is made from `request` when the request ends. */
  constructor(call: Call, request: AdmittedRequest) {
    this.#call = call;
    this.#request = request;
    call.waitUntil(this.#finished.promise);
  }

  /** It has moved to another model, and has that model's slot. */
  moved(request: AdmittedRequest): void {
    this.#request = request;
  }

  /** What is kept of it after its end. */
  keeps(captured: CapturedCall | null): void {
    this.#captured = captured;
  }

  /** Ends the request; only the first call counts. */
  end(ending: RequestEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    void this.#finish(ending);
  }

  /** Gives the permit up without a settlement: the Cell settles it, at the estimate. */
  abandon(): void {
    if (this.#ended) return;
    this.#ended = true;
    reportEnd(this.#call, this.#request, this.#row({ statusCode: 500 }));
    this.#request.permit.leave();
    this.#captured?.drop();
    this.#finished.resolve();
  }

  #row(ending: RequestEnd): UsageRow {
    return usageRowOf(this.#call, this.#request, { ...ending, admission: this.#request.admission });
  }

  async #finish(ending: RequestEnd): Promise<void> {
    try {
      await this.#deliver(ending);
    } finally {
      await this.#captured?.keep(ending.statusCode);
      this.#finished.resolve();
    }
  }

  async #deliver(ending: RequestEnd): Promise<void> {
    const billed = ending.billed ?? NOTHING_BILLED;
    const row = await withEnergy(this.#call, this.#request, this.#row(ending));
    const upstream = this.#request.upstream.outcomes;
    const actualTokens = ending.refunded === true ? 0 : totalTokens(billed);
    const settled = this.#request.permit.settle({ row, actualTokens, upstream });
    reportEnd(this.#call, this.#request, row, ending); // while the Cell works
    await settled;
  }
}
