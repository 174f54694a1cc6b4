/**
 * Admission from what the Cell has lent to this isolate, and over the Cell for whatever that does not serve (design §12).
 * Which slot a request gets is the borrower's decision; the request that finds a session due carries it, beside its answer
 * and beyond.
 */
import type { RevItem } from "../../shared/internal.ts";
import type { UsageRow } from "../../shared/usage-row.ts";
import type { Admitted, Ask, PermitHandle } from "../domain/ask.ts";
import type { BudgetLimits } from "../domain/budget/limits.ts";
import type { BucketLevel } from "../domain/budget/token-bucket.ts";
import { Borrower } from "../domain/loan/borrower.ts";
import type { Debtor } from "../domain/loan/messages.ts";
import type { UpstreamOutcomes } from "../domain/upstream-outcomes.ts";
import type { Admission, Clock, LentSlot, Log } from "../ports.ts";
import type { CellAdmission } from "./cell-admission.ts";
import { LoanCarrier } from "./loan-carrier.ts";
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
    this.#carryIfDue(nowMs);
    return { grant: borrowed.grant, permit: new LoanedPermit(ask.requestId, borrowed, clock) };
  }

  async admit(ask: Ask): Promise<Admitted<PermitHandle>> {
    const admitted = await this.#admission.admit(ask);
    if (admitted.verdict === "granted") {
      const nowMs = this.#options.clock();
      this.#borrower.asked(ask, nowMs);
      this.#carryIfDue(nowMs);
    }
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

  async settleOrphan(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void> {
    await this.#admission.settleOrphan(row, upstream);
  }

  async staleAmong(items: readonly RevItem[]): Promise<readonly RevItem[]> {
    return await this.#admission.staleAmong(items);
  }

  async level(limits: BudgetLimits): Promise<BucketLevel | null> {
    return await this.#admission.level(limits);
  }

  #carryIfDue(nowMs: number): void {
    const book = this.#borrower.due(nowMs);
    if (book === null) return;
    const { debtor, clock, keepAlive, log } = this.#options;
    const carrier = new LoanCarrier(book, {
      cell: this.cell,
      borrower: this.#borrower,
      open: async (recall) => await this.#admission.borrow(debtor(recall)),
      resend: async ({ row, upstream }) => await this.#admission.settleOrphan(row, upstream),
      clock,
      log,
    });
    keepAlive(carrier.carry());
  }
}
