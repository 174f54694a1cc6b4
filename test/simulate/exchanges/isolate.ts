/**
 * An isolate in the simulation of exchanges: the real admission of a member with its holders, and requests that behave as the
 * pipeline does. A request has a slot, makes one upstream call and settles once.
 */
import { CellAdmission } from "../../../edge/adapters/objects/cell-admission.ts";
import { MemberAdmission } from "../../../edge/adapters/objects/member-admission.ts";
import type { AdmissionRequest, Decision, Grant, Stale } from "../../../edge/domain/admission/rpc.ts";
import type { LedgerApi } from "../../../edge/domain/ledger/rpc.ts";
import type { Permit } from "../../../edge/ports.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import { Copies, NEED_NANO_USD, NEED_TOKENS, type Records } from "./records.ts";
import { cellStub, type Session, type StubParts } from "./stubs.ts";
import { Context, here, type Timeline } from "./timeline.ts";
import type { Truth } from "./truth.ts";

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
  /** Called when a request has ended without a settlement. */
  readonly gaveUp: (requestId: string) => void;
}

interface Held {
  readonly request: AdmissionRequest;
  readonly permit: Permit;
  readonly grant: Grant;
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
  readonly #admission: MemberAdmission;

  constructor(name: string, member: string, parts: IsolateParts) {
    this.#parts = parts;
    this.context = new Context(name, parts.time);
    this.copies = new Copies(parts.records);
    const serves = (session: Session) => void this.sessions.add(session);
    const cell = cellStub({ ...parts, serves });
    const places = { cell: () => cell, ledger: parts.ledger };
    this.#admission = new MemberAdmission({
      member,
      direct: new CellAdmission({
        stubs: places,
        cell: "c",
        shards: 1,
        alerts: { raise: () => undefined },
        log: quiet,
      }),
      clock: () => this.context.clockMs,
      keepAlive: (work) => this.#trackSessionTask(here(), work),
      log: quiet,
    });
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
    let sinceMs: number | null = null;
    let stale = 0;
    for (let place = 1; place <= PLACES_MAX; place += 1) {
      const waitedMs: number | null = sinceMs === null ? null : here().clockMs - sinceMs;
      const request = { ...this.#admissionRequest(id, life), waitedMs };
      const admitted = await this.#admission.admit(request);
      if (admitted.verdict === "stale") {
        stale += 1;
        if (stale === 2) throw new Error("stale twice");
        this.copies.forget(admitted.items);
        continue;
      }
      stale = 0;
      const { permit } = admitted;
      if (admitted.verdict === "waiting") sinceMs ??= here().clockMs;
      const decision = admitted.verdict === "waiting" ? await this.#decision(permit, life) : admitted;
      if (decision === "left") {
        this.#parts.truth.left(id);
        await permit.settle({ row: this.#row(request, 499, 0), actualTokens: 0 });
        return null;
      }
      if (decision.verdict === "stale") {
        this.copies.forget(decision.items);
        continue;
      }
      if (decision.verdict === "granted") return { request, permit, grant: decision.grant };
      await permit.settle({ row: this.#row(request, 429, 0), actualTokens: 0 });
      return null;
    }
    throw new Error("no place");
  }

  async #decision(permit: Permit, { ends, lastsMs }: Life): Promise<Decision | Stale | "left"> {
    const decision = permit.decision();
    if (ends !== "leaves") return await decision;
    decision.catch(() => undefined);
    const left = new Promise<"left">((resolve) => {
      setTimeout(() => resolve("left"), lastsMs);
    });
    return await Promise.race([decision, left]);
  }

  async #run({ request, permit, grant }: Held, { lastsMs, ends }: Life): Promise<void> {
    const { truth } = this.#parts;
    const run = truth.running.get(request.requestId);
    if (run !== undefined) run.heard = true;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, lastsMs);
    });
    if (ends === "givesUp") {
      this.#parts.gaveUp(request.requestId);
      truth.end(request.requestId, NEED_TOKENS);
      permit.leave();
      return;
    }
    truth.end(request.requestId, NEED_TOKENS / 2);
    truth.served.add(request.requestId);
    const row = { ...this.#row(request, 200, NEED_TOKENS / 2), admission: grant.admission };
    await permit.settle({ row, actualTokens: NEED_TOKENS / 2 });
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
