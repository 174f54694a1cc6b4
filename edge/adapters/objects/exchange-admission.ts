/**
 * Admission by exchanges (docs/rules/admission.md#exchanges): what the requests of this isolate have to say to the Cell
 * goes in one session, which one of them carries. Whatever finds no session, or loses it before its answer, calls the
 * Cell by itself: the Cell knows a request by its id. A request that waits for long takes a permit of its own.
 */
import type { RevItem } from "../../../shared/internal.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import type { AdmissionAnswer, RowRecord } from "../../domain/admission/exchange-messages.ts";
import type {
  AdmissionRequest,
  CacheHit,
  Decision,
  PermitHandle,
  Settlement,
  Stale,
} from "../../domain/admission/rpc.ts";
import { type PendingAdmission, SessionQueue } from "../../domain/admission/session-queue.ts";
import type { BudgetLimits } from "../../domain/budget/limits.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import type { Admission, AdmissionOutcome, CacheHitVerdict, Clock, Log } from "../../ports.ts";
import { withStallTolerantTimeout } from "../stall-tolerant-timeout.ts";
import type { CellAdmission } from "./cell-admission.ts";
import { ExchangeTransport } from "./exchange-transport.ts";

/** An answer takes no longer, or its session is taken to be lost. */
const ANSWER_MAX_MS = 5_000;
/** Whoever waits looks this often whether the carrier is alive. */
const LOOK_EVERY_MS = 1_000;
/** A request that waits takes a permit of its own by then, so that its place comes back when its code dies alone. */
const OWN_PERMIT_AFTER_MS = 1_000;

interface ExchangeOptions {
  /** Calls to the Cell in the context of the request itself. */
  readonly direct: CellAdmission;
  readonly clock: Clock;
  /** Lets a session outlive the request that carries it. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: Log;
}

export class ExchangeAdmission implements Admission {
  readonly cell: string;
  readonly #options: ExchangeOptions;
  readonly #direct: CellAdmission;
  readonly #carriers = new Set<ExchangeTransport>();
  #serving: ExchangeTransport | null = null;
  #opening: ExchangeTransport | null = null;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#direct = options.direct;
    this.cell = options.direct.cell;
  }

  async admit(ask: AdmissionRequest): Promise<AdmissionOutcome> {
    const carrier = ask.waitedMs === null ? this.#carrier() : null;
    if (carrier === null) return await this.#direct.admit(ask);
    const { requestId } = ask;
    const asked = carrier.queue.request(ask);
    carrier.wake();
    const answered = await this.#heard(carrier, asked.answer);
    if (answered?.verdict === "stale") return answered;
    if (answered !== null) {
      const permit = new SessionPermit(requestId, asked, answered, carrier, this.#direct);
      return { ...answered, permit, sessionLost: () => permit.sessionLost };
    }
    try {
      // It asks as one that has lost its place: the Cell may have settled it with its session.
      return { ...(await this.#direct.admit({ ...ask, waitedMs: 0 })), placeLost: true };
    } finally {
      carrier.queue.leave(requestId);
    }
  }

  async adopt(ask: AdmissionRequest): Promise<PermitHandle> {
    this.#current();
    const permit = await this.#direct.adopt(ask);
    for (const { queue } of this.#carriers) queue.leave(ask.requestId);
    return permit;
  }

  async record(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void> {
    const serving = this.#current();
    if (serving?.queue.record({ row, upstream }) === true) serving.wake();
    else await this.#direct.record(row, upstream);
  }

  async confirmHit(hit: CacheHit): Promise<CacheHitVerdict> {
    const carrier = this.#carrier();
    if (carrier === null) return await this.#direct.confirmHit(hit);
    const answer = carrier.queue.hit(hit);
    carrier.wake();
    const verdict = await this.#heard(carrier, answer);
    if (verdict === null) return await this.#direct.confirmHit(hit, true);
    const recorded = Promise.resolve();
    return verdict.verdict === "stale"
      ? { newer: verdict.items, level: null, recorded }
      : { newer: [], level: verdict.level, recorded };
  }

  async settleOrphan(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void> {
    this.#current();
    await this.#direct.settleOrphan(row, upstream);
  }

  async staleAmong(items: readonly RevItem[]): Promise<readonly RevItem[]> {
    return await this.#direct.staleAmong(items);
  }

  async level(limits: BudgetLimits): Promise<BucketLevel | null> {
    return await this.#direct.level(limits);
  }

  /** An answer of the session; null: it is lost, or its carrier is. */
  async #heard<T>(carrier: ExchangeTransport, answer: Promise<T | null>): Promise<T | null> {
    for (let waitedMs = 0; waitedMs < ANSWER_MAX_MS; waitedMs += LOOK_EVERY_MS) {
      const heard = await withStallTolerantTimeout(answer, LOOK_EVERY_MS);
      if (heard !== null) return heard.value;
      if (carrier.isCutOff) break;
    }
    return null;
  }

  /** The session to ask in; opened, carried by the calling request, when there is none. Null: it is being opened. */
  #carrier(): ExchangeTransport | null {
    const serving = this.#current();
    if (this.#opening !== null || serving?.wantsSuccessor === false) return serving;
    const opened = this.#open();
    return serving ?? opened;
  }

  /** The session that serves; null: none. Sees to the rows of those whose carrier was cut off. */
  #current(): ExchangeTransport | null {
    for (const carrier of this.#carriers) {
      if (!carrier.isCutOff) continue;
      this.#dismiss(carrier);
      // This request may be cut off as well: then another one finds the rows.
      carrier.heartbeat();
      this.#options.keepAlive(this.#sendRest(carrier));
    }
    return this.#serving === null || this.#serving.isRetired ? null : this.#serving;
  }

  #open(): ExchangeTransport {
    const { direct, clock, keepAlive, log } = this.#options;
    const carrier = new ExchangeTransport(new SessionQueue(), {
      cell: this.cell,
      open: async (message) => await direct.openSession(message),
      clock,
      log,
      opened: () => this.#serve(carrier),
      resend: async (record) => await this.#resend(carrier, record),
    });
    this.#opening = carrier;
    this.#carriers.add(carrier);
    keepAlive(carrier.run().then(() => this.#forget(carrier)));
    return carrier;
  }

  #serve(carrier: ExchangeTransport): void {
    // One that was taken for cut off meanwhile has been succeeded.
    if (this.#opening !== carrier) return;
    this.#opening = null;
    this.#serving?.retire();
    this.#serving = carrier;
  }

  #forget(carrier: ExchangeTransport): void {
    this.#carriers.delete(carrier);
    this.#dismiss(carrier);
  }

  #dismiss(carrier: ExchangeTransport): void {
    if (this.#opening === carrier) this.#opening = null;
    if (this.#serving === carrier) this.#serving = null;
  }

  async #sendRest(carrier: ExchangeTransport): Promise<void> {
    await Promise.all(carrier.queue.close().map(async (record) => await this.#resend(carrier, record)));
    this.#forget(carrier);
  }

  async #resend({ queue }: ExchangeTransport, { row, upstream }: RowRecord): Promise<void> {
    await this.#direct.settleOrphan(row, upstream);
    queue.rowSaved(row.request_id);
  }
}

/** What a request has that its Cell knows by the isolate's session, until it has waited for long. */
class SessionPermit implements PermitHandle {
  readonly #requestId: string;
  readonly #asked: PendingAdmission;
  readonly #carrier: ExchangeTransport;
  readonly #direct: CellAdmission;
  /** What the answer to the ask said. */
  readonly #answer: Exclude<AdmissionAnswer, Stale>;
  #own: PermitHandle | null = null;
  #isOver = false;

  constructor(
    requestId: string,
    asked: PendingAdmission,
    answer: Exclude<AdmissionAnswer, Stale>,
    carrier: ExchangeTransport,
    direct: CellAdmission,
  ) {
    this.#requestId = requestId;
    this.#asked = asked;
    this.#answer = answer;
    this.#carrier = carrier;
    this.#direct = direct;
  }

  /** Resolves when the session is lost by which the request holds what it has; null: it has a permit of its own. */
  get sessionLost(): Promise<void> | null {
    return this.#own === null ? this.#asked.lost : null;
  }

  async decision(): Promise<Decision | Stale> {
    if (this.#answer.verdict !== "waiting") return this.#answer;
    const heard = await withStallTolerantTimeout(this.#asked.decision, OWN_PERMIT_AFTER_MS);
    if (this.#isOver) throw new Error("the permit has ended");
    return heard?.value ?? (await (await this.#hold()).decision());
  }

  /** A grant that the session said is taken to be in use. */
  async inUse(): Promise<void> {
    await this.#own?.inUse();
  }

  /** A request that runs long enough to ask is to have a permit of its own. */
  async lost(): Promise<never> {
    if (this.#own === null) throw new Error("held by a session");
    return await this.#own.lost();
  }

  /** The session has the row when this resolves, and sees to it. Throws when the row has to go another way. */
  async settle(settlement: Settlement): Promise<void> {
    if (this.#own !== null) return await this.#own.settle(settlement);
    const { queue, isCutOff } = this.#carrier;
    if (isCutOff || !queue.end(settlement)) throw new Error("the session is over");
    this.#carrier.wake();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#own?.[Symbol.dispose]();
    this.#carrier.queue.depart(this.#requestId);
    this.#carrier.wake();
  }

  /** Takes a permit of its own. Throws when the place is lost, or nobody waits any more. */
  async #hold(): Promise<PermitHandle> {
    const own = await this.#direct.hold(this.#requestId).finally(() => this.#carrier.queue.leave(this.#requestId));
    if (own === null) throw new Error("the place is lost");
    this.#own = own;
    if (!this.#isOver) return own;
    own[Symbol.dispose]();
    throw new Error("the permit has ended");
  }
}
