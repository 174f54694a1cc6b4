/**
 * One isolate of the Worker as its Cell sees it: admission that borrows, sessions that outlive the calls that began them,
 * and requests that ask, run and end as the pipeline's do.
 */
import { env, runInDurableObject } from "cloudflare:test";
import { CellAdmission } from "../../edge/adapters/cell-admission.ts";
import { LendingAdmission } from "../../edge/adapters/lending-admission.ts";
import { LoanDebtor } from "../../edge/adapters/loan-debtor.ts";
import { ObjectPlaces } from "../../edge/adapters/object-places.ts";
import type { Ask, PermitHandle } from "../../edge/domain/ask.ts";
import { WARM_REQUESTS } from "../../edge/domain/loan/demand.ts";
import type { Bindings } from "../../edge/env.ts";
import type { Cell } from "../../edge/objects/cell.ts";
import type { Ledger } from "../../edge/objects/ledger.ts";
import { waitFor } from "../harness/wait-for.ts";
import { askFor, rowFor, settlementFor } from "./asks.ts";

interface Namespaces {
  readonly CELL: DurableObjectNamespace<Cell>;
  readonly LEDGER: DurableObjectNamespace<Ledger>;
}
const bindings = env as unknown as Bindings;
const { CELL, LEDGER } = env as unknown as Namespaces;
const MARKER = "00000000-0000-4000-8000-0000000000ff";

/** A request that holds a slot. */
export interface Running {
  readonly ask: Ask;
  readonly permit: PermitHandle;
  readonly lent: boolean;
}

export class Isolate {
  readonly cell: string;
  readonly admission: LendingAdmission;
  /** Sessions that were begun; each resolves when it is over. */
  readonly sessions: Promise<unknown>[] = [];
  /** Every request that was admitted. */
  readonly admitted: string[] = [];
  /** Names of the events that were logged. */
  readonly events: string[] = [];
  /** By how much its clock is ahead. */
  aheadMs = 0;

  constructor(cell: string) {
    this.cell = cell;
    const log = { event: (name: string) => void this.events.push(name) };
    this.admission = new LendingAdmission({
      admission: new CellAdmission(new ObjectPlaces(bindings, []), cell, 1, { raise: () => undefined }, log),
      debtor: (recall) => new LoanDebtor(recall),
      clock: () => Date.now() + this.aheadMs,
      keepAlive: (work) => void this.sessions.push(work),
      log,
    });
  }

  get stub(): DurableObjectStub<Cell> {
    return CELL.getByName(this.cell);
  }

  /** Takes a lent slot; null: there is none. */
  take(over: Partial<Ask> = {}): Running | null {
    const ask = askFor(crypto.randomUUID(), over);
    const slot = this.admission.take(ask);
    if (slot === null) return null;
    this.admitted.push(ask.requestId);
    return { ask, permit: slot.permit, lent: true };
  }

  /** Takes a slot as the pipeline does: a lent one, else one of the Cell's. */
  async begin(over: Partial<Ask> = {}): Promise<Running> {
    const lent = this.take(over);
    if (lent !== null) return lent;
    const ask = askFor(crypto.randomUUID(), over);
    const answer = await this.admission.admit(ask);
    if (answer.verdict === "stale") throw new Error("stale");
    this.admitted.push(ask.requestId);
    if (answer.verdict === "waiting") await answer.permit.decision();
    return { ask, permit: answer.permit, lent: false };
  }

  /** Ends a request as the pipeline does. */
  async end({ ask, permit }: Running): Promise<void> {
    const settlement = settlementFor(ask.requestId);
    try {
      await permit.settle(settlement);
    } catch {
      await this.admission.settleOrphan(settlement.row);
    } finally {
      permit[Symbol.dispose]();
    }
  }

  /** Sends requests, some at once, until `count` of them take lent slots at once, and ends them. */
  async warm(count = 1, over: Partial<Ask> = {}): Promise<void> {
    await waitFor(
      async () => {
        const batch = Array.from({ length: Math.max(count, WARM_REQUESTS) }, async () => await this.begin(over));
        const running = await Promise.all(batch);
        for (const one of running) await this.end(one);
        return running.filter(({ lent }) => lent).length;
      },
      (lent) => lent >= count,
    );
  }

  /** Ends the Cell as a deploy does. */
  async reset(): Promise<void> {
    await runInDurableObject(this.stub, (_cell, state) => state.abort("reset by a test")).catch(() => undefined);
  }

  /** Resolves when so many requests hold slots, as the Cell counts. */
  async inFlight(count: number): Promise<void> {
    await waitFor(
      async () => (await this.stub.stats()).in_flight,
      (seen) => seen === count,
    );
  }

  /** The ids of the requests that have rows, once every session is over. */
  async rows(): Promise<readonly string[]> {
    await Promise.all(this.sessions);
    await this.stub.record(rowFor(MARKER));
    const commits = await runInDurableObject(LEDGER.getByName(`${this.cell}:0`), (_ledger, state) =>
      state.storage.sql.exec<{ lines: string }>("SELECT lines FROM commits ORDER BY id").toArray(),
    );
    return commits
      .flatMap((entry) =>
        entry.lines.split("\n").map((line) => (JSON.parse(line) as { request_id: string }).request_id),
      )
      .filter((requestId) => requestId !== MARKER);
  }
}
