/**
 * Admission of this isolate's requests at one Cell (docs/rules/admission.md#membership): the isolate is a member of the Cell,
 * and its messages go in exchanges through a session that one of its requests holds. Every live request signals once a second,
 * and makes sure that there is a holder.
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
import { SessionHolder } from "./session-holder.ts";

/** A request that waits for an answer looks this often whether there is a holder. */
const LOOK_EVERY_MS = 300;
/** A live request signals this often. */
const SIGN_EVERY_MS = 1_000;
/** A holder that is late at such a check is checked again after this long: the Cell waits for another one for only 2 s. */
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
  readonly #holders = new Set<SessionHolder>();
  #serving: SessionHolder | null = null;
  #opening: SessionHolder | null = null;
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
    this.#ensureHolder(requestId);
    const answer = await this.#looking(asked, requestId);
    return answer.verdict === "stale" ? answer : { ...answer, permit: this.#permit(requestId) };
  }

  async record(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void> {
    // A request that is refused while it is checked again may have a place that it does not know of.
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
    this.#ensureHolder(requestId);
    const verdict = await this.#looking(shown, requestId);
    if (verdict.verdict === "stale") return { newer: verdict.items, level: null, recorded: Promise.resolve() };
    return { newer: [], level: verdict.level, recorded: this.#saved(requestId) };
  }

  #permit(requestId: string): Permit {
    return {
      // Meanwhile the request's signs make sure that there is a holder.
      decision: async () => await this.#table.decision(requestId),
      settle: async (settlement) => await this.#settle(settlement),
      leave: () => {
        this.#table.depart(requestId);
        this.#ensureHolder(requestId);
      },
    };
  }

  async #settle(settlement: Settlement): Promise<void> {
    const { request_id: requestId } = settlement.row;
    this.#table.end(settlement);
    this.#ensureHolder(requestId);
    await this.#saved(requestId);
  }

  /** Gives signs for as long as the request is open; the timer ends with the request's own code. */
  #giveSigns(requestId: string): void {
    const sign = this.#table.signOf(requestId);
    const look = (): boolean => {
      if (!sign()) return false;
      this.#ensureHolder(requestId);
      return true;
    };
    const timer = setInterval(() => {
      if (!look()) clearInterval(timer);
      else if ([...this.#holders].some(({ isLate }) => isLate)) setTimeout(look, LOOK_AGAIN_MS);
    }, SIGN_EVERY_MS);
  }

  /** The answer, and a sign of the request at each look while it waits for it, if it has asked for a slot. */
  async #looking<T>(answer: Promise<T>, requestId: string): Promise<T> {
    for (;;) {
      const received = await withStallTolerantTimeout(answer, LOOK_EVERY_MS);
      if (received !== null) return received.value;
      this.#table.signOf(requestId)();
      this.#ensureHolder(requestId);
    }
  }

  /** Resolves when a row that was handed in is stored, or was sent another way. */
  async #saved(requestId: string): Promise<void> {
    await this.#looking(this.#table.saved(requestId), requestId);
  }

  /** Makes sure that there is a holder, if need be in the context of the calling request. */
  #ensureHolder(requestId: string): void {
    this.#dismissLost();
    const newest = this.#opening ?? this.#serving;
    if (newest === null || newest.wantsSuccessor) this.#start(requestId);
    if (this.#table.hasMessage) this.#serving?.wake();
  }

  /** Dismisses holders that were cut off with their requests. */
  #dismissLost(): void {
    for (const holder of this.#holders) {
      if (!holder.isCutOff) continue;
      holder.replace();
      this.#forget(holder);
      this.#table.sendAgain();
    }
  }

  #start(requestId: string): void {
    const { direct, clock, keepAlive, log, member, leaseMs } = this.#options;
    this.#table.takeOver();
    const holder: SessionHolder = new SessionHolder({
      table: this.#table,
      requestId: this.#table.has(requestId) ? requestId : null,
      cell: this.cell,
      clock,
      log,
      open: async (message) => await direct.openSession({ member, leaseMs, ...this.#table.living() }, message),
      yields: () => [...this.#holders].some((other) => other !== holder && other.isOpening),
      opened: () => this.#serve(holder),
      away: (error) => this.#away(holder, error),
      resend: (record) => this.#resend(record),
    });
    this.#opening = holder;
    this.#holders.add(holder);
    keepAlive(holder.run().then(() => this.#forget(holder)));
  }

  #serve(holder: SessionHolder): void {
    this.#awaySinceMs = null;
    if (this.#serving === holder || !this.#holders.has(holder)) return;
    if (this.#opening === holder) this.#opening = null;
    this.#serving?.replace();
    this.#serving = holder;
  }

  #forget(holder: SessionHolder): void {
    this.#holders.delete(holder);
    if (this.#opening === holder) this.#opening = null;
    if (this.#serving === holder) this.#serving = null;
    // Everything that it left unanswered is sent again.
    if (this.#table.hasMessage) this.#serving?.wake();
  }

  /** A holder could not open a session. Returns whether the Cell is unavailable. */
  #away(holder: SessionHolder, cause: unknown): boolean {
    if (this.#serving !== null && this.#serving !== holder) return false;
    const nowMs = this.#options.clock();
    const isReported = this.#awaySinceMs !== null && !this.#table.hasNewAsker;
    this.#awaySinceMs = Math.min(this.#awaySinceMs ?? nowMs, nowMs);
    const failure = this.#direct.unavailable(cause, isReported);
    this.#table.failed(failure);
    const patienceMs = Math.max(AWAY_MAX_MS, this.#options.leaseMs ?? 0);
    if (nowMs >= this.#awaySinceMs + patienceMs) this.#table.failedToDecide(failure);
    return true;
  }

  /** Hands a row to the Cell with a separate call, or to the Ledger; null when a holder does so. Never rejects. */
  #resend({ row, upstream }: RowRecord): Promise<void> | null {
    const { request_id: requestId } = row;
    if ([...this.#holders].some((holder) => holder.resends(requestId))) return null;
    return this.#direct.settleOrphan(row, upstream).then(() => this.#table.rowSaved(requestId));
  }
}
