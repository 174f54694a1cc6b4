/**
 * Admission by exchanges (docs/rules/admission.md#exchanges): all messages of this isolate's requests to the Cell go in
 * one session, which runs in the context of one of these requests. A request that finds no session, or whose session is
 * lost before it answers, calls the Cell by itself: the Cell recognises a request by its id. A request that waits for
 * long takes a permit of its own.
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
import type { Admission, AdmissionOutcome, CacheHitVerdict, Clock, Log, SlotLeases } from "../../ports.ts";
import { withStallTolerantTimeout } from "../stall-tolerant-timeout.ts";
import type { CellAdmission } from "./cell-admission.ts";
import { ExchangeTransport } from "./exchange-transport.ts";

/** A session that has not answered after this long is taken to be lost. */
const ANSWER_MAX_MS = 5_000;
/** A request that waits for an answer checks this often whether the transport is alive. */
const LOOK_EVERY_MS = 300;
/**
 * A request that still waits after this long takes a permit of its own: its place then comes back when only this
 * request's code ends.
 */
const OWN_PERMIT_AFTER_MS = 1_000;

interface ExchangeOptions {
  /** Calls to the Cell in the context of the request itself. */
  readonly direct: CellAdmission;
  readonly clock: Clock;
  /** Lets a session outlive the request in whose context it runs. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: Log;
}

export class ExchangeAdmission implements Admission {
  readonly cell: string;
  readonly holder: string | undefined;
  readonly leases: SlotLeases | undefined;
  readonly #options: ExchangeOptions;
  readonly #direct: CellAdmission;
  readonly #transports = new Set<ExchangeTransport>();
  #serving: ExchangeTransport | null = null;
  #opening: ExchangeTransport | null = null;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#direct = options.direct;
    this.cell = options.direct.cell;
    this.holder = options.direct.holder;
    this.leases = options.direct.leases;
  }

  async admit(request: AdmissionRequest, again?: boolean): Promise<AdmissionOutcome> {
    const transport = request.waitedMs === null ? this.#transport() : null;
    if (transport === null) return await this.#direct.admit(request, again);
    const { requestId } = request;
    const pending = transport.queue.request(request);
    transport.wake();
    const answered = await this.#awaitAnswer(transport, pending.answer);
    if (answered?.verdict === "stale") return answered;
    if (answered !== null) {
      const permit = new SessionPermit(requestId, pending, answered, transport, this.#direct);
      return { ...answered, permit, sessionLost: () => permit.sessionLost };
    }
    try {
      // The request is sent as one that has lost its place: the Cell may have settled it together with its session.
      return { ...(await this.#direct.admit({ ...request, waitedMs: 0 })), placeLost: true };
    } finally {
      transport.queue.leave(requestId);
    }
  }

  async adopt(request: AdmissionRequest, again?: boolean): Promise<PermitHandle> {
    this.#current();
    const permit = await this.#direct.adopt(request, again);
    for (const { queue } of this.#transports) queue.leave(request.requestId);
    return permit;
  }

  async record(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void> {
    const serving = this.#current();
    if (serving?.queue.record({ row, upstream }) !== true) return await this.#direct.record(row, upstream);
    serving.wake();
    await serving.delivered(row.request_id).catch(async () => await this.#direct.settleOrphan(row, upstream));
  }

  async confirmHit(hit: CacheHit, again = false): Promise<CacheHitVerdict> {
    const transport = again ? null : this.#transport();
    if (transport === null) return await this.#direct.confirmHit(hit, again);
    const answer = transport.queue.hit(hit);
    transport.wake();
    const verdict = await this.#awaitAnswer(transport, answer);
    if (verdict === null) return await this.#direct.confirmHit(hit, true);
    if (verdict.verdict === "stale") return { newer: verdict.items, level: null, recorded: Promise.resolve() };
    const { row } = hit;
    const recorded = transport.delivered(row.request_id).catch(async () => await this.#direct.settleOrphan(row));
    return { newer: [], level: verdict.level, recorded };
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

  async inFlightByModel(): Promise<ReadonlyMap<string, number>> {
    return await this.#direct.inFlightByModel();
  }

  /** An answer of the session; null: the session is lost, or its transport is cut off. */
  async #awaitAnswer<T>(transport: ExchangeTransport, answer: Promise<T | null>): Promise<T | null> {
    for (let waitedMs = 0; waitedMs < ANSWER_MAX_MS; waitedMs += LOOK_EVERY_MS) {
      const received = await withStallTolerantTimeout(answer, LOOK_EVERY_MS);
      if (received !== null) return received.value;
      if (transport.isCutOff) break;
    }
    return null;
  }

  /**
   * The session to use. Opens one, in the context of the calling request, when there is none. Null: a session is being
   * opened.
   */
  #transport(): ExchangeTransport | null {
    const serving = this.#current();
    if (this.#opening !== null || serving?.wantsSuccessor === false) return serving;
    const opened = this.#open();
    return serving ?? opened;
  }

  /** The session that serves; null: none. Sends the rows of sessions whose transport was cut off. */
  #current(): ExchangeTransport | null {
    for (const transport of this.#transports) {
      if (!transport.isCutOff) continue;
      this.#dismiss(transport);
      // This request may be cut off as well; then another request finds the rows.
      transport.heartbeat();
      this.#options.keepAlive(this.#sendRest(transport));
    }
    return this.#serving === null || this.#serving.isRetired ? null : this.#serving;
  }

  #open(): ExchangeTransport {
    const { direct, clock, keepAlive, log } = this.#options;
    const transport = new ExchangeTransport(new SessionQueue(), {
      cell: this.cell,
      open: async (message) => await direct.openSession(message),
      clock,
      log,
      opened: () => this.#serve(transport),
      resend: async (record) => await this.#resend(transport, record),
    });
    this.#opening = transport;
    this.#transports.add(transport);
    keepAlive(transport.run().then(() => this.#forget(transport)));
    return transport;
  }

  #serve(transport: ExchangeTransport): void {
    // A transport that was taken to be cut off in the meantime has a successor already.
    if (this.#opening !== transport) return;
    this.#opening = null;
    this.#serving?.retire();
    this.#serving = transport;
  }

  #forget(transport: ExchangeTransport): void {
    this.#transports.delete(transport);
    this.#dismiss(transport);
  }

  #dismiss(transport: ExchangeTransport): void {
    if (this.#opening === transport) this.#opening = null;
    if (this.#serving === transport) this.#serving = null;
  }

  async #sendRest(transport: ExchangeTransport): Promise<void> {
    await Promise.all(transport.queue.close().map(async (record) => await this.#resend(transport, record)));
    this.#forget(transport);
  }

  async #resend({ queue }: ExchangeTransport, { row, upstream }: RowRecord): Promise<void> {
    await this.#direct.settleOrphan(row, upstream);
    queue.rowSaved(row.request_id);
  }
}

/** The permit of a request that its Cell knows by the isolate's session, until the request has waited for long. */
class SessionPermit implements PermitHandle {
  readonly #requestId: string;
  readonly #pending: PendingAdmission;
  readonly #transport: ExchangeTransport;
  readonly #direct: CellAdmission;
  /** What the session answered to the admission request. */
  readonly #answer: Exclude<AdmissionAnswer, Stale>;
  #own: PermitHandle | null = null;
  #isOver = false;

  constructor(
    requestId: string,
    pending: PendingAdmission,
    answer: Exclude<AdmissionAnswer, Stale>,
    transport: ExchangeTransport,
    direct: CellAdmission,
  ) {
    this.#requestId = requestId;
    this.#pending = pending;
    this.#answer = answer;
    this.#transport = transport;
    this.#direct = direct;
  }

  /**
   * Resolves when the session that holds the request's slot or place is lost; null: the request has a permit of its
   * own.
   */
  get sessionLost(): Promise<void> | null {
    return this.#own === null ? this.#pending.lost : null;
  }

  async decision(): Promise<Decision | Stale> {
    if (this.#answer.verdict !== "waiting") return this.#answer;
    const received = await withStallTolerantTimeout(this.#pending.decision, OWN_PERMIT_AFTER_MS);
    if (this.#isOver) throw new Error("the permit has ended");
    return received?.value ?? (await (await this.#hold()).decision());
  }

  /** The Cell takes a grant that came in the session to be in use. */
  async inUse(): Promise<void> {
    await this.#own?.inUse();
  }

  /**
   * Rejects while a session holds the request: a request that runs long enough to call this has to take a permit of its
   * own.
   */
  async lost(): Promise<never> {
    if (this.#own === null) throw new Error("held by a session");
    return await this.#own.lost();
  }

  /** Resolves when the row is durable. Throws when it has to be sent another way. */
  async settle(settlement: Settlement): Promise<void> {
    if (this.#own !== null) return await this.#own.settle(settlement);
    const { queue, isLate } = this.#transport;
    if (isLate || !queue.end(settlement)) throw new Error("the session is over");
    this.#transport.wake();
    await this.#transport.delivered(settlement.row.request_id);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#own?.[Symbol.dispose]();
    this.#transport.queue.depart(this.#requestId);
    this.#transport.wake();
  }

  /** Takes a permit of its own. Throws when the place is lost, or when the request has ended meanwhile. */
  async #hold(): Promise<PermitHandle> {
    const own = await this.#direct.hold(this.#requestId).finally(() => this.#transport.queue.leave(this.#requestId));
    if (own === null) throw new Error("the place is lost");
    this.#own = own;
    if (!this.#isOver) return own;
    own[Symbol.dispose]();
    throw new Error("the permit has ended");
  }
}
