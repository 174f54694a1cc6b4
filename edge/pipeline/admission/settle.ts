/**
 * Step 9: the one end of a request that held a slot. Three triggers - end, error, client gone - and one latch: only the
 * first counts. The promise `done` is given to `waitUntil` before the response is returned. While the request runs, a
 * Cell that is reset is noticed and the slot adopted by its successor (design §3 law 2, §4).
 */
import type { PermitHandle, Settlement } from "../../domain/admission/rpc.ts";
import { type Billed, NOTHING_BILLED, totalTokens } from "../../domain/usage/billing.ts";
import type { Call } from "../call/context.ts";
import { reportEnd } from "../report/report-end.ts";
import { usageRowOf, withEnergy } from "../report/usage-row.ts";
import type { Slot } from "./admit.ts";

/**
 * A slot is claimed again at once, and then for as long as a process with the objects may take to be there again: its cap
 * should hold again before the new Cell grants (design §4).
 */
const ADOPT_ATTEMPTS = 25;
const ADOPT_EVERY_MS = 200;
/** A request that is over by then is not worth a watch; one that is not adopts its slot well before a new Cell grants. */
const WATCH_AFTER_MS = 200;
/** A request that its isolate's session holds takes a permit of its own by then, which comes back when its code dies alone. */
const OWN_PERMIT_AFTER_MS = 1_000;

/** How a request ended. */
export interface RequestEnd {
  /** What the client got; 499 when it left. */
  readonly statusCode: number;
  readonly billed?: Billed;
  readonly ttftMs?: number;
}

export class Settler {
  readonly #call: Call;
  readonly #slot: Slot;
  readonly #finished = Promise.withResolvers<void>();
  #permit: PermitHandle;
  #ended = false;
  #watching = false;
  #callOffWatch: (() => void) | null = null;
  /** An adoption under way: until it is over nobody knows which permit to settle. */
  #adoption: Promise<void> = Promise.resolve();

  constructor(call: Call, slot: Slot) {
    this.#call = call;
    this.#slot = slot;
    this.#permit = slot.permit;
    void slot.sessionLost?.then(() => this.#watch());
    call.waitUntil(this.#finished.promise);
  }

  /** Tells the Cell that from now on a lost permit is billed, where it does not know; not waited for. */
  upstreamCalled(): void {
    if (this.#ended) return;
    const watchMs = this.#slot.sessionLost === null ? WATCH_AFTER_MS : OWN_PERMIT_AFTER_MS;
    this.#callOffWatch = this.#call.timer.after(watchMs, () => void this.#watch());
    if (!this.#slot.atOnce) this.#permit.inUse().catch(() => undefined);
  }

  /** Ends the request; every call but the first is ignored. */
  end(ending: RequestEnd): void {
    if (this.#ended) return;
    this.#over();
    void this.#deliver(ending).finally(() => this.#finished.resolve());
  }

  /** Gives the permit up without a word: the Cell settles it, at the estimate when the upstream was called. */
  abandon(): void {
    if (this.#ended) return;
    this.#over();
    reportEnd(this.#call, usageRowOf(this.#call, { statusCode: 500, admission: this.#slot.grant.admission }));
    void this.#letGo();
  }

  /** Of an adopted permit too: who lets go of the one before it only would be charged for both. */
  async #letGo(): Promise<void> {
    await this.#adoption.catch(() => undefined);
    this.#permit[Symbol.dispose]();
    this.#finished.resolve();
  }

  #over(): void {
    this.#ended = true;
    this.#callOffWatch?.();
  }

  async #deliver(ending: RequestEnd): Promise<void> {
    const billed = ending.billed ?? NOTHING_BILLED;
    const row = await withEnergy(
      this.#call,
      this.#slot.model,
      usageRowOf(this.#call, { ...ending, admission: this.#slot.grant.admission }),
    );
    const upstream = this.#call.facts.upstreamOutcomes;
    await this.#adoption.catch(() => undefined);
    const settled = this.#handIn({ row, actualTokens: totalTokens(billed), upstream });
    reportEnd(this.#call, row); // while the Cell works
    await settled;
  }

  async #handIn(settlement: Settlement): Promise<void> {
    try {
      await this.#permit.settle(settlement);
    } catch {
      // The Cell may or may not have it; whoever comes next recognises the row by its request id.
      await this.#call.ports.admission.settleOrphan(settlement.row, settlement.upstream);
    } finally {
      this.#permit[Symbol.dispose]();
    }
  }

  async #watch(): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    while (!this.#ended) {
      try {
        await this.#permit.lost();
      } catch {
        if (this.#ended) return;
        this.#adoption = this.#adopt();
        try {
          await this.#adoption;
        } catch {
          // Should its session be lost later, that is another attempt.
          this.#watching = false;
          return;
        }
      }
    }
  }

  /** The new Cell may take a moment to come up. A request that ends meanwhile has nothing to be adopted for. */
  async #adopt(): Promise<void> {
    const { admission, sleep } = this.#call.ports;
    for (let attempt = 1; ; attempt += 1) {
      const row = usageRowOf(this.#call, { statusCode: 499, admission: this.#slot.grant.admission });
      try {
        this.#permit = await admission.adopt({ ...this.#slot.ask, row });
        return;
      } catch (error) {
        if (this.#ended || attempt === ADOPT_ATTEMPTS) throw error;
      }
      await sleep(ADOPT_EVERY_MS, this.#call.request.signal);
    }
  }
}
