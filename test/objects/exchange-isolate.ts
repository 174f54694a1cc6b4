/**
 * One isolate of the Worker from the side of its Cell: it admits requests by exchanges, its session lives longer than the
 * call that opened it, and its requests are admitted, run and end as those of the pipeline.
 */
import { env, runInDurableObject } from "cloudflare:test";
import { CellAdmission } from "../../edge/adapters/objects/cell-admission.ts";
import { ExchangeAdmission } from "../../edge/adapters/objects/exchange-admission.ts";
import { ObjectStubs } from "../../edge/adapters/objects/object-stubs.ts";
import type { ExchangeSession } from "../../edge/domain/admission/exchange-messages.ts";
import type { AdmissionRequest, PermitHandle, Settlement } from "../../edge/domain/admission/rpc.ts";
import type { Bindings } from "../../edge/env.ts";
import type { CellObject } from "../../edge/objects/cell/cell.ts";
import type { AdmissionOutcome } from "../../edge/ports.ts";
import { waitFor } from "../harness/wait-for.ts";
import { admissionRequestFor, rowFor, settlementFor } from "./admission-messages.ts";
import { rowsOnDisk } from "./ledger-world.ts";

const bindings = env as unknown as Bindings;
const { CELL } = env as unknown as { readonly CELL: DurableObjectNamespace<CellObject> };
const MARKER = "00000000-0000-4000-8000-0000000000ff";

/** A request that holds a slot. */
interface Running {
  readonly request: AdmissionRequest;
  readonly permit: PermitHandle;
  /** Null: the request has a permit of its own, outside the session. */
  readonly sessionLost: Promise<void> | null;
}

/** Admission that lets a test break the session under way. */
class BreakableAdmission extends CellAdmission {
  readonly opened: ExchangeSession[] = [];
  readonly calls: string[] = [];

  override async openSession(
    ...given: Parameters<CellAdmission["openSession"]>
  ): ReturnType<CellAdmission["openSession"]> {
    const { session, answer } = await super.openSession(...given);
    this.opened.push(session);
    return { session, answer };
  }

  override async admit(request: AdmissionRequest): ReturnType<CellAdmission["admit"]> {
    this.calls.push("admit");
    return await super.admit(request);
  }

  override async hold(requestId: string): ReturnType<CellAdmission["hold"]> {
    this.calls.push("hold");
    return await super.hold(requestId);
  }
}

export class ObjectIsolate {
  readonly cell: string;
  readonly direct: BreakableAdmission;
  readonly admission: ExchangeAdmission;
  /** The sessions that were opened; each promise resolves when its session has ended. */
  readonly sessions: Promise<unknown>[] = [];
  /** The ids of all requests that got a slot or a place in the queue. */
  readonly admitted: string[] = [];

  constructor(cell: string) {
    this.cell = cell;
    const log = { event: () => undefined };
    this.direct = new BreakableAdmission(new ObjectStubs(bindings, []), cell, 1, { raise: () => undefined }, log);
    this.admission = new ExchangeAdmission({
      direct: this.direct,
      clock: Date.now,
      keepAlive: (work) => void this.sessions.push(work),
      log,
    });
  }

  get stub(): DurableObjectStub<CellObject> {
    return CELL.getByName(this.cell);
  }

  async admit(
    over: Partial<AdmissionRequest> = {},
  ): Promise<AdmissionOutcome & { readonly request: AdmissionRequest }> {
    const request = admissionRequestFor(crypto.randomUUID(), over);
    const answer = await this.admission.admit(request);
    if (answer.verdict !== "stale") this.admitted.push(request.requestId);
    return { ...answer, request };
  }

  /** Sends a request that gets a slot, at once or after it has waited. */
  async begin(over: Partial<AdmissionRequest> = {}): Promise<Running> {
    const answer = await this.admit(over);
    if (answer.verdict === "stale") throw new Error("stale");
    if (answer.verdict === "waiting") await answer.permit.decision();
    return { request: answer.request, permit: answer.permit, sessionLost: answer.sessionLost?.() ?? null };
  }

  /** The client of a waiting request leaves. */
  async leave({ request, permit }: Pick<Running, "request" | "permit">): Promise<void> {
    await this.end({ request, permit }, { row: rowFor(request.requestId, { status_code: 499 }), actualTokens: 0 });
  }

  /** Ends a request as the pipeline does. */
  async end(
    { request, permit }: Pick<Running, "request" | "permit">,
    settlement: Settlement = settlementFor(request.requestId),
  ): Promise<void> {
    try {
      await permit.settle(settlement);
    } catch {
      await this.admission.settleOrphan(settlement.row);
    } finally {
      permit[Symbol.dispose]();
    }
  }

  /** `count` requests whose slots are held by the session. */
  async young(count: number): Promise<Running[]> {
    // The first request opens the session; the others are admitted in it.
    const all = [await this.begin()];
    while (all.length < count) all.push(await this.begin());
    return all;
  }

  /** Ends the session at the Cell; the Cell gets no reason. */
  async breakSession(): Promise<void> {
    await this.direct.opened.at(-1)?.close();
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

  /** The rows on the Ledger's disk, once every session has ended and everything written before has arrived. */
  async rows(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    await Promise.all(this.sessions);
    await this.stub.record(rowFor(MARKER));
    return (await rowsOnDisk(this.cell)).filter((row) => row["request_id"] !== MARKER);
  }

  /**
   * The ids of the requests that have rows, once there are this many; an id appears once for each of its rows. The row of a lost
   * request comes late (docs/rules/admission.md#grace).
   */
  async rowIds(atLeast = 0): Promise<string[]> {
    const rows = await waitFor(
      async () => await this.rows(),
      ({ length }) => length >= atLeast,
    );
    return rows.map((row) => String(row["request_id"])).toSorted();
  }
}
