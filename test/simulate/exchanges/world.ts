/**
 * A small world for the simulation of exchanges: isolates, a Cell with its budgets and its ledger, changing records, and
 * weather (faults and delays) on the wire. A scenario is played in it; then all faults end, all requests finish, and rows
 * and charges must agree.
 */

import { isLive } from "../../../edge/domain/admission/admission-entry.ts";
import type { BudgetLimits } from "../../../edge/domain/budget/limits.ts";
import type { LedgerApi, LedgerBatch } from "../../../edge/domain/ledger/rpc.ts";
import type { BudgetObjectApi } from "../../../edge/objects/object-ports.ts";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import { GivenUpRowsInMemory } from "../../harness/edge/cell/given-up-rows-in-memory.ts";
import { TestBudgets } from "../../harness/edge/cell/test-budgets.ts";
import { type Random, seededRandom } from "../random.ts";
import { CellLife, type Disk } from "./cell.ts";
import { Isolate, type Life } from "./isolate.ts";
import { Copies, type Kind, NEED_TOKENS, Records, type Tenant } from "./records.ts";
import { Context, here, Timeline } from "./timeline.ts";
import { Truth } from "./truth.ts";
import { Link, Wire } from "./wire.ts";

export interface Setup {
  readonly algorithm: FairshareAlgorithm;
  readonly capacity: number;
  readonly tenants: readonly Tenant[];
  readonly modelCaps: readonly (number | null)[];
  readonly isolates: number;
  readonly seed: number;
}

/** The shortest life of a Cell. */
const LIFE_MS = 10;

export class World {
  readonly time = new Timeline();
  readonly truth: Truth;
  readonly random: Random;
  readonly wire: Wire;
  readonly budgets: TestBudgets;
  readonly records: Records;
  readonly isolates: Isolate[];
  readonly disk: Disk;
  /** Rows in the ledger, by request. */
  readonly rows = new Map<string, UsageRow[]>();
  /** Requests whose isolate or own code died with information that nothing else had, and how it died. */
  readonly died = new Map<string, string>();
  /** Every request, and the isolate at which it arrived. */
  readonly asked = new Map<string, Isolate>();
  readonly #gaveUp = new Set<string>();
  readonly #cutOff = new Set<string>();
  life: CellLife;
  resets = 0;
  #bornMs = 0;
  #made = 0;
  readonly #setup: Setup;
  readonly #ledgerContext: Context;
  readonly #budgetContext: Context;
  readonly #applied = new Set<string>();
  /** Requests whose rows the ledger took as orphans. */
  readonly #orphans = new Set<string>();
  /** Messages of the control service arrive in order. */
  readonly #controlLink = new Link();

  constructor(setup: Setup) {
    const { seed, capacity, tenants, modelCaps, isolates } = setup;
    this.#setup = setup;
    this.random = seededRandom(seed);
    this.truth = new Truth(() => this.time.nowMs);
    this.wire = new Wire(this.time, this.random);
    this.budgets = new TestBudgets(() => this.time.nowMs);
    this.records = new Records(tenants, modelCaps);
    this.disk = { capacity, busyMembers: new Set(), life: 0, revisions: [], givenUpRows: new GivenUpRowsInMemory() };
    this.#ledgerContext = new Context("ledger", this.time);
    this.#budgetContext = new Context("budgets", this.time);
    this.truth.cap("cell:", capacity);
    for (const [at, tenant] of tenants.entries()) this.truth.tenant(`t${at}`, tenant);
    for (const [at, cap] of modelCaps.entries()) this.truth.cap(`model:m${at}`, cap);
    this.life = this.#newLife();
    this.isolates = Array.from({ length: isolates }, (_, at) => this.#isolate(at));
  }

  request(isolateAt: number, life: Life): string {
    const id = `r${this.asked.size + 1}`;
    const isolate = this.isolate(isolateAt);
    this.asked.set(id, isolate);
    isolate.request(id, life);
    return id;
  }

  isolate(at: number): Isolate {
    const isolate = this.isolates[at % this.isolates.length];
    if (isolate === undefined) throw new Error("a world without isolates");
    return isolate;
  }

  /** Changes a record and sends the change to the Cell until the Cell has acknowledged it. */
  change(kind: Kind, id: string, maxInFlight: number | null): void {
    const change = this.records.change(kind, id, maxInFlight);
    const capped = change.tenant !== undefined || change.model !== undefined;
    const inForce = capped ? this.truth.cap(`${kind}:${id}`, maxInFlight) : () => undefined;
    const link = this.#controlLink;
    const deliver = (): void => {
      const { life } = this;
      this.wire
        .call(this.#ledgerContext, life.context, async () => await life.invalidate([change]), { link })
        .then(
          () => {
            inForce();
            this.truth.acknowledged(change);
          },
          () => this.time.later(100, deliver),
        );
    };
    deliver();
  }

  capacity(maxInFlight: number): void {
    const inForce = this.truth.cap("cell:", maxInFlight);
    const { life } = this;
    const failed = () => this.time.later(100, () => this.capacity(maxInFlight));
    this.wire
      .call(this.#ledgerContext, life.context, async () => await life.setCapacity(maxInFlight), {
        link: this.#controlLink,
      })
      .then(inForce, failed);
  }

  /**
   * The Cell loses its memory. At most once at each time, because lives are distinguished by the time at which they began.
   */
  reset(): void {
    if (this.time.nowMs < this.#bornMs + LIFE_MS) return;
    this.#bornMs = this.time.nowMs;
    this.resets += 1;
    const { context, admission } = this.life;
    context.die();
    this.disk.busyMembers = new Set([...admission.entries].filter(isLive).map(({ member }) => member));
    for (const [id, isolate] of this.asked) {
      if (this.rows.has(id) || this.died.has(id) || this.disk.givenUpRows.has(id)) continue;
      if (this.#gaveUp.has(id)) this.died.set(id, "its code gave up, and then its Cell was reset");
      else if (this.#cutOff.has(id)) this.died.set(id, "its code was cut off, and then its Cell was reset");
      else if (!isolate.context.alive) this.died.set(id, "its isolate died, and then its Cell was reset");
    }
    for (const run of this.truth.running.values())
      if (run.life === context) this.truth.uncount(run, "its Cell was reset");
    // When a request has ended and waits only for its row, only its isolate knows of it.
    for (const run of this.truth.runs.values())
      if (run.life === context && !this.rows.has(run.id)) run.uncounted ??= "its Cell was reset";
    this.life = this.#newLife();
  }

  /** An isolate dies with everything that is in its memory. */
  kill(at: number): void {
    const isolate = this.isolate(at);
    isolate.context.die();
    for (const [id, at] of this.asked) if (at === isolate) this.#dies(id, "its isolate died");
    const place = this.isolates.indexOf(isolate);
    this.isolates[place] = this.#isolate(place);
  }

  /**
   * Ends the code of a request without a settlement, as the runtime does when it used too much: of a request that runs a
   * session, if there is one.
   */
  cutOff(at: number): void {
    const isolate = this.isolate(at);
    const [sessionContext] = isolate.sessionContexts.keys();
    if (sessionContext === undefined) return;
    isolate.sessionContexts.delete(sessionContext);
    if (isolate.requests.delete(sessionContext.name)) {
      this.#cutOff.add(sessionContext.name);
      this.#dies(sessionContext.name, "its code was cut off");
    }
    sessionContext.die();
  }

  /** The Cell loses a session whose isolate continues. */
  cutSession(at: number): void {
    const sessions = [...this.isolate(at).sessions].filter(({ open }) => open);
    sessions[this.random.between(0, Math.max(0, sessions.length - 1))]?.cut();
  }

  /** Whether the code of the request ran until its row was handed in. */
  livedOn(id: string): boolean {
    return this.asked.get(id)?.context.alive === true && !this.#cutOff.has(id) && !this.died.has(id);
  }

  get tenants(): readonly Tenant[] {
    return this.#setup.tenants;
  }

  /** The budget limits of the newest records. */
  limits(tenantAt: number): BudgetLimits {
    return new Copies(this.records).admissionRequest("", tenantAt, 0, 0).limits;
  }

  /** Tokens of a tenant's requests: those in their rows, and the most that the requests may have been charged. */
  books(tenantAt: number): { readonly written: number; readonly most: number } {
    let [written, most] = [0, 0];
    // A request that was charged may have no row: its code stopped, and its Cell was reset before the row was durable.
    for (const [id, { request }] of this.truth.runs) {
      if (request.tenant.id !== `t${tenantAt}`) continue;
      const tokens = this.rows.get(id)?.[0]?.total_tokens ?? 0;
      written += tokens;
      most += Math.max(tokens, this.truth.mostCharged(id));
    }
    return { written, most };
  }

  /** Requests that have not ended. */
  get waiting(): number {
    return this.isolates.reduce((sum, { requests }) => sum + requests.size, 0);
  }

  async run(ms: number, after: () => void): Promise<void> {
    await this.time.run(this.time.nowMs + ms, after);
  }

  /** Records that a request died; what only the request knew may be lost. */
  #dies(id: string, how: string): void {
    const run = this.truth.runs.get(id);
    this.truth.end(id, NEED_TOKENS);
    if (this.rows.has(id)) return;
    if (run === undefined) this.died.set(id, `${how} before it had a slot`);
    else if (run.uncounted !== null) this.died.set(id, `${run.uncounted}, and ${how}`);
  }

  #isolate(at: number): Isolate {
    const { time, wire, truth, records } = this;
    const ledger = () => this.#ledger();
    const gaveUp = (requestId: string) => {
      this.#gaveUp.add(requestId);
      const why = truth.running.get(requestId)?.uncounted ?? null;
      if (why !== null) this.died.set(requestId, `${why}, and its code gave up`);
    };
    this.#made += 1;
    return new Isolate(`isolate ${at}`, `member ${this.#made}`, {
      time,
      wire,
      truth,
      records,
      ledger,
      gaveUp,
      life: () => this.life,
    });
  }

  #newLife(): CellLife {
    const { time, truth } = this;
    const context = new Context(`cell ${this.resets}`, time);
    const append = async (batch: LedgerBatch) =>
      await this.wire.call(context, this.#ledgerContext, () => this.#append(batch), { sure: true });
    const budgetOf = (life: Context, tenantId: string) => this.#budgetOf(life, tenantId);
    const made: CellLife[] = [];
    context.enter(() => {
      made.push(new CellLife(context, this.disk, { algorithm: this.#setup.algorithm, time, truth, budgetOf, append }));
    });
    const [life] = made;
    if (life === undefined) throw new Error("a life begins at once");
    return life;
  }

  #budgetOf(life: Context, tenantId: string): BudgetObjectApi {
    const object = this.budgets.budgetOf(tenantId);
    const call = async <T>(work: () => Promise<T>): Promise<T> => {
      // Code of a dead life does not continue.
      if (!life.alive) await new Promise<never>(() => {});
      return await this.wire.call(life, this.#budgetContext, work);
    };
    return {
      lease: async (request) => await call(async () => await object.lease(request)),
      report: async (report) => await call(async () => await object.report(report)),
      level: async (limits) => await call(async () => await object.level(limits)),
      limitsChanged: async (limits) => await call(async () => await object.limitsChanged(limits)),
    };
  }

  #ledger(): LedgerApi {
    const appendOrphan = async (row: UsageRow) =>
      await this.wire.call(here(), this.#ledgerContext, () => this.#write(row, true), { sure: true });
    return { appendOrphan } as unknown as LedgerApi;
  }

  #append({ epoch, sequence, orphan, rows }: LedgerBatch): void {
    const name = `${epoch} ${sequence}`;
    if (this.#applied.has(name)) return;
    this.#applied.add(name);
    for (const row of rows) this.#write(row, orphan);
  }

  /** As the Ledger does: an orphan is looked up among all rows, any other row among the orphans only. */
  #write(row: UsageRow, orphan: boolean): void {
    const { request_id: requestId } = row;
    const known = this.rows.get(requestId) ?? [];
    if (orphan ? known.length > 0 : this.#orphans.has(requestId)) return;
    if (orphan) this.#orphans.add(requestId);
    this.rows.set(requestId, [...known, row]);
  }
}
