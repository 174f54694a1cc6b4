/**
 * Admission of this isolate's requests at one Cell (docs/rules/admission.md#membership): the isolate is a member of the Cell,
 * and its messages go in exchanges that one of its requests carries. Every live request signals once a second, and makes sure
 * that some request carries.
 */
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { RowRecord } from "../../domain/admission/exchange-messages.ts";
import { MemberTable } from "../../domain/admission/member-table.ts";
import { chargedTokens } from "../../domain/admission/request-end.ts";
import type { AdmissionRequest, CacheHit, Settlement } from "../../domain/admission/rpc.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import type { Admission, AdmissionOutcome, CacheHitVerdict, CellView, Clock, Log, Permit } from "../../ports.ts";
import { withStallTolerantTimeout } from "../stall-tolerant-timeout.ts";
import type { CellAdmission } from "./cell-admission.ts";
import { SessionCarrier } from "./session-carrier.ts";

/** A request that waits for an answer looks this often whether somebody carries. */
const LOOK_EVERY_MS = 300;
/** A live request signals this often. */
const SIGN_EVERY_MS = 1_000;
/** A carrier that is late at such a check is checked again after this long: the Cell waits for another one for only 2 s. */
const LOOK_AGAIN_MS = 350;
/**
 * A request that waits for its turn learns that the Cell is unavailable after this long, or after its patience if that is
 * longer.
 */
const AWAY_MAX_MS = 5_000;

interface MemberOptions {
  /** The name of this isolate at the Cell. */
  readonly member: string;
  /** Calls to the Cell in the context of the request itself. */
  readonly direct: CellAdmission;
  readonly clock: Clock;
  /** Lets work outlive the request in whose context it runs. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: Log;
  /** How long this isolate keeps slots that it cannot renew, ms; undefined: a broken connection shows its end. */
  readonly leaseMs?: number | undefined;
}

export class MemberAdmission implements Admission {
  readonly cell: string;
  readonly view: CellView;
  readonly #options: MemberOptions;
  readonly #direct: CellAdmission;
  readonly #table = new MemberTable();
  readonly #carriers = new Set<SessionCarrier>();
  #serving: SessionCarrier | null = null;
  #opening: SessionCarrier | null = null;
  /** Since when no session can be opened, epoch ms; null: the Cell was in reach when it was called last. */
  #awaySinceMs: number | null = null;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#direct = options.direct;
    this.view = options.direct;
    this.cell = options.direct.cell;
  }

  async admit(request: AdmissionRequest): Promise<AdmissionOutcome> {
    const { requestId } = request;
    const isNew = !this.#table.has(requestId);
    const asked = this.#table.ask(request);
    if (isNew) this.#giveSigns(requestId);
    this.#carry(requestId);
    const answer = await this.#looking(asked, requestId);
    return answer.verdict === "stale" ? answer : { ...answer, permit: this.#permit(requestId) };
  }

  async record(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void> {
    // A request that is refused while it is judged again may have a place that it does not know of.
    if (this.#table.has(row.request_id)) return await this.settleOrphan(row, upstream);
    this.#dismissLost();
    if (this.#serving === null || this.#serving.wantsSuccessor) {
      this.#table.keep({ row, upstream });
      await this.#direct.record(row, upstream);
      this.#table.rowSaved(row.request_id);
      return;
    }
    this.#table.record({ row, upstream });
    this.#serving.wake();
    await this.#saved(row.request_id);
  }

  async settleOrphan(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void> {
    await this.#settle({ row, actualTokens: chargedTokens(row), upstream });
  }

  async confirmHit(hit: CacheHit): Promise<CacheHitVerdict> {
    const { request_id: requestId } = hit.row;
    const shown = this.#table.hit(hit);
    this.#carry(requestId);
    const verdict = await this.#looking(shown, requestId);
    if (verdict.verdict === "stale") return { newer: verdict.items, level: null, recorded: Promise.resolve() };
    return { newer: [], level: verdict.level, recorded: this.#saved(requestId) };
  }

  #permit(requestId: string): Permit {
    return {
      // Meanwhile the request's signs see to it that somebody carries.
      decision: async () => await this.#table.decision(requestId),
      settle: async (settlement) => await this.#settle(settlement),
      leave: () => {
        this.#table.depart(requestId);
        this.#carry(requestId);
      },
    };
  }

  async #settle(settlement: Settlement): Promise<void> {
    const { request_id: requestId } = settlement.row;
    this.#table.end(settlement);
    this.#carry(requestId);
    await this.#saved(requestId);
  }

  /** Gives signs for as long as the request is open; the timer ends with the request's own code. */
  #giveSigns(requestId: string): void {
    const sign = this.#table.signOf(requestId);
    const look = (): boolean => {
      if (!sign()) return false;
      this.#carry(requestId);
      return true;
    };
    const timer = setInterval(() => {
      if (!look()) clearInterval(timer);
      else if ([...this.#carriers].some(({ isLate }) => isLate)) setTimeout(look, LOOK_AGAIN_MS);
    }, SIGN_EVERY_MS);
  }

  /** The answer, and a sign of the request at each look while it waits for it, if it has asked for a slot. */
  async #looking<T>(answer: Promise<T>, requestId: string): Promise<T> {
    for (;;) {
      const received = await withStallTolerantTimeout(answer, LOOK_EVERY_MS);
      if (received !== null) return received.value;
      this.#table.signOf(requestId)();
      this.#carry(requestId);
    }
  }

  /** Resolves when a row that was handed in is stored, or was sent another way. */
  async #saved(requestId: string): Promise<void> {
    await this.#looking(this.#table.saved(requestId), requestId);
  }

  /** Sees to it that somebody carries, if need be in the context of the calling request. */
  #carry(requestId: string): void {
    this.#dismissLost();
    const newest = this.#opening ?? this.#serving;
    if (newest === null || newest.wantsSuccessor) this.#start(requestId);
    if (this.#table.hasMessage) this.#serving?.wake();
  }

  /** Dismisses carriers that were cut off with their requests. */
  #dismissLost(): void {
    for (const carrier of this.#carriers) {
      if (!carrier.isCutOff) continue;
      carrier.replace();
      this.#forget(carrier);
      this.#table.sendAgain();
    }
  }

  #start(requestId: string): void {
    const { direct, clock, keepAlive, log, member, leaseMs } = this.#options;
    this.#table.takeOver();
    const carrier: SessionCarrier = new SessionCarrier({
      table: this.#table,
      requestId: this.#table.has(requestId) ? requestId : null,
      cell: this.cell,
      clock,
      log,
      open: async (message) => await direct.openSession({ member, leaseMs, ...this.#table.living() }, message),
      yields: () => [...this.#carriers].some((other) => other !== carrier && other.isOpening),
      opened: () => this.#serve(carrier),
      away: (error) => this.#away(carrier, error),
      resend: (record) => this.#resend(record),
    });
    this.#opening = carrier;
    this.#carriers.add(carrier);
    keepAlive(carrier.run().then(() => this.#forget(carrier)));
  }

  #serve(carrier: SessionCarrier): void {
    this.#awaySinceMs = null;
    if (this.#serving === carrier || !this.#carriers.has(carrier)) return;
    if (this.#opening === carrier) this.#opening = null;
    this.#serving?.replace();
    this.#serving = carrier;
  }

  #forget(carrier: SessionCarrier): void {
    this.#carriers.delete(carrier);
    if (this.#opening === carrier) this.#opening = null;
    if (this.#serving === carrier) this.#serving = null;
    // Everything that it left unanswered is sent again.
    if (this.#table.hasMessage) this.#serving?.wake();
  }

  /** A carrier could not open a session. Returns whether the Cell is unavailable. */
  #away(carrier: SessionCarrier, cause: unknown): boolean {
    if (this.#serving !== null && this.#serving !== carrier) return false;
    const nowMs = this.#options.clock();
    const isReported = this.#awaySinceMs !== null && !this.#table.hasNewAsker;
    this.#awaySinceMs = Math.min(this.#awaySinceMs ?? nowMs, nowMs);
    const failure = this.#direct.unavailable(cause, isReported);
    this.#table.failed(failure);
    const patienceMs = Math.max(AWAY_MAX_MS, this.#options.leaseMs ?? 0);
    if (nowMs >= this.#awaySinceMs + patienceMs) this.#table.failedToDecide(failure);
    return true;
  }

  /** Hands a row to the Cell with a separate call, or to the Ledger; null when a carrier does so. Never rejects. */
  #resend({ row, upstream }: RowRecord): Promise<void> | null {
    const { request_id: requestId } = row;
    if ([...this.#carriers].some((carrier) => carrier.resends(requestId))) return null;
    return this.#direct.settleOrphan(row, upstream).then(() => this.#table.rowSaved(requestId));
  }
}
