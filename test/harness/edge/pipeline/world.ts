/**
 * The surroundings of a request for tests of the pipeline: the ports, which answer from plain values that a test may
 * change while the request runs, and a record of their calls.
 */

import type { AdmissionRequest, CacheHit, Decision, Settlement, Stale } from "../../../../edge/domain/admission/rpc.ts";
import type { BucketLevel } from "../../../../edge/domain/budget/token-bucket.ts";
import { type CountedEvent, eventsOf } from "../../../../edge/domain/cell/event-counters.ts";
import type { Identity } from "../../../../edge/domain/request/identity.ts";
import { type RequestTarget, requestTargetOf } from "../../../../edge/domain/request/request-target.ts";
import type { SpanRecord } from "../../../../edge/domain/trace/trace.ts";
import { RecentFailures } from "../../../../edge/domain/upstream/recent-failures.ts";
import type { BilledTokens } from "../../../../edge/domain/usage/billing.ts";
import type { PowerReading } from "../../../../edge/domain/usage/energy.ts";
import type { LineAnswer } from "../../../../edge/line-answers.ts";
import type { Call } from "../../../../edge/pipeline/call/context.ts";
import { Interruption } from "../../../../edge/pipeline/call/interruption.ts";
import { AutoRouterMemory } from "../../../../edge/pipeline/call/memory/auto-router-memory.ts";
import {
  ANSWER_MEMORY_BYTES,
  CACHE_MEMORY_BYTES,
  MemoryBudget,
} from "../../../../edge/pipeline/call/memory/memory-budget.ts";
import { LINES, RequestBodyMemory } from "../../../../edge/pipeline/call/memory/request-body-memory.ts";
import { ResponseMemory } from "../../../../edge/pipeline/call/memory/response-memory.ts";
import { RunningCallers } from "../../../../edge/pipeline/call/memory/running-callers.ts";
import { ToolLists } from "../../../../edge/pipeline/call/memory/tool-lists.ts";
import { Turns } from "../../../../edge/pipeline/call/memory/turns.ts";
import { type PipelineInput, startCall } from "../../../../edge/pipeline/receive/start-call.ts";
import type {
  Admission,
  AdmissionOutcome,
  CacheEntry,
  Compressor,
  Directory,
  FinishedCall,
  KnownTerms,
  ObjectPlace,
  Permit,
  Ports,
  RecordSource,
  TokenVerdict,
  UpstreamCall,
} from "../../../../edge/ports.ts";
import { TRANSFORMS } from "../../../../edge/transforms.ts";
import type { Issue } from "../../../../shared/alerts.ts";
import { LIMITS } from "../../../../shared/catalogues/limits.ts";
import type { SsrfPolicy } from "../../../../shared/network/ssrf.ts";
import type {
  HotSetting,
  McpServerRecord,
  ModelRecord,
  ResolvedKey,
  SettingsRecord,
} from "../../../../shared/records.ts";
import type { Capture } from "../../../../shared/schema/capture.ts";
import type { RenewKeyHash } from "../../../../shared/schema/key-hash.ts";
import { TenantCalls } from "../../../../shared/tenant-calls.ts";
import type { UsageRow } from "../../../../shared/usage/usage-row.ts";
import type { RevItem } from "../../../../shared/wire/internal.ts";
import { TestMcpSessions } from "./mcp-sessions.ts";
import { TestOriginals } from "./originals.ts";
import { keyOf, modelOf } from "./records.ts";

/** WebSockets of Responses that a tenant may have. */
export const SOCKETS = 8;
export const SECRET = `sk_${"ab".repeat(24)}`;

export const GRANT = { verdict: "granted", grant: { admission: "fast", queueWaitMs: 0, level: null } } as const;

/** A permit that remembers how it ended; a second end of one request fails the test, because every row counts. */
export class TestPermit implements Permit {
  readonly decided = Promise.withResolvers<Decision | Stale>();
  settlement: Settlement | null = null;
  hasLeft = false;
  #isOpen = true;

  /** It is given to a request. */
  begin(): void {
    this.#isOpen = true;
  }

  async decision(): Promise<Decision | Stale> {
    return await this.decided.promise;
  }

  async settle(settlement: Settlement): Promise<void> {
    this.#end();
    this.settlement = settlement;
  }

  leave(): void {
    this.#end();
    this.hasLeft = true;
  }

  #end(): void {
    if (!this.#isOpen) throw new Error("the permit has ended before");
    this.#isOpen = false;
  }
}

/** A Cell that knows that this record has this revision. */
export function knowing(item: RevItem): TestPipeline["stale"] {
  return (items) =>
    items.flatMap(({ kind, id, rev }) => (kind === item.kind && id === item.id && rev < item.rev ? [item] : []));
}

/** What a test sets up, and what it reads afterwards. */
export class TestPipeline {
  key: ResolvedKey | null = keyOf();
  apiKeyPeppersOld: readonly string[] = [];
  readonly renewals: RenewKeyHash[] = [];
  /** What memory holds while the store has `key`; null: memory holds nothing. */
  keyInMemory: ResolvedKey | null = null;
  /** The store does not answer; only memory does. */
  storeIsDown = false;
  model: ModelRecord | null = modelOf();
  /** What memory holds while the store has the model; null: memory holds nothing. */
  modelInMemory: ModelRecord | null = null;
  /** Models other than `model`, by name. */
  readonly otherModels = new Map<string, ModelRecord>();
  mcpServer: McpServerRecord | null = null;
  readonly mcpSessions = new TestMcpSessions();
  /** The objects of upstreams that the tenant was given. */
  readonly objects = new Map<string, ObjectPlace>();
  /** How long it takes to remember some, and which writes were waited for. */
  rememberMs = 0;
  readonly awaited: boolean[] = [];
  /** What of an answer's charge the request is left by others. */
  takesOver: (owed: BilledTokens) => BilledTokens = (owed) => owed;
  readonly originals = new TestOriginals();
  readonly lineAnswers = new Map<string, LineAnswer>();
  readonly captures: Capture[] = [];
  /** The sidecar's scores; null: there is no sidecar. */
  compressor: Compressor["score"] | null = null;
  readonly settings = new Map<HotSetting, SettingsRecord>();
  /** What the Cell answers to the client's request, in order; then it grants `permit`. */
  answers: AdmissionOutcome[] = [];
  entry: CacheEntry | null = null;
  upstream: (call: UpstreamCall) => Promise<Response> = async () => Response.json({ choices: [] });
  nowMs = 1_700_000_000_000;
  level: BucketLevel | null = null;
  energyTerms: () => KnownTerms | null = () => null;
  powerReading: PowerReading | null = null;
  transforms = TRANSFORMS;
  validateSchema: Ports["validateSchema"] = () => [];
  inFlightByModel: () => Promise<ReadonlyMap<string, number>> = async () => new Map();
  subCallPermit: (request: AdmissionRequest) => Promise<Permit> = async () => new TestPermit();

  upstreamBaseUrl = "http://upstream.test";
  listsAllModels = false;
  passthroughPaths: ReadonlySet<string> = new Set();
  passthroughFields: ReadonlySet<string> = new Set();
  passesForeignObjects = false;
  failOpen = true;
  upstreamTimeoutMs = 300_000;
  maxBodyBytes = 1024;
  stalledReaderMs = 60_000;
  ssrf: SsrfPolicy = { blockPrivate: false, allowedCidrs: [] };
  open: (stored: string) => Promise<string> = async (stored) => `opened ${stored}`;
  /** Called while a request waits. */
  sleep: (signal: AbortSignal) => Promise<void> = async () => undefined;

  readonly permit = new TestPermit();
  memory = {
    refusedTransforms: new Map<string, number>(),
    addresses: new Map<string, boolean>(),
    bodyMemory: new RequestBodyMemory(() => this.nowMs),
    lineMemory: new RequestBodyMemory(() => this.nowMs, LINES),
    lineAnswerMemory: new RequestBodyMemory(() => this.nowMs, LINES),
    keptLineMemory: new MemoryBudget(LIMITS.lineMemory),
    fileCalls: new TenantCalls({ inAll: LIMITS.fileCalls, ofTenant: LIMITS.tenantFileCalls }),
    captures: new TenantCalls({ inAll: LIMITS.captureCalls, ofTenant: LIMITS.tenantCaptureCalls }),
    answerMemory: new MemoryBudget(ANSWER_MEMORY_BYTES),
    cacheMemory: new MemoryBudget(CACHE_MEMORY_BYTES),
    responseMemory: new ResponseMemory(SOCKETS, () => this.nowMs),
    toolLists: new ToolLists(),
    endpoints: new RecentFailures(),
    interruption: new Interruption(),
    turns: new Turns(),
    autoRouter: new AutoRouterMemory(),
    callers: new RunningCallers(),
  };
  /** Addresses that were examined after a failure. */
  readonly diagnosed: string[] = [];
  /** Waits that were requested, ms. */
  readonly waits: number[] = [];
  /** The admission requests of the client's request, without those of its sub-calls. */
  readonly requests: AdmissionRequest[] = [];
  /** Answers without a slot that were sent to the Cell. */
  readonly hits: CacheHit[] = [];
  readonly recorded: UsageRow[] = [];
  readonly orphans: UsageRow[] = [];
  readonly forgotten: string[] = [];
  readonly upstreamCalls: UpstreamCall[] = [];
  readonly stored: CacheEntry[] = [];
  /** The records that are newer in the Cell. */
  stale: (items: readonly RevItem[]) => readonly RevItem[] = () => [];

  tokensEnabled = false;
  verdict: TokenVerdict = { kind: "refused" };
  provision: () => Promise<boolean> = async () => false;

  readonly provisioned: Identity[] = [];
  readonly alerts: Issue[] = [];
  /** Lines of the log; `name` is the name of the event. */
  readonly logged: Readonly<Record<string, unknown>>[] = [];
  readonly spans: SpanRecord[] = [];
  tracesEnabled = false;
  readonly finished: FinishedCall[] = [];
  readonly events: CountedEvent[] = [];
  readonly pending: Promise<unknown>[] = [];

  /** A call as step 1 makes it. */
  call(init: RequestInit = {}, path = "/v1/chat/completions"): Call {
    return startCall(this.received(init, path));
  }

  /** What a route hands to the pipeline; a chat request unless `init` says otherwise. */
  received(init: RequestInit = {}, path = "/v1/chat/completions"): PipelineInput {
    const request = new Request(`http://gateway.test${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${SECRET}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "tiny", messages: [{ role: "user", content: "12345678" }] }),
      ...init,
    });
    return {
      ports: this.#ports(),
      memory: this.memory,
      config: {
        apiKeyPepper: undefined,
        apiKeyPeppersOld: this.apiKeyPeppersOld,
        maxBodyBytes: this.maxBodyBytes,
        upstreamBaseUrl: this.upstreamBaseUrl,
        upstreamTimeoutMs: this.upstreamTimeoutMs,
        stalledReaderMs: this.stalledReaderMs,
        realtimeMaxMs: 3_600_000,
        sessionIdDerivation: true,
        listsAllModels: this.listsAllModels,
        passthroughPaths: this.passthroughPaths,
        passthroughFields: this.passthroughFields,
        moderationModel: "",
        endsStreamsOnRevoke: true,
        passesForeignObjects: this.passesForeignObjects,
        failOpen: this.failOpen,
        ssrf: this.ssrf,
      },
      request,
      place: requestTargetOf(request.url) as RequestTarget,
      waitUntil: (work) => this.pending.push(work),
    };
  }

  /** Resolves when all work that the pipeline gave to `waitUntil` has ended. */
  async settled(): Promise<void> {
    for (let at = 0; at < this.pending.length; at += 1) await this.pending[at];
  }

  #ports(): Ports {
    return {
      clock: () => this.nowMs,
      sleep: async (ms, signal) => {
        this.waits.push(ms);
        await this.sleep(signal);
        this.nowMs += ms;
      },
      random: { uuid: () => "00000000-0000-4000-8000-000000000001", fraction: () => 0.5 },
      directory: this.#directory(),
      admission: this.#admission(),
      energy: {
        terms: async () => this.energyTerms(),
        reading: async () => this.powerReading,
      },
      upstream: {
        fetch: async (call) => {
          this.upstreamCalls.push(call);
          return await this.upstream(call);
        },
      },
      decode: () => {
        throw new Error("test/spec/content-codings.test.ts has the tests of bodies in a coding");
      },
      diagnostics: {
        check: async (url) => {
          this.diagnosed.push(url);
          return { dnsOk: true, addresses: [], portOpen: true, elapsedMs: 1, error: null };
        },
      },
      responseCache: {
        lookup: async () => this.entry,
        store: (_tenant, _digest, entry, _ttlSecs, release) => {
          this.stored.push(entry);
          release();
        },
      },
      mcpSessions: this.mcpSessions,
      upstreamObjects: {
        places: async (_tenant, ids) => ids.map((id) => this.objects.get(id) ?? null),
        remember: async (_tenant, ids, place, isAwaited = true) => {
          this.awaited.push(isAwaited);
          if (isAwaited) this.nowMs += this.rememberMs;
          for (const id of ids) this.objects.set(id, place);
        },
        takeOver: async (_tenant, _id, owed) => this.takesOver(owed),
      },
      originals: this.originals,
      lineAnswers: {
        keep: async (id, answer) => void this.lineAnswers.set(id, answer),
        load: async (id) => this.lineAnswers.get(id) ?? null,
      },
      captures: { keep: async (capture) => this.captures.push(capture) > 0 },
      compressor: {
        enabled: this.compressor !== null,
        score: async (segments, query) => (await this.compressor?.(segments, query)) ?? null,
      },
      transforms: this.transforms,
      validateSchema: this.validateSchema,
      secrets: { open: async (stored) => await this.open(stored) },
      tokens: {
        enabled: this.tokensEnabled,
        verify: async () => this.verdict,
      },
      identities: {
        provision: async (identity) => {
          this.provisioned.push(identity);
          return await this.provision();
        },
      },
      keyHashes: { renew: (renewal) => void this.renewals.push(renewal) },
      traces: { enabled: this.tracesEnabled, add: (finished) => void this.finished.push(finished) },
      spans: { send: (_requestId, spans) => void this.spans.push(...spans) },
      alerts: { raise: (issue) => void this.alerts.push(issue) },
      events: { count: (event) => void this.events.push(...eventsOf(event)) },
      log: { event: (name, fields, level = "warn") => void this.logged.push({ name, level, ...fields }) },
    };
  }

  #directory(): Directory {
    const found = <T>(record: T | null, source: RecordSource) => (record === null ? null : { record, source });
    return {
      key: async (_hash, options) =>
        this.keyInMemory !== null && (options?.fresh !== true || this.storeIsDown)
          ? found(this.keyInMemory, "memory")
          : found(this.key, "store"),
      model: async (name, options) =>
        this.otherModels.has(name)
          ? found(this.otherModels.get(name) ?? null, "store")
          : this.modelInMemory !== null && (options?.fresh !== true || this.storeIsDown)
            ? found(this.modelInMemory, "memory")
            : found(this.model, this.storeIsDown ? "memory" : "store"),
      mcpServer: async () => found(this.mcpServer, "store"),
      settings: async (name) => found(this.settings.get(name) ?? null, "store"),
      models: async () => [...(this.model === null ? [] : [this.model]), ...this.otherModels.values()],
      forget: (items) => {
        if (items.some(({ kind }) => kind !== "model")) this.keyInMemory = null;
        if (items.some(({ kind }) => kind === "model" || kind === "all")) this.modelInMemory = null;
        this.forgotten.push(...items.map((item) => `${item.kind} ${item.id}`));
      },
      epoch: () => 0,
    };
  }

  #admission(): Admission {
    return {
      cell: "test",
      admit: async (request) => {
        if (request.row.admission === "boon") return { ...GRANT, permit: await this.subCallPermit(request) };
        this.requests.push(request);
        const answer = this.answers.shift();
        if (answer !== undefined) return answer;
        this.permit.begin();
        return { ...GRANT, permit: this.permit };
      },
      record: async (row) => {
        this.recorded.push(row);
      },
      confirmHit: async (hit) => {
        this.hits.push(hit);
        const { row } = hit;
        const newer = this.stale(hit.revs);
        if (newer.length === 0) this.recorded.push(row);
        return { newer, level: this.level, recorded: Promise.resolve() };
      },
      settleOrphan: async (row) => {
        this.orphans.push(row);
      },
      view: {
        staleAmong: async (items) => this.stale(items),
        changedAmong: async (items) => this.stale(items),
        level: async () => this.level,
        inFlightByModel: async () => await this.inFlightByModel(),
      },
    };
  }
}
