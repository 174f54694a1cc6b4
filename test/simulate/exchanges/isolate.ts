/**
 * An isolate in the simulation of exchanges: the real admission by exchanges with its transports, and requests that behave
 * as the pipeline does. A request has a slot, makes one upstream call and settles once; after 200 ms it watches its permit,
 * or after a second it takes a permit of its own; it adopts a new one when its permit or its session is lost.
 */
import { CellAdmission } from "../../../edge/adapters/objects/cell-admission.ts";
import { ExchangeAdmission } from "../../../edge/adapters/objects/exchange-admission.ts";
import type {
  AdmissionRequest,
  Decision,
  Grant,
  LedgerApi,
  PermitHandle,
  Settlement,
  Stale,
} from "../../../edge/domain/admission/rpc.ts";
import type { Admission } from "../../../edge/ports.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import { Copies, NEED_NANO_USD, NEED_TOKENS, type Records } from "./records.ts";
import { cellStub, type Session, type StubParts } from "./stubs.ts";
import { Context, here, type Timeline } from "./timeline.ts";
import type { Truth } from "./truth.ts";

const WATCH_AFTER_MS = 200;
const OWN_PERMIT_AFTER_MS = 1_000;
const ADOPT_ATTEMPTS = 5;
const ADOPT_EVERY_MS = 200;
const PLACES_MAX = 10;

export interface Life {
  readonly tenantAt: number;
  readonly modelAt: number;
  /** How long its upstream call lasts. */
  readonly lastsMs: number;
  /**
   * How it ends: with a settlement (`settles`), without one because its code stops (`givesUp`), or because its client
   * leaves after `lastsMs` of waiting (`leaves`).
   */
  readonly ends: "settles" | "givesUp" | "leaves";
}

interface IsolateParts extends Omit<StubParts, "serves"> {
  readonly records: Records;
  readonly ledger: () => LedgerApi;
  readonly truth: Truth;
  readonly time: Timeline;
  readonly exchanges: boolean;
  /** Called when a request has ended without a settlement. */
  readonly gaveUp: (requestId: string) => void;
}

interface Held {
  readonly request: AdmissionRequest;
  readonly permit: PermitHandle;
  readonly grant: Grant;
  /** Whether it waited; then its Cell does not know yet that the grant is used. */
  readonly waited: boolean;
  readonly sessionLost: Promise<void> | null;
}

const quiet = { event: () => undefined };

export class Isolate {
  readonly context: Context;
  readonly copies: Copies;
  readonly sessions = new Set<Session>();
  /** Contexts of requests that run the exchanges of a session or write its rows, each with the number of such tasks. */
  readonly sessionContexts = new Map<Context, number>();
  /** Contexts of the requests under way, by request id. */
  readonly requests = new Map<string, Context>();
  readonly #parts: IsolateParts;
  readonly #admission: Admission;

  constructor(name: string, parts: IsolateParts) {
    this.#parts = parts;
    this.context = new Context(name, parts.time);
    this.copies = new Copies(parts.records);
    const serves = (session: Session) => void this.sessions.add(session);
    const cell = cellStub({ ...parts, serves });
    const places = { cell: () => cell, ledger: parts.ledger };
    const admission = new CellAdmission(places, "c", 1, { raise: () => undefined } as never, quiet);
    this.#admission = parts.exchanges
      ? new ExchangeAdmission({
          direct: admission,
          clock: () => this.context.clockMs,
          keepAlive: (work) => this.#trackSessionTask(here(), work),
          log: quiet,
        })
      : admission;
  }

  /** A request with this id arrives. */
  request(id: string, life: Life): void {
    const context = new Context(id, this.#parts.time, this.context);
    this.requests.set(id, context);
    context.enter(() => void this.#live(id, life, context));
  }

  async #live(id: string, life: Life, context: Context): Promise<void> {
    try {
      const held = await this.#seek(id, life);
      if (held !== null) await this.#run(held, life);
    } catch {
      // The pipeline does the same when it does not know whether the Cell holds a place for the request.
      await this.#admission.settleOrphan(this.#row(this.#admissionRequest(id, life), 503, 0));
    } finally {
      this.requests.delete(id);
      this.#leave(context);
    }
  }

  async #seek(id: string, life: Life): Promise<Held | null> {
    let kept: PermitHandle | null = null;
    let sinceMs: number | null = null;
    for (let place = 1; place <= PLACES_MAX; place += 1) {
      const ofNow = (): AdmissionRequest => ({
        ...this.#admissionRequest(id, life),
        waitedMs: sinceMs === null ? null : here().clockMs - sinceMs,
      });
      let request = ofNow();
      let admitted = await this.#admission.admit(request);
      if (admitted.verdict === "stale") {
        if (admitted.placeLost === true) sinceMs ??= here().clockMs;
        this.copies.forget(admitted.items);
        request = ofNow();
        admitted = await this.#admission.admit(request);
      }
      if (admitted.verdict === "stale") throw new Error("stale twice");
      kept?.[Symbol.dispose]();
      kept = null;
      const { permit } = admitted;
      const waited = admitted.verdict === "waiting";
      if (waited) sinceMs ??= here().clockMs;
      const decision = admitted.verdict === "waiting" ? await this.#decision(permit, life) : admitted;
      if (decision === "left") {
        this.#parts.truth.left(id);
        await this.#settle(permit, { row: this.#row(request, 499, 0), actualTokens: 0 });
        return null;
      }
      if (decision === null || decision.verdict === "stale") {
        if (decision !== null) this.copies.forget(decision.items);
        kept = permit;
        continue;
      }
      if (decision.verdict === "granted") {
        const sessionLost = admitted.sessionLost?.() ?? null;
        return { request, permit, grant: decision.grant, waited, sessionLost };
      }
      await this.#settle(permit, { row: this.#row(request, 429, 0), actualTokens: 0 });
      return null;
    }
    throw new Error("no place");
  }

  /** Null: the Cell, or the connection to it, is gone. */
  async #decision(permit: PermitHandle, { ends, lastsMs }: Life): Promise<Decision | Stale | "left" | null> {
    const decision = permit.decision().catch(() => null);
    if (ends !== "leaves") return await decision;
    const left = new Promise<"left">((resolve) => {
      setTimeout(() => resolve("left"), lastsMs);
    });
    return await Promise.race([decision, left]);
  }

  async #run({ request, permit: first, grant, waited, sessionLost }: Held, { lastsMs, ends }: Life): Promise<void> {
    const { truth } = this.#parts;
    const run = truth.running.get(request.requestId);
    if (run !== undefined) run.heard = true;
    let permit = first;
    if (waited) permit.inUse().catch(() => undefined);
    let adoption: Promise<void> = Promise.resolve();
    let ended = false;
    const context = here();
    let watching = false;
    const watch = async (): Promise<void> => {
      if (watching || !context.alive) return;
      watching = true;
      while (!ended) {
        try {
          await permit.lost();
        } catch {
          if (ended) return;
          adoption = this.#adopt(request, () => ended).then((adopted) => {
            permit = adopted;
          });
          try {
            await adoption;
          } catch {
            return;
          }
        }
      }
    };
    void sessionLost?.then(watch);
    const timer = setTimeout(() => void watch(), sessionLost === null ? WATCH_AFTER_MS : OWN_PERMIT_AFTER_MS);
    await new Promise<void>((resolve) => {
      setTimeout(resolve, lastsMs);
    });
    ended = true;
    clearTimeout(timer);
    if (ends === "givesUp") {
      this.#parts.gaveUp(request.requestId);
      truth.end(request.requestId, NEED_TOKENS);
      await adoption.catch(() => undefined);
      return permit[Symbol.dispose]();
    }
    truth.end(request.requestId, NEED_TOKENS / 2);
    truth.served.add(request.requestId);
    const row = { ...this.#row(request, 200, NEED_TOKENS / 2), admission: grant.admission };
    await adoption.catch(() => undefined);
    await this.#settle(permit, { row, actualTokens: NEED_TOKENS / 2 });
  }

  async #adopt(request: AdmissionRequest, ended: () => boolean): Promise<PermitHandle> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#admission.adopt(request);
      } catch (error) {
        if (ended() || attempt === ADOPT_ATTEMPTS) throw error;
      }
      await new Promise<void>((resolve) => {
        setTimeout(resolve, ADOPT_EVERY_MS);
      });
    }
  }

  async #settle(permit: PermitHandle, settlement: Settlement): Promise<void> {
    try {
      await permit.settle(settlement);
    } catch {
      await this.#admission.settleOrphan(settlement.row);
    } finally {
      permit[Symbol.dispose]();
    }
  }

  #trackSessionTask(context: Context, work: Promise<unknown>): void {
    this.sessionContexts.set(context, (this.sessionContexts.get(context) ?? 0) + 1);
    void work.finally(() => {
      const left = (this.sessionContexts.get(context) ?? 1) - 1;
      if (left > 0) this.sessionContexts.set(context, left);
      else this.sessionContexts.delete(context);
      this.#leave(context);
    });
  }

  /** Ends a context when its request has ended and it has no task of a session left. */
  #leave(context: Context): void {
    if (!this.sessionContexts.has(context) && !this.requests.has(context.name)) context.die();
  }

  #admissionRequest(id: string, { tenantAt, modelAt }: Life): AdmissionRequest {
    return this.copies.admissionRequest(id, tenantAt, modelAt, this.context.clockMs);
  }

  #row(request: AdmissionRequest, status: number, tokens: number): UsageRow {
    const cost = tokens === 0 ? 0 : NEED_NANO_USD / 2e9;
    return { ...request.row, status_code: status, total_tokens: tokens, output_tokens: tokens, cost_usd: cost };
  }
}
