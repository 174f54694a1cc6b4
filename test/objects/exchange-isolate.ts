/**
 * One isolate of the Worker from the side of its Cell: its requests are admitted, run and end as those of the pipeline. A test can
 * break its sessions, and cut it off from its Cell.
 */
import { env, runInDurableObject } from "cloudflare:test";
import { CellAdmission } from "../../edge/adapters/objects/cell-admission.ts";
import { MemberAdmission } from "../../edge/adapters/objects/member-admission.ts";
import { ObjectStubs } from "../../edge/adapters/objects/object-stubs.ts";
import type { Bindings } from "../../edge/bindings.ts";
import type {
  ExchangeAnswer,
  ExchangeMessage,
  ExchangeSession,
  SessionOpening,
} from "../../edge/domain/admission/exchange-messages.ts";
import type { AdmissionRequest, Settlement } from "../../edge/domain/admission/rpc.ts";
import type { CellObject } from "../../edge/objects/cell/cell.ts";
import type { AdmissionOutcome, Permit, Ports } from "../../edge/ports.ts";
import { EMPTY_MESSAGE } from "../harness/edge/cell/admission-requests.ts";
import { waitFor } from "../harness/wait-for.ts";
import { admissionRequestFor, rowFor, settlementFor } from "./admission-messages.ts";
import { rowsOnDisk } from "./ledger-world.ts";

const bindings = env as unknown as Bindings;
const { CELL } = env as unknown as { readonly CELL: DurableObjectNamespace<CellObject> };
export const NO_MESSAGE: ExchangeMessage = { ...EMPTY_MESSAGE, n: 1 };
const MARKER = "00000000-0000-4000-8000-0000000000ff";

interface Running {
  readonly request: AdmissionRequest;
  readonly permit: Permit;
}

/**
 * Moments of the messages between an isolate and its Cell: the Cell has decided, and its answer to the first session that was
 * opened is on its way, or that to a later one; the ends of requests are about to be sent; the Cell has them.
 */
export type Moment = "answering" | "answeringAgain" | "beforeSettle" | "afterSettle";

/** A session whose calls are counted and that tells of its moments. */
class WatchedSession implements ExchangeSession {
  readonly #real: ExchangeSession;
  readonly #way: WatchedWay;

  constructor(real: ExchangeSession, way: WatchedWay) {
    this.#real = real;
    this.#way = way;
  }

  async exchange(message: ExchangeMessage): Promise<ExchangeAnswer> {
    this.#way.calls += 1;
    const ends = message.ends.length > 0;
    if (ends) this.#way.at("beforeSettle");
    const answer = await this.#real.exchange(message);
    if (ends) this.#way.at("afterSettle");
    return answer;
  }

  async news(): Promise<ExchangeAnswer> {
    this.#way.calls += 1;
    return await this.#real.news();
  }

  async close(): Promise<void> {
    this.#way.calls += 1;
    await this.#real.close();
  }

  [Symbol.dispose](): void {
    this.#real[Symbol.dispose]();
  }
}

/** The way to the Cell, which a test can break. */
class WatchedWay extends CellAdmission {
  readonly opened: ExchangeSession[] = [];
  /** Every call to the Cell so far: those that open sessions, and those in them. */
  calls = 0;
  isCut = false;
  /** Called at each moment; it may throw, and what is on its way is then lost. */
  at: (moment: Moment) => void = () => undefined;

  override async openSession(
    ...given: Parameters<CellAdmission["openSession"]>
  ): ReturnType<CellAdmission["openSession"]> {
    this.calls += 1;
    if (this.isCut) throw new Error("the Cell is out of reach");
    const { session, answer } = await super.openSession(...given);
    const watched = new WatchedSession(session, this);
    try {
      this.at(this.opened.length === 0 ? "answering" : "answeringAgain");
    } catch (error) {
      session[Symbol.dispose]();
      throw error;
    } finally {
      this.opened.push(watched);
    }
    return { session: watched, answer };
  }
}

const SILENT = { alerts: { raise: () => undefined }, log: { event: () => undefined } };

export class ObjectIsolate {
  readonly cell: string;
  readonly member = crypto.randomUUID();
  readonly direct: WatchedWay;
  readonly admission: MemberAdmission;
  /** The holders that have begun; each promise resolves when its holder has ended. */
  readonly holders: Promise<unknown>[] = [];
  /** The ids of all requests that got a slot or a place in the queue. */
  readonly admitted: string[] = [];
  /** From now on every call to the Cell fails, those without a session too. */
  unreachable = false;
  #openings = 0;

  constructor(cell: string, { alerts, log }: Pick<Ports, "alerts" | "log"> = SILENT) {
    this.cell = cell;
    const reachable = {
      getByName: (name: string) => {
        if (this.unreachable) throw new Error("the Cell is beyond reach");
        return bindings.CELL.getByName(name);
      },
    } as unknown as DurableObjectNamespace;
    const stubs = new ObjectStubs({ ...bindings, CELL: reachable }, []);
    this.direct = new WatchedWay({ stubs, cell, shards: 1, alerts, log });
    this.admission = new MemberAdmission({
      member: this.member,
      direct: this.direct,
      clock: Date.now,
      keepAlive: (work) => void this.holders.push(work),
      log,
    });
  }

  get stub(): DurableObjectStub<CellObject> {
    return CELL.getByName(this.cell);
  }

  async admit(
    over: Partial<AdmissionRequest> = {},
  ): Promise<AdmissionOutcome & { readonly request: AdmissionRequest }> {
    const request = admissionRequestFor(over.requestId ?? crypto.randomUUID(), over);
    const answer = await this.admission.admit(request);
    if (answer.verdict !== "stale") this.admitted.push(request.requestId);
    return { ...answer, request };
  }

  /** Sends a request that gets a slot, at once or after it has waited. */
  async begin(over: Partial<AdmissionRequest> = {}): Promise<Running> {
    const answer = await this.admit(over);
    if (answer.verdict === "stale") throw new Error("stale");
    const { request, permit } = answer;
    const { verdict } = answer.verdict === "waiting" ? await permit.decision() : answer;
    if (verdict !== "granted") throw new Error(verdict);
    return { request, permit };
  }

  async wait(over: Partial<AdmissionRequest> = {}): Promise<Running> {
    const answer = await this.admit(over);
    if (answer.verdict !== "waiting") throw new Error(`the request is ${answer.verdict}`);
    return answer;
  }

  /** `count` requests that hold slots, one after another. */
  async young(count: number): Promise<Running[]> {
    const all: Running[] = [];
    while (all.length < count) all.push(await this.begin());
    return all;
  }

  async leave({ request, permit }: Running): Promise<void> {
    await permit.settle({ row: rowFor(request.requestId, { status_code: 499 }), actualTokens: 0 });
  }

  async end({ request, permit }: Running, settlement: Settlement = settlementFor(request.requestId)): Promise<void> {
    await permit.settle(settlement);
  }

  async openAs(
    member: Pick<SessionOpening, "member"> & Partial<SessionOpening>,
    message: Partial<ExchangeMessage> = {},
  ): ReturnType<CellAdmission["openSession"]> {
    this.#openings += 1;
    const whole = { waiting: [], running: [], others: [], ...member };
    return await this.direct.openSession(whole, { ...NO_MESSAGE, n: this.#openings, ...message });
  }

  /** Ends the session at the Cell; the isolate gets no reason. */
  async breakSession(): Promise<void> {
    await this.direct.opened.at(-1)?.close();
  }

  /** Nothing of the isolate reaches the Cell any more, until it is `rejoin`ed. */
  async cutOff(): Promise<void> {
    this.direct.isCut = true;
    await this.breakSession();
  }

  rejoin(): void {
    this.direct.isCut = false;
  }

  /** Ends the Cell as a deploy does. */
  async reset(): Promise<void> {
    await runInDurableObject(this.stub, (_cell, state) => state.abort("reset by a test")).catch(() => undefined);
  }

  /** Resolves when the Cell counts `inFlight` slots held and `queued` requests waiting. */
  async load(inFlight: number, queued = 0): Promise<void> {
    await waitFor(
      async () => await this.stub.stats(),
      (seen) => seen.in_flight === inFlight && seen.queued === queued,
    );
  }

  /** Resolves when the Cell has taken so many more of its samples, one in two seconds. */
  async samples(more: number): Promise<void> {
    const sinceMs = (await this.stub.fairshareHistory(0)).at(-1)?.ts_ms ?? 0;
    await waitFor(
      async () => await this.stub.fairshareHistory(sinceMs + 1),
      ({ length }) => length >= more,
    );
  }

  /** The rows on the Ledger's disk, once every holder has ended and everything written before has arrived. */
  async rows(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    await Promise.all(this.holders);
    await this.stub.record(rowFor(MARKER));
    return (await rowsOnDisk(this.cell)).filter((row) => row["request_id"] !== MARKER);
  }

  /**
   * The ids of the requests that have rows, once there are this many; an id appears once for each of its rows. The row of a request
   * that was given up comes late (docs/rules/admission.md#membership).
   */
  async rowIds(atLeast = 0): Promise<string[]> {
    const rows = await waitFor(
      async () => await this.rows(),
      ({ length }) => length >= atLeast,
    );
    return rows.map((row) => String(row["request_id"])).toSorted();
  }
}
