/**
 * One request with everything around it: the pipeline, a real Cell with one slot, its real Ledger and its tenant's real
 * budget, and ports that a test can break. Permits are never disposed automatically, so that a test sees what the pipeline
 * forgets to give back.
 */
import { env, runInDurableObject } from "cloudflare:test";
import { CellAdmission } from "../../edge/adapters/objects/cell-admission.ts";
import { ObjectStubs } from "../../edge/adapters/objects/object-stubs.ts";
import type {
  AdmissionRequest,
  Admitted,
  Decision,
  PermitHandle,
  Settlement,
  Stale,
} from "../../edge/domain/admission/rpc.ts";
import type { TenantBudgetApi } from "../../edge/domain/budget/messages/rpc.ts";
import type { Bindings } from "../../edge/env.ts";
import type { CellObject } from "../../edge/objects/cell/cell.ts";
import type { PipelineConfig } from "../../edge/pipeline/call/context.ts";
import type { PipelineInput } from "../../edge/pipeline/call/start-call.ts";
import { run } from "../../edge/pipeline/run.ts";
import type { Admission, Directory, Ports } from "../../edge/ports.ts";
import { keyOf, tenantOf } from "../harness/edge/pipeline/records.ts";
import { TestPipeline } from "../harness/edge/pipeline/world.ts";
import { waitFor } from "../harness/wait-for.ts";
import { admissionRequestFor, rowFor } from "./admission-messages.ts";
import { rowsOnDisk } from "./ledger-world.ts";

const bindings = env as unknown as Bindings;
const { CELL } = env as unknown as { readonly CELL: DurableObjectNamespace<CellObject> };

/** Enough for a few requests of a scene, so that leases are small and come back soon. */
const TERM_TOKENS = 200;
const MARKER = "00000000-0000-4000-8000-0000000000ff";
const HOLDER = "00000000-0000-4000-8000-0000000000fe";

/** What goes wrong between a request and its Cell. */
class CellFaults {
  beforeAdmit: (() => void) | null = null;
  afterAdmit: (() => void) | null = null;
  /** The Cell has decided, but its answer does not arrive: this error is thrown instead. */
  loseAnswer: (() => Error) | null = null;
  /** The first call that waits for the decision runs this, then fails. */
  breakWaiting: (() => void) | null = null;
  beforeSettle: (() => void) | null = null;
  afterSettle: (() => void) | null = null;
  /** From now on every call to the Cell fails. */
  unreachable = false;
}

class FaultyPermit implements PermitHandle {
  readonly #real: PermitHandle;
  readonly #faults: CellFaults;

  constructor(real: PermitHandle, faults: CellFaults) {
    this.#real = real;
    this.#faults = faults;
  }

  async decision(): Promise<Decision | Stale> {
    const fault = this.#faults.breakWaiting;
    this.#faults.breakWaiting = null;
    if (fault === null) return await this.#real.decision();
    fault();
    throw new Error("the call broke");
  }

  async inUse(): Promise<void> {
    await this.#real.inUse();
  }

  /**
   * In production, pending calls end with their request. Here no request ends by itself, so that this call must not begin.
   */
  async lost(): Promise<never> {
    return await new Promise<never>(() => {});
  }

  async settle(settlement: Settlement): Promise<void> {
    this.#faults.beforeSettle?.();
    await this.#real.settle(settlement);
    this.#faults.afterSettle?.();
  }

  [Symbol.dispose](): void {
    this.#real[Symbol.dispose]();
  }
}

let nextScene = 1;

export class CrashScene {
  readonly name = `scene-${nextScene++}`;
  readonly tenantId = crypto.randomUUID();
  readonly world = new TestPipeline();
  readonly client = new AbortController();
  readonly cell = new CellFaults();
  readonly ports: Ports;
  readonly config: PipelineConfig;
  init: RequestInit = {};
  /** Another request holds the Cell's only slot until this request has been answered. */
  full = false;
  /** The client reads this many chunks and leaves. */
  readChunks = Number.POSITIVE_INFINITY;
  /** The admission request that the Cell got; null when it got none. */
  request: AdmissionRequest | null = null;
  readonly #received: PipelineInput;
  readonly #overrides: { -readonly [Port in keyof Ports]?: Ports[Port] } = {};

  private constructor() {
    const budget = { tokens: TERM_TOKENS, cost_usd: null, period: "lifetime", started_at_ms: null } as const;
    this.world.key = keyOf({ tenant: tenantOf({ id: this.tenantId, budget }) });
    this.#received = this.world.received();
    this.ports = this.#received.ports;
    this.config = { ...this.#received.config };
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
    const holder = this.full ? await this.stub.admit(admissionRequestFor(HOLDER)) : null;
    const body = '{"model":"tiny","max_tokens":40,"messages":[]}';
    const { request } = this.world.received({ body, ...this.init, signal: this.client.signal });
    const ports = { ...this.ports, admission: this.#admission(), ...this.#overrides };
    const status = await run({ ...this.#received, request, ports, config: this.config }).then(
      async (response) => ((await this.#read(response)) && response.status !== 499 ? response.status : null),
      () => null,
    );
    await this.world.settled();
    if (holder !== null && holder.verdict !== "stale") {
      const { permit } = holder as unknown as { permit: PermitHandle };
      await permit.settle({ row: rowFor(HOLDER), actualTokens: 0 });
    }
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

  #admission(): Admission {
    const { cell: faults, ports } = this;
    const reachable = {
      getByName: (name: string) => {
        if (faults.unreachable) throw new Error("the Cell is beyond reach");
        return bindings.CELL.getByName(name);
      },
    } as unknown as DurableObjectNamespace;
    const real = new CellAdmission(
      new ObjectStubs({ ...bindings, CELL: reachable }, []),
      this.name,
      1,
      ports.alerts,
      ports.log,
    );
    return {
      cell: this.name,
      admit: async (request) => await this.#admit(real, request),
      adopt: async (request) => await real.adopt(request),
      record: async (row) => await real.record(row),
      confirmHit: async (hit) => await real.confirmHit(hit),
      settleOrphan: async (row) => await real.settleOrphan(row),
      staleAmong: async (items) => await real.staleAmong(items),
      level: async () => null,
      inFlightByModel: async () => await real.inFlightByModel(),
    };
  }

  async #admit(real: Admission, request: AdmissionRequest): Promise<Admitted<PermitHandle>> {
    const faults = this.cell;
    faults.beforeAdmit?.();
    this.request = request;
    const admitted = await real.admit(request);
    if (admitted.verdict === "stale") return admitted;
    if (faults.loseAnswer !== null) {
      const lost = faults.loseAnswer();
      admitted.permit[Symbol.dispose]();
      throw lost;
    }
    faults.afterAdmit?.();
    return { ...admitted, permit: new FaultyPermit(admitted.permit, faults) };
  }
}
