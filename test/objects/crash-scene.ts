/**
 * One request with everything around it: the pipeline, a real Cell with one slot, its real Ledger and its tenant's real
 * budget, and ports that a test can break. Its isolate lives on when the request has ended, so that a test sees what the pipeline
 * forgets to give back.
 */
import { env } from "cloudflare:test";
import { expect } from "vitest";
import type { Bindings } from "../../edge/bindings.ts";
import type { AdmissionRequest } from "../../edge/domain/admission/rpc.ts";
import type { TenantBudgetApi } from "../../edge/domain/budget/messages/rpc.ts";
import type { CellObject } from "../../edge/objects/cell/cell.ts";
import type { PipelineConfig } from "../../edge/pipeline/call/context.ts";
import type { PipelineInput } from "../../edge/pipeline/receive/start-call.ts";
import { run } from "../../edge/pipeline/run.ts";
import type { Admission, AdmissionOutcome, Directory, Permit, Ports } from "../../edge/ports.ts";
import { keyOf, tenantOf } from "../harness/edge/pipeline/records.ts";
import { TestPipeline } from "../harness/edge/pipeline/world.ts";
import { waitFor } from "../harness/wait-for.ts";
import { rowFor } from "./admission-messages.ts";
import { type Moment, ObjectIsolate } from "./exchange-isolate.ts";

const bindings = env as unknown as Bindings;

/** Enough for a few requests of a scene, so that leases are small and come back soon. */
const TERM_TOKENS = 200;
const HOLDER = "00000000-0000-4000-8000-0000000000fe";

/** What goes wrong between a request and its Cell. Each is called at most once, and may throw. */
interface CellFaults extends Partial<Record<Moment, () => void>> {
  beforeAdmit?: () => void;
  /** The request has the Cell's answer: a slot, or a place in the queue. */
  afterAdmit?: () => void;
}

let nextScene = 1;

export class CrashScene {
  readonly name = `scene-${nextScene++}`;
  readonly tenantId = crypto.randomUUID();
  readonly world = new TestPipeline();
  readonly client = new AbortController();
  readonly cell: CellFaults = {};
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
  readonly #isolate: ObjectIsolate;
  readonly #room = Promise.withResolvers<void>();
  readonly #overrides: { -readonly [Port in keyof Ports]?: Ports[Port] } = {};

  private constructor() {
    const budget = { tokens: TERM_TOKENS, cost_usd: null, period: "lifetime", started_at_ms: null } as const;
    this.world.key = keyOf({ tenant: tenantOf({ id: this.tenantId, budget }) });
    this.#received = this.world.received();
    this.ports = this.#received.ports;
    this.config = { ...this.#received.config };
    this.#isolate = new ObjectIsolate(this.name, this.ports);
    this.#isolate.direct.at = (moment) => this.#fault(moment);
  }

  static async open(): Promise<CrashScene> {
    const scene = new CrashScene();
    await scene.stub.setCapacity(1);
    return scene;
  }

  get stub(): DurableObjectStub<CellObject> {
    return this.#isolate.stub;
  }

  /** From now on every call to the Cell fails. */
  set unreachable(unreachable: boolean) {
    this.#isolate.unreachable = unreachable;
  }

  /** Ends the Cell as a deploy does: its memory is lost, its storage stays. */
  async reset(): Promise<void> {
    await this.#isolate.reset();
  }

  breakSession(): void {
    void this.#isolate.breakSession();
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
    await Promise.all([...this.#isolate.holders, ...other.holders]);
    return status;
  }

  /** Resolves when no request holds a slot of the Cell or waits for one. */
  async emptied(): Promise<void> {
    await this.#isolate.load(0);
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
    return (await this.#isolate.rows()).filter((row) => row["request_id"] !== HOLDER);
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
    const real = this.#isolate.admission;
    return {
      cell: this.name,
      admit: async (request, before) => await this.#admit(real, request, before),
      record: async (row) => await real.record(row),
      confirmHit: async (hit) => await real.confirmHit(hit),
      settleOrphan: async (row) => await real.settleOrphan(row),
      view: {
        staleAmong: async (items) => await real.view.staleAmong(items),
        changedAmong: async (items) => await real.view.changedAmong(items),
        level: async () => null,
        inFlightByModel: async () => await real.view.inFlightByModel(),
      },
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

type Billed = "nothing" | "estimate" | "what was seen";

/** One crash test: what breaks, and what the request should leave behind in Cell, Ledger and budget. */
export interface Act {
  readonly what: string;
  readonly arrange: (scene: CrashScene) => void;
  /** The status that the client gets; null: the client gets no answer, or only a part of it. */
  readonly answer: number | null;
  /** The one usage row that the request leaves; null: it leaves none. */
  readonly left: null | readonly [status: number, billed: Billed];
}

export function broken(): never {
  throw new TypeError("a fault of a test");
}

/** Prepares a scene, runs its request to its end, and compares what it left with what it should leave. */
export async function playCrash({ arrange, answer, left }: Act): Promise<void> {
  const scene = await CrashScene.open();
  arrange(scene);
  expect(await scene.run()).toBe(answer);
  await scene.emptied();
  const rows = await waitFor(
    async () => await scene.rows(),
    ({ length }) => left === null || length > 0,
  );
  expect(rows.map(billedAs)).toEqual(left === null ? [] : [left[1]]);
  const [row] = rows;
  if (left !== null && row !== undefined) {
    expect(row["status_code"]).toBe(left[0]);
    expect(Number(row["cost_usd"]) > 0).toBe(left[1] !== "nothing");
  }
  const used = await scene.usedTokens();
  if (used !== null) expect(used).toBe(Number(row?.["total_tokens"] ?? 0));
}

function billedAs(row: Readonly<Record<string, unknown>>): Billed | "something else" {
  if (row["total_tokens"] === 0) return "nothing";
  const [total, estimated] = [Number(row["total_tokens"]), Number(row["estimated_tokens"])];
  if (total > estimated) return "something else";
  return total === estimated ? "estimate" : "what was seen";
}
