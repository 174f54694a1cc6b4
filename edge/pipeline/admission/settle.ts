/**
 * Step 9: the one end of a request that held a slot. Three triggers (end, error, client gone), and one latch: only the
 * first counts. The promise `done` is given to `waitUntil` before the response is returned. While the request runs, it
 * notices a reset of its Cell and has the new Cell adopt the slot (docs/rules/settlement-and-rows.md#exactly-once,
 * docs/rules/admission.md#reset-and-adoption), and ends when its slot may be another's (#leases-of-isolates).
 */
import type { UsageRow } from "../../../shared/usage-row.ts";
import type { PermitHandle, Settlement } from "../../domain/admission/rpc.ts";
import { type Billed, NOTHING_BILLED, totalTokens } from "../../domain/usage/billing.ts";
import type { Call } from "../call/context.ts";
import { type EndDetails, reportEnd } from "../report/report-end.ts";
import { usageRowOf, withEnergy } from "../report/usage-row.ts";
import type { AdmittedRequest } from "./admit.ts";

/**
 * Adoption is tried at once, and then for as long as a process with the objects may take to start again, or a Cell of a
 * cluster to get another owner: the new Cell should count the slot before it grants any
 * (docs/rules/admission.md#reset-and-adoption).
 */
const ADOPT_ATTEMPTS_MIN = 25;
const ADOPT_EVERY_MS = 200;
/**
 * A request that ends before this is not worth watching; a later one still has its slot adopted well before a new Cell
 * grants.
 */
const WATCH_AFTER_MS = 200;
/**
 * A request whose slot the isolate's session holds takes a permit of its own after this long: the slot then comes back
 * when only this request's code ends.
 */
const OWN_PERMIT_AFTER_MS = 1_000;

/** How a request ended. */
export interface RequestEnd extends EndDetails {
  /** What the client got; 499 when it left. */
  readonly statusCode: number;
  readonly billed?: Billed;
  /** The row has its tokens, and nothing is charged for them (docs/rules/boons.md#answers). */
  readonly refunded?: true;
  readonly ttftMs?: number;
}

export class Settler {
  readonly #call: Call;
  readonly #request: AdmittedRequest;
  readonly #finished = Promise.withResolvers<void>();
  #permit: PermitHandle;
  #ended = false;
  #watching = false;
  #callOffWatch: (() => void) | null = null;
  /** Resolves when the slot is lost: nothing that needs the Cell is waited for then. */
  readonly #lost = Promise.withResolvers<void>();
  /** An adoption under way: until it is over, it is not known which permit has to be settled. */
  #adoption: Promise<void> = Promise.resolve();

  /** The row is made from `request` when the request ends. */
  constructor(call: Call, request: AdmittedRequest) {
    this.#call = call;
    this.#request = request;
    this.#permit = request.permit;
    void request.sessionLost?.then(() => this.#watch());
    call.slotHold.listen(() => this.#lost.resolve());
    call.waitUntil(this.#finished.promise);
  }

  /** Reports to the Cell that a lost permit has to be billed from now on, unless the Cell knows it; not awaited. */
  upstreamCalled(): void {
    if (this.#ended) return;
    this.watchSlot();
    if (!this.#request.atOnce) this.#permit.inUse().catch(() => undefined);
  }

  /** Has a new Cell adopt the slot when the request lasts; `upstreamCalled` does it too. */
  watchSlot(): void {
    const watchMs = this.#request.sessionLost === null ? WATCH_AFTER_MS : OWN_PERMIT_AFTER_MS;
    this.#callOffWatch ??= this.#call.timer.after(watchMs, () => void this.#watch());
  }

  /** Ends the request; only the first call counts. */
  end(ending: RequestEnd): void {
    if (this.#ended) return;
    this.#over();
    void this.#deliver(ending).finally(() => this.#finished.resolve());
  }

  /** Gives the permit up without a settlement: the Cell settles it, at the estimate when the upstream was called. */
  abandon(): void {
    if (this.#ended) return;
    this.#over();
    reportEnd(this.#call, this.#request, this.#row({ statusCode: 500 }));
    void this.#giveUp();
  }

  /** Gives up an adopted permit too: if only the earlier one were given up, the request would be charged for both. */
  async #giveUp(): Promise<void> {
    await this.#adopted();
    this.#permit[Symbol.dispose]();
    this.#finished.resolve();
  }

  #row(ending: RequestEnd): UsageRow {
    return usageRowOf(this.#call, this.#request, { ...ending, admission: this.#request.admission });
  }

  #over(): void {
    this.#ended = true;
    this.#callOffWatch?.();
    this.#call.slotHold.release();
  }

  /** Resolves when the adoption under way is over, or means nothing any more. */
  async #adopted(): Promise<void> {
    await Promise.race([this.#adoption.catch(() => undefined), this.#lost.promise]);
  }

  async #deliver(ending: RequestEnd): Promise<void> {
    const billed = ending.billed ?? NOTHING_BILLED;
    const row = await withEnergy(this.#call, this.#request, this.#row(ending));
    const upstream = this.#request.upstream.outcomes;
    await this.#adopted();
    const actualTokens = ending.refunded === true ? 0 : totalTokens(billed);
    const settled = this.#handIn({ row, actualTokens, upstream });
    reportEnd(this.#call, this.#request, row, ending); // while the Cell works
    await settled;
  }

  async #handIn(settlement: Settlement): Promise<void> {
    try {
      await this.#permit.settle(settlement);
    } catch {
      // The Cell may or may not have the row; the next receiver recognises it by its request id.
      await this.#call.ports.admission.settleOrphan(settlement.row, settlement.upstream);
    } finally {
      this.#permit[Symbol.dispose]();
    }
  }

  async #watch(): Promise<void> {
    if (this.#watching || this.#ended) return;
    this.#watching = true;
    this.#call.slotHold.keepSlot();
    while (!this.#ended) {
      try {
        await this.#permit.lost();
      } catch {
        if (this.#ended) return;
        this.#adoption = this.#adopt();
        try {
          await this.#adoption;
        } catch {
          // If its session is lost later, that is another attempt.
          this.#watching = false;
          return;
        }
      }
    }
  }

  /**
   * Has the new Cell adopt the slot. The new Cell may need a moment to start. A request that ends meanwhile needs no
   * adoption.
   */
  async #adopt(): Promise<void> {
    const { ports, config, slotHold } = this.#call;
    const { admission, sleep } = ports;
    const attempts = Math.max(ADOPT_ATTEMPTS_MIN, config.admissionPatienceMs / ADOPT_EVERY_MS);
    const { message } = this.#request;
    // The first permit of a sub-call is adopted as well: this says that it is not the first one.
    const waitedMs = message.waitedMs ?? 0;
    for (let attempt = 1; ; attempt += 1) {
      const row = this.#row({ statusCode: 499 });
      try {
        const adopted = await admission.adopt({ ...message, row, waitedMs }, attempt > 1);
        if (slotHold.failure === null) this.#permit = adopted;
        else adopted[Symbol.dispose]();
        return;
      } catch (error) {
        if (this.#ended || slotHold.failure !== null || attempt >= attempts) throw error;
      }
      await sleep(ADOPT_EVERY_MS, this.#call.request.signal);
    }
  }
}
