/**
 * One request with everything around it: the pipeline, a real Cell with one slot, its real Ledger and its tenant's real
 * budget, and ports that a test can break. Its isolate lives on when the request has ended, so that a test sees what the pipeline
 * forgets to give back.
 */
import { env, runInDurableObject } from "cloudflare:test";
import { CellAdmission } from "../../edge/adapters/objects/cell-admission.ts";
import { MemberAdmission } from "../../edge/adapters/objects/member-admission.ts";
import { ObjectStubs } from "../../edge/adapters/objects/object-stubs.ts";
import type {
  ExchangeAnswer,
  ExchangeMessage,
  ExchangeSession,
} from "../../edge/domain/admission/exchange-messages.ts";
import type { AdmissionRequest } from "../../edge/domain/admission/rpc.ts";
import type { TenantBudgetApi } from "../../edge/domain/budget/messages/rpc.ts";
import type { Bindings } from "../../edge/env.ts";
import type { CellObject } from "../../edge/objects/cell/cell.ts";
import type { PipelineConfig } from "../../edge/pipeline/call/context.ts";
import type { PipelineInput } from "../../edge/pipeline/call/start-call.ts";
import { run } from "../../edge/pipeline/run.ts";
import type { Admission, AdmissionOutcome, Directory, Permit, Ports } from "../../edge/ports.ts";
import { keyOf, tenantOf } from "../harness/edge/pipeline/records.ts";
import { TestPipeline } from "../harness/edge/pipeline/world.ts";
import { waitFor } from "../harness/wait-for.ts";
import { rowFor } from "./admission-messages.ts";
import { ObjectIsolate } from "./exchange-isolate.ts";
import { rowsOnDisk } from "./ledger-world.ts";

const bindings = env as unknown as Bindings;
const { CELL } = env as unknown as { readonly CELL: DurableObjectNamespace<CellObject> };

/** Enough for a few requests of a scene, so that leases are small and come back soon. */
const TERM_TOKENS = 200;
const MARKER = "00000000-0000-4000-8000-0000000000ff";
const HOLDER = "00000000-0000-4000-8000-0000000000fe";

/** What goes wrong between a request and its Cell. Each is called at most once, and may throw. */
interface CellFaults {
  beforeAdmit?: () => void;
  /** The request has the Cell's answer: a slot, or a place in the queue. */
  afterAdmit?: () => void;
  /** The Cell has decided, and its answer is on its way; it is lost when this throws. */
  answering?: () => void;
  /** The answer to the next session that is opened is on its way. */
  answeringAgain?: () => void;
  /** The end of the request is about to be sent to the Cell. */
  beforeSettle?: () => void;
  /** The Cell has the end of the request, and its acknowledgement is on its way. */
  afterSettle?: () => void;
}

/** A session in which faults happen to the request that ends. */
class FaultySession implements ExchangeSession {
  readonly #real: ExchangeSession;
  readonly #fault: (at: keyof CellFaults) => void;

  constructor(real: ExchangeSession, fault: (at: keyof CellFaults) => void) {
    this.#real = real;
    this.#fault = fault;
  }

  async exchange(message: ExchangeMessage): Promise<ExchangeAnswer> {
    const ends = message.ends.length > 0;
    if (ends) this.#fault("beforeSettle");
    const answer = await this.#real.exchange(message);
    if (ends) this.#fault("afterSettle");
    return answer;
  }

  async news(): Promise<ExchangeAnswer> {
    return await this.#real.news();
  }

  async close(): Promise<void> {
    await this.#real.close();
  }

  [Symbol.dispose](): void {
    this.#real[Symbol.dispose]();
  }
}

/** The way of the scene's isolate to its Cell. */
class FaultyWay extends CellAdmission {
  readonly fault: (at: keyof CellFaults) => void;
  #session: ExchangeSession | null = null;

  constructor(fault: FaultyWay["fault"], options: ConstructorParameters<typeof CellAdmission>[0]) {
    super(options);
    this.fault = fault;
  }

  override async openSession(
    ...given: Parameters<CellAdmission["openSession"]>
  ): ReturnType<CellAdmission["openSession"]> {
    const { session, answer } = await super.openSession(...given);
    try {
      this.fault(this.#session === null ? "answering" : "answeringAgain");
    } catch (error) {
      session[Symbol.dispose]();
      throw error;
    } finally {
      this.#session = session;
    }
    return { session: new FaultySession(session, this.fault), answer };
  }

  /** The session under way breaks. */
  async breakSession(): Promise<void> {
    await this.#session?.close();
  }
}

let nextScene = 1;

export class CrashScene {
  readonly name = `scene-${nextScene++}`;
  readonly tenantId = crypto.randomUUID();
  readonly world = new TestPipeline();
  readonly client = new AbortController();
  readonly cell: CellFaults = {};
  /** From now on every call to the Cell fails. */
  unreachable = false;
  readonly ports: Ports;
  readonly config: PipelineConfig;
  init: RequestInit = {};
  /** Another request holds the Cell's only slot until this request has been answered, or until `makeRoom`. */
  full = false;
  /** The client reads this many chunks and leaves. */
  readChunks = Number.POSITIVE_INFINITY;
  /** The admission request that the Cell got; null when it got none. */
  request: AdmissionRequest | null = null;
  readonly #received: PipelineInput;
  readonly #way: FaultyWay;
  readonly #carriers: Promise<unknown>[] = [];
  readonly #room = Promise.withResolvers<void>();
  readonly #overrides: { -readonly [Port in keyof Ports]?: Ports[Port] } = {};

  private constructor() {
    const budget = { tokens: TERM_TOKENS, cost_usd: null, period: "lifetime", started_at_ms: null } as const;
    this.world.key = keyOf({ tenant: tenantOf({ id: this.tenantId, budget }) });
    this.#received = this.world.received();
    this.ports = this.#received.ports;
    this.config = { ...this.#received.config };
    this.#way = this.#faultyWay();
  }

  static async open(): Promise<CrashScene> {
    const scene = new CrashScene();
    await scene.stub.setCapacity(1);
    return scene;
  }

  get stub(): DurableObjectStub<CellObject> {
    return CELL.getByName(this.name);
  }

  /** Ends the Cell as a deploy does: its memory is lost, its storage stays. */
  async reset(): Promise<void> {
    await runInDurableObject(this.stub, (_cell, state) => state.abort("reset by a test")).catch(() => undefined);
  }

  /** The session of the request breaks. */
  breakSession(): void {
    void this.#way.breakSession();
  }

  /** The request that holds the Cell's only slot ends. */
  makeRoom(): void {
    this.#room.resolve();
  }

  override(ports: Partial<Ports>): void {
    Object.assign(this.#overrides, ports);
  }

  directory(lookups: Partial<Directory>): void {
    this.override({ directory: { ...this.ports.directory, ...lookups } });
  }

  /**
   * Runs the request to its very end. Returns the status that the client got; null when it got no answer, or only a part of
   * it.
   */
  async run(): Promise<number | null> {
    const other = new ObjectIsolate(this.name);
    const held = this.full ? await other.begin({ requestId: HOLDER }) : null;
    const roomMade = this.#room.promise.then(async () => {
      if (held !== null) await other.end(held, { row: rowFor(HOLDER), actualTokens: 0 });
    });
    const body = '{"model":"tiny","max_tokens":40,"messages":[]}';
    const { request } = this.world.received({ body, ...this.init, signal: this.client.signal });
    const ports = { ...this.ports, admission: this.#admission(), ...this.#overrides };
    const status = await run({ ...this.#received, request, ports, config: this.config }).then(
      async (response) => ((await this.#read(response)) && response.status !== 499 ? response.status : null),
      () => null,
    );
    await this.world.settled();
    this.makeRoom();
    await roomMade;
    await Promise.all([...this.#carriers, ...other.carriers]);
    return status;
  }

  /** Resolves when no request holds a slot of the Cell or waits for one. */
  async emptied(): Promise<void> {
    await waitFor(
      async () => await this.stub.stats(),
      ({ in_flight, queued }) => in_flight === 0 && queued === 0,
    );
  }

  /**
   * The tokens that the tenant has used, once nothing is reserved any more; null when its budget was never asked for a
   * lease.
   */
  async usedTokens(): Promise<number | null> {
    const { request } = this;
    if (request === null) return null;
    const budget = bindings.TENANT_BUDGET.getByName(this.tenantId) as unknown as TenantBudgetApi;
    const usage = await waitFor(
      async () => await budget.usage("tenant", request.limits, null),
      ({ reserved_tokens }) => reserved_tokens === 0,
    );
    return usage.used_tokens;
  }

  /** The request's rows on the Ledger's disk, once everything written before has arrived there. */
  async rows(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    await this.stub.record(rowFor(MARKER));
    const rows = await rowsOnDisk(this.name);
    return rows.filter((row) => row["request_id"] !== MARKER && row["request_id"] !== HOLDER);
  }

  /** Whether the whole answer could be read, or as much of it as the client wanted. */
  async #read(response: Response): Promise<boolean> {
    const reader = response.body?.getReader();
    try {
      for (let count = 0; reader !== undefined && count < this.readChunks; count += 1) {
        if ((await reader.read()).done) return true;
      }
      await reader?.cancel();
      return true;
    } catch {
      return false;
    }
  }

  #faultyWay(): FaultyWay {
    const { ports } = this;
    const reachable = {
      getByName: (name: string) => {
        if (this.unreachable) throw new Error("the Cell is beyond reach");
        return bindings.CELL.getByName(name);
      },
    } as unknown as DurableObjectNamespace;
    const stubs = new ObjectStubs({ ...bindings, CELL: reachable }, []);
    const { alerts, log } = ports;
    return new FaultyWay((at) => this.#fault(at), { stubs, cell: this.name, shards: 1, alerts, log });
  }

  #admission(): Admission {
    const real = new MemberAdmission({
      member: crypto.randomUUID(),
      direct: this.#way,
      clock: Date.now,
      keepAlive: (work) => void this.#carriers.push(work),
      log: this.ports.log,
    });
    return {
      cell: this.name,
      admit: async (request, before) => await this.#admit(real, request, before),
      record: async (row) => await real.record(row),
      confirmHit: async (hit) => await real.confirmHit(hit),
      settleOrphan: async (row) => await real.settleOrphan(row),
      staleAmong: async (items) => await real.staleAmong(items),
      level: async () => null,
      inFlightByModel: async () => await real.inFlightByModel(),
    };
  }

  async #admit(real: Admission, request: AdmissionRequest, before?: Permit | null): Promise<AdmissionOutcome> {
    this.#fault("beforeAdmit");
    this.request = request;
    const admitted = await real.admit(request, before);
    if (admitted.verdict !== "stale") this.#fault("afterAdmit");
    return admitted;
  }

  #fault(at: keyof CellFaults): void {
    const happens = this.cell[at];
    delete this.cell[at];
    happens?.();
  }
}
