/**
 * A small world for the simulation of exchanges: isolates, a Cell with its budgets and its ledger, changing records, and weather
 * on the wire. A scenario plays upon it; then all faults end, everybody finishes, and the books have to be even.
 */
import type { LedgerApi, LedgerBatch } from "../../../edge/domain/admission/rpc.ts";
import type { BudgetLimits } from "../../../edge/domain/budget/limits.ts";
import type { FairshareAlgorithm } from "../../../edge/domain/fairshare/types.ts";
import type { BudgetObjectApi } from "../../../edge/objects/cell/budget-gateway.ts";
import { TestBudgets } from "../../../edge/objects/cell/testing/test-budgets.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
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
  /** By isolate: whether it asks in exchanges; else by a call for each request. */
  readonly isolates: readonly boolean[];
  readonly seed: number;
}

/** A Cell lives at least this long. */
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
  /** Requests whose isolate, or whose own code, died with what only it knew. */
  readonly died = new Map<string, string>();
  /** Requests whose rows an isolate brought to the ledger itself, because the Cell was beyond reach. */
  readonly direct = new Set<string>();
  /** Every request, and where it arrived. */
  readonly asked = new Map<string, Isolate>();
  readonly #gaveUp = new Set<string>();
  readonly #cutOff = new Set<string>();
  life: CellLife;
  resets = 0;
  #bornMs = 0;
  readonly #setup: Setup;
  readonly #ledgerContext: Context;
  readonly #budgetContext: Context;
  readonly #applied = new Set<string>();
  /** What the control service says arrives in order. */
  readonly #told = new Link();

  constructor(setup: Setup) {
    const { seed, capacity, tenants, modelCaps, isolates } = setup;
    this.#setup = setup;
    this.random = seededRandom(seed);
    this.truth = new Truth(() => this.time.nowMs);
    this.wire = new Wire(this.time, this.random);
    this.budgets = new TestBudgets(() => this.time.nowMs);
    this.records = new Records(tenants, modelCaps);
    this.disk = { capacity, busy: false, life: 0, revisions: [] };
    this.#ledgerContext = new Context("ledger", this.time);
    this.#budgetContext = new Context("budgets", this.time);
    this.truth.cap("cell:", capacity);
    for (const [at, tenant] of tenants.entries()) this.truth.tenant(`t${at}`, tenant);
    for (const [at, cap] of modelCaps.entries()) this.truth.cap(`model:m${at}`, cap);
    this.life = this.#newLife();
    this.isolates = isolates.map((exchanges, at) => this.#isolate(at, exchanges));
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

  /** A record changes; the Cell is told until it has answered. */
  change(kind: Kind, id: string, maxInFlight: number | null): void {
    const change = this.records.change(kind, id, maxInFlight);
    const capped = change.tenant !== undefined || change.model !== undefined;
    const inForce = capped ? this.truth.cap(`${kind}:${id}`, maxInFlight) : () => undefined;
    const link = this.#told;
    const tell = (): void => {
      const { life } = this;
      this.wire
        .call(this.#ledgerContext, life.context, async () => await life.invalidate([change]), { link })
        .then(
          () => {
            inForce();
            this.truth.acknowledged(change);
          },
          () => this.time.later(100, tell),
        );
    };
    tell();
  }

  capacity(maxInFlight: number): void {
    const inForce = this.truth.cap("cell:", maxInFlight);
    const { life } = this;
    const failed = () => this.time.later(100, () => this.capacity(maxInFlight));
    this.wire
      .call(this.#ledgerContext, life.context, async () => await life.setCapacity(maxInFlight), { link: this.#told })
      .then(inForce, failed);
  }

  /** The Cell loses its memory; not twice at once, because lives are told apart by the time at which they began. */
  reset(): void {
    if (this.time.nowMs < this.#bornMs + LIFE_MS) return;
    this.#bornMs = this.time.nowMs;
    this.resets += 1;
    const { context } = this.life;
    context.die();
    for (const [id, isolate] of this.asked) {
      if (this.rows.has(id) || this.died.has(id)) continue;
      if (this.#gaveUp.has(id)) this.died.set(id, "its code gave up, and then its Cell was reset");
      else if (this.#cutOff.has(id)) this.died.set(id, "its code was cut off, and then its Cell was reset");
      else if (!isolate.context.alive) this.died.set(id, "its isolate died, and then its Cell was reset");
    }
    for (const run of this.truth.running.values())
      if (run.life === context) this.truth.uncount(run, "its Cell was reset");
    // Whoever has ended and waits for its row only has its isolate left.
    for (const run of this.truth.runs.values())
      if (run.life === context && !this.rows.has(run.id)) run.uncounted ??= "its Cell was reset";
    this.life = this.#newLife();
  }

  /** An isolate dies with everything that it knows. */
  kill(at: number): void {
    const isolate = this.isolate(at);
    isolate.context.die();
    for (const [id, at] of this.asked) if (at === isolate) this.#dies(id, "its isolate died");
    const place = this.isolates.indexOf(isolate);
    this.isolates[place] = this.#isolate(place, this.#setup.isolates[place] === true);
  }

  /** The code of a request ends without a word, as when it used too much: one that carries a session, if there is one. */
  cutOff(at: number): void {
    const isolate = this.isolate(at);
    const [carrier] = isolate.carriers.keys();
    if (carrier === undefined) return;
    isolate.carriers.delete(carrier);
    if (isolate.requests.delete(carrier.name)) {
      this.#cutOff.add(carrier.name);
      this.#dies(carrier.name, "its code was cut off");
    }
    carrier.die();
  }

  /** The Cell loses sight of a session whose isolate lives on. */
  cutSession(at: number): void {
    const sessions = [...this.isolate(at).sessions].filter(({ open }) => open);
    sessions[this.random.between(0, Math.max(0, sessions.length - 1))]?.cut();
  }

  get tenants(): readonly Tenant[] {
    return this.#setup.tenants;
  }

  /** As the newest records have them. */
  limits(tenantAt: number): BudgetLimits {
    return new Copies(this.records).ask("", tenantAt, 0, 0).limits;
  }

  /** Tokens of a tenant's requests: in their rows, and the most that they may have been charged. */
  books(tenantAt: number): { readonly written: number; readonly most: number } {
    let [written, most] = [0, 0];
    // One that was charged may have no row: its code gave up, and its Cell was reset before the row was durable.
    for (const [id, { ask }] of this.truth.runs) {
      if (ask.tenant.id !== `t${tenantAt}`) continue;
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

  /** What nobody else knew of it may be lost. */
  #dies(id: string, how: string): void {
    const run = this.truth.runs.get(id);
    // Of a grant that waited the Cell may not have heard that it was used: then it costs nothing.
    this.truth.end(id, run?.by === "exchange" ? NEED_TOKENS : 0);
    if (this.rows.has(id)) return;
    if (run === undefined) this.died.set(id, `${how} before it had a slot`);
    else if (run.uncounted !== null) this.died.set(id, `${run.uncounted}, and ${how}`);
  }

  #isolate(at: number, exchanges: boolean): Isolate {
    const { time, wire, truth, records } = this;
    const ledger = () => this.#ledger();
    const gaveUp = (requestId: string) => {
      this.#gaveUp.add(requestId);
      const why = truth.running.get(requestId)?.uncounted ?? null;
      if (why !== null) this.died.set(requestId, `${why}, and its code gave up`);
    };
    return new Isolate(`isolate ${at}`, {
      time,
      wire,
      truth,
      records,
      ledger,
      exchanges,
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
      // Code of a dead life gets no further.
      if (!life.alive) await new Promise<never>(() => {});
      return await this.wire.call(life, this.#budgetContext, work);
    };
    return {
      lease: async (request) => await call(async () => await object.lease(request)),
      report: async (report) => await call(async () => await object.report(report)),
      level: async (limits) => await call(async () => await object.level(limits)),
    };
  }

  #ledger(): LedgerApi {
    const appendOrphan = async (row: UsageRow) => {
      this.direct.add(row.request_id);
      await this.wire.call(here(), this.#ledgerContext, () => this.#write(row, true), { sure: true });
    };
    return { appendOrphan } as unknown as LedgerApi;
  }

  #append({ epoch, sequence, orphan, rows }: LedgerBatch): void {
    const name = `${epoch} ${sequence}`;
    if (this.#applied.has(name)) return;
    this.#applied.add(name);
    for (const row of rows) this.#write(row, orphan);
  }

  #write(row: UsageRow, orphan: boolean): void {
    const known = this.rows.get(row.request_id) ?? [];
    if (orphan && known.length > 0) return;
    this.rows.set(row.request_id, [...known, row]);
  }
}
