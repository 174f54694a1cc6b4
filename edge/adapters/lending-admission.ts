/**
 * Admission from what the Cell has lent to this isolate, and over the Cell for whatever that does not serve (design §12).
 * Which slot a request gets is the borrower's decision; the request that finds a session due carries it, beside its answer
 * and beyond.
 */
import type { RevItem } from "../../shared/internal.ts";
import type { UsageRow } from "../../shared/usage-row.ts";
import type { Admitted, Ask, Hit, PermitHandle, Settlement } from "../domain/ask.ts";
import type { BudgetLimits } from "../domain/budget/limits.ts";
import type { BucketLevel } from "../domain/budget/token-bucket.ts";
import { Borrower } from "../domain/loan/borrower.ts";
import type { Debtor } from "../domain/loan/messages.ts";
import type { UpstreamOutcomes } from "../domain/upstream-outcomes.ts";
import type { Admission, Clock, HitVerdict, LentSlot, Log } from "../ports.ts";
import type { CellAdmission } from "./cell-admission.ts";
import { LoanCarrier } from "./loan-carrier.ts";
import { sendRest } from "./loan-rest.ts";
import { LoanedPermit } from "./loaned-permit.ts";

export interface LendingOptions {
  readonly admission: CellAdmission;
  /** Makes what the Cell calls back, in the context of the calling request. */
  readonly debtor: (recall: Debtor["recall"]) => Debtor;
  readonly clock: Clock;
  /** Lets a session outlive the request that carries it. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: Log;
}

export class LendingAdmission implements Admission {
  readonly cell: string;
  readonly #options: LendingOptions;
  readonly #admission: CellAdmission;
  readonly #borrower: Borrower;

  constructor(options: LendingOptions) {
    this.#options = options;
    this.#admission = options.admission;
    this.cell = options.admission.cell;
    this.#borrower = new Borrower(options.clock());
  }

  take(ask: Ask): LentSlot | null {
    const { clock } = this.#options;
    const nowMs = clock();
    const borrowed = this.#borrower.take(ask, nowMs);
    if (borrowed === null) return null;
    this.#tend(nowMs);
    const resend = (settlement: Settlement) => this.#options.keepAlive(this.#resend(settlement));
    return { grant: borrowed.grant, permit: new LoanedPermit(ask.requestId, borrowed, clock, resend) };
  }

  async admit(ask: Ask): Promise<Admitted<PermitHandle>> {
    const admitted = await this.#admission.admit(ask);
    const nowMs = this.#options.clock();
    if (admitted.verdict === "granted") this.#borrower.asked(ask, nowMs);
    this.#tend(nowMs);
    return admitted;
  }

  async adopt(ask: Ask): Promise<PermitHandle> {
    this.#borrower.leaving(ask.requestId);
    const permit = await this.#admission.adopt(ask);
    this.#borrower.left(ask.requestId);
    return permit;
  }

  async record(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void> {
    await this.#admission.record(row, upstream);
  }

  async hit(hit: Hit): Promise<HitVerdict> {
    return await this.#admission.hit(hit);
  }

  async settleOrphan(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void> {
    await this.#admission.settleOrphan(row, upstream);
  }

  async staleAmong(items: readonly RevItem[]): Promise<readonly RevItem[]> {
    return await this.#admission.staleAmong(items);
  }

  async level(limits: BudgetLimits): Promise<BucketLevel | null> {
    return await this.#admission.level(limits);
  }

  /** Carries a session that is due; sees to the rows of one whose carrier was cut off. */
  #tend(nowMs: number): void {
    const { debtor, clock, keepAlive, log } = this.#options;
    const borrower = this.#borrower;
    const resend = async (settlement: Settlement) => await this.#resend(settlement);
    const forsaken = borrower.forsaken(nowMs);
    if (forsaken !== null) {
      borrower.over(forsaken, true, nowMs);
      keepAlive(sendRest(forsaken, { borrower, resend, clock }));
    }
    const book = borrower.due(nowMs);
    if (book === null) return;
    const open = async (recall: Debtor["recall"]) => await this.#admission.borrow(debtor(recall));
    const carrier = new LoanCarrier(book, { cell: this.cell, borrower, open, resend, clock, log });
    keepAlive(carrier.carry());
  }

  async #resend({ row, upstream }: Settlement): Promise<void> {
    await this.#admission.settleOrphan(row, upstream);
  }
}
