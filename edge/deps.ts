/**
 * The only composition root of the Worker: bindings become ports, once per isolate.
 */
import { waitUntil } from "cloudflare:workers";
import { LIMITS } from "../shared/catalogues/limits.ts";
import { internalTokensOf } from "../shared/crypto/internal-token.ts";
import { unknownText, unknownVariables } from "../shared/env/unknown-variables.ts";
import { TenantCalls } from "../shared/tenant-calls.ts";
import { AuthFailureHandler } from "./adapters/auth-failure-handler.ts";
import { CompressorHttp } from "./adapters/compressor-http.ts";
import { BufferedLog, consoleLog, consoleWrite, SampledLog } from "./adapters/console-log.ts";
import { ControlCalls } from "./adapters/control-calls.ts";
import { ControlFill } from "./adapters/control-fill.ts";
import { ControlIdentities } from "./adapters/control-identities.ts";
import { decodeBody } from "./adapters/decode-body.ts";
import { IsolateResponseCache } from "./adapters/isolate-response-cache.ts";
import { IssuerKeys } from "./adapters/issuer-keys.ts";
import { validateJsonSchema } from "./adapters/json-schema.ts";
import { KeyHashRenewals } from "./adapters/key-hash-renewals.ts";
import { loadKeySet } from "./adapters/key-set-http.ts";
import { CellAdmission } from "./adapters/objects/cell-admission.ts";
import { CellEventCounter } from "./adapters/objects/cell-event-counter.ts";
import { alertLedgerOf, LedgerAlerts } from "./adapters/objects/ledger-alerts.ts";
import { LedgerSpans } from "./adapters/objects/ledger-spans.ts";
import { LostRows } from "./adapters/objects/lost-rows.ts";
import { MemberAdmission } from "./adapters/objects/member-admission.ts";
import { ObjectStubs } from "./adapters/objects/object-stubs.ts";
import { TenantBudgetClient } from "./adapters/objects/tenant-budget-client.ts";
import { noTraces, OtlpTraces, otlpTarget } from "./adapters/otlp-traces.ts";
import { Readiness } from "./adapters/readiness.ts";
import { RedisCaptures } from "./adapters/redis-captures.ts";
import { RedisClient } from "./adapters/redis-client.ts";
import { RedisDirectory } from "./adapters/redis-directory.ts";
import { RedisEnergy } from "./adapters/redis-energy.ts";
import { RedisLineAnswers } from "./adapters/redis-line-answers.ts";
import { RedisMcpSessions } from "./adapters/redis-mcp-sessions.ts";
import { RedisOriginals } from "./adapters/redis-originals.ts";
import { RedisResponseCache } from "./adapters/redis-response-cache.ts";
import { RedisUpstreamObjects } from "./adapters/redis-upstream-objects.ts";
import { SealedSecrets } from "./adapters/sealed-secrets.ts";
import { timerSleep } from "./adapters/timer-sleep.ts";
import { JoseVerifier } from "./adapters/token-verifier.ts";
import { UpstreamDiagnostics } from "./adapters/upstream-diagnostics.ts";
import { upstreamHttp } from "./adapters/upstream-http.ts";
import type { Bindings } from "./bindings.ts";
import { ClusterAdmission } from "./cluster/cluster-admission.ts";
import { holderLeaseMs } from "./cluster/holder-lease.ts";
import { OwnerWatch } from "./cluster/owner-watch.ts";
import { cellFor, type RequestOrigin } from "./domain/cell/placement.ts";
import type { LedgerApi } from "./domain/ledger/rpc.ts";
import { RecentFailures } from "./domain/upstream/recent-failures.ts";
import { type Env, EnvError, parseEnv } from "./env.ts";
import type { IsolateMemory } from "./pipeline/call/context.ts";
import { Interruption } from "./pipeline/call/interruption.ts";
import { AutoRouterMemory } from "./pipeline/call/memory/auto-router-memory.ts";
import { ANSWER_MEMORY_BYTES, CACHE_MEMORY_BYTES, MemoryBudget } from "./pipeline/call/memory/memory-budget.ts";
import { LINES, RequestBodyMemory } from "./pipeline/call/memory/request-body-memory.ts";
import { ResponseMemory } from "./pipeline/call/memory/response-memory.ts";
import { RunningCallers } from "./pipeline/call/memory/running-callers.ts";
import { ToolLists } from "./pipeline/call/memory/tool-lists.ts";
import { Turns } from "./pipeline/call/memory/turns.ts";
import type { Clock, Log, Ports } from "./ports.ts";
import { TRANSFORMS } from "./transforms.ts";

/** Everything that a request of this isolate works with. */
export interface Deps {
  readonly env: Env;
  readonly ports: Ports;
  readonly memory: IsolateMemory;
  /** The work of the isolate's requests. */
  readonly underWay: WorkUnderWay;
  readonly cell: CellAdmission;
  readonly control: ControlCalls;
  readonly budgets: TenantBudgetClient;
  /** The parts that the first request would lack, in words; null if none. */
  readonly missingPart: () => Promise<string | null>;
  /** The tokens between the planes that are accepted; calls carry the first. Without one the internal routes refuse every request. */
  readonly internalTokens: () => Promise<readonly string[]>;
  /** The reaction to a wrong token. */
  readonly authFailures: AuthFailureHandler;
  /** The Ledger that keeps the cell's alerts, on a fresh stub. */
  readonly alertLedger: () => LedgerApi;
  /** The same for another cell; null for a cell that is neither the Worker's own nor listed. */
  readonly ofCell: (name: string) => Deps | null;
}

interface Isolate {
  readonly env: Env;
  readonly of: (cell: string) => Deps;
}

let composed: Isolate | EnvError | null = null;

/**
 * The parts of the isolate, for the cell that a request belongs to. Throws EnvError, at every call, when a variable is
 * malformed.
 */
export function depsOf(bindings: Bindings, request: Request): Deps {
  composed ??= compose(bindings);
  if (composed instanceof EnvError) throw composed;
  const { env, of } = composed;
  return of(env.cells.length === 0 ? env.cell : cellFor(request.cf as RequestOrigin | undefined, env.cells, env.cell));
}

/** One instance per isolate of the parts that all cells share; the isolate's alerts and events go to its own cell. */
function compose(bindings: Bindings): Isolate | EnvError {
  try {
    const env = parseEnv(bindings);
    const unknown = unknownVariables(bindings);
    if (env.strictEnv && unknown.length > 0) throw new EnvError(unknownText(unknown));
    for (const each of unknown) consoleLog.event("variable_unknown", { ...each });
    const clock = Date.now;
    const stubs = new ObjectStubs(bindings, env.cells);
    // one each: if the store is late for one use, the others still call it
    const storeFor = (use: string) => new RedisClient(env.redis, clock, consoleLog, use);
    const client = storeFor("records");
    const uuid = () => crypto.randomUUID();
    const ledger = () => stubs.ledger(alertLedgerOf(env.cell));
    const alerts = new LedgerAlerts({
      ledger,
      clock,
      sleep: timerSleep,
      uuid,
      keepAlive: waitUntil,
      log: consoleLog,
    });
    const patienceMs = env.admissionPatienceMs;
    const admissionOf = (cell: string) => {
      const member = uuid();
      const leaseMs = patienceMs === 0 ? undefined : holderLeaseMs(patienceMs);
      const owner =
        leaseMs === undefined ? null : new OwnerWatch(async () => await stubs.cell(cell).life(member), clock, leaseMs);
      const lost = new LostRows({ ledger: () => stubs.ledger(`${cell}:0`), clock, keepAlive: waitUntil });
      const shards = env.ledgerShards;
      const direct = new CellAdmission({ stubs, cell, shards, alerts, log: consoleLog, calls: owner?.calls, lost });
      const inner = new MemberAdmission({ member, direct, clock, keepAlive: waitUntil, log: consoleLog, leaseMs });
      if (owner === null) return { direct, admission: inner };
      const lease = (onEnd: () => void) => owner.begin(onEnd);
      const cluster = { patienceMs, clock, sleep: timerSleep, alerts, lease, keepAlive: waitUntil };
      return { direct, admission: new ClusterAdmission(inner, cluster) };
    };
    const own = admissionOf(env.cell);
    const events = new CellEventCounter(
      async (counted) => await own.direct.withCell(async (stub) => await stub.tally(counted)),
      clock,
      waitUntil,
    );
    let tokens: Promise<readonly string[]> | undefined;
    const internalTokens = async () => {
      tokens ??= internalTokensOf(env);
      return await tokens;
    };
    const control = new ControlCalls(env.internalBaseUrl, internalTokens);
    const refusals = new AuthFailureHandler({ clock, sleep: timerSleep, alerts, events, log: consoleLog });
    const fill = new ControlFill({ control, clock, keepAlive: waitUntil });
    const directory = new RedisDirectory(client, clock, waitUntil, alerts, () => fill.ask());
    const otlp = otlpTarget(env.otel);
    const cacheMemory = new MemoryBudget(CACHE_MEMORY_BYTES, () => hot.evictOldest());
    const hot = new IsolateResponseCache(cacheMemory, clock, () => directory.epoch());
    const shared: Omit<Ports, "admission"> = {
      clock,
      sleep: timerSleep,
      random: { uuid, fraction: Math.random },
      directory,
      energy: new RedisEnergy(directory, client, clock),
      upstream: upstreamHttp(bindings.UPSTREAMS),
      decode: decodeBody,
      diagnostics: new UpstreamDiagnostics(clock, bindings.UPSTREAMS),
      responseCache: new RedisResponseCache({
        client: storeFor("response_cache"),
        hot,
        clock,
        keepAlive: waitUntil,
        alerts,
      }),
      mcpSessions: new RedisMcpSessions({
        client: storeFor("mcp_sessions"),
        clock,
        perTenant: env.storedObjectsPerTenant,
      }),
      upstreamObjects: new RedisUpstreamObjects({
        client: storeFor("upstream_objects"),
        clock,
        sleep: timerSleep,
        keepAlive: waitUntil,
        alerts,
        log: consoleLog,
        perTenant: env.storedObjectsPerTenant,
      }),
      originals: new RedisOriginals(client),
      lineAnswers: new RedisLineAnswers(storeFor("line_answers")),
      captures: new RedisCaptures(storeFor("captures"), clock, env.encryptionKey),
      compressor: new CompressorHttp({
        ...env.compressor,
        clock,
        fetch: async (url, init) => await fetch(url, init),
        log: consoleLog,
      }),
      transforms: TRANSFORMS,
      validateSchema: validateJsonSchema,
      secrets: new SealedSecrets(env.encryptionKey, env.encryptionKeysOld),
      alerts,
      tokens: new JoseVerifier(
        env.jwtIssuers.map((issuer, index) => ({
          issuer,
          keys: new IssuerKeys({ index, issuer, load: loadKeySet, clock, keepAlive: waitUntil, alerts, events }),
        })),
        clock,
        events,
      ),
      identities: new ControlIdentities({ control, keepAlive: waitUntil, alerts, log: consoleLog }),
      keyHashes: new KeyHashRenewals({ control, clock, keepAlive: waitUntil, log: consoleLog }),
      events,
      traces:
        otlp === null
          ? noTraces
          : new OtlpTraces({
              ...otlp,
              fetch: async (url, init) => await fetch(url, init),
              clock,
              keepAlive: waitUntil,
              events,
              log: consoleLog,
            }),
      spans: new LedgerSpans({
        ledger: (shard) => stubs.ledger(`${env.cell}:${shard}`),
        shards: env.ledgerShards,
        keepAlive: waitUntil,
        log: consoleLog,
      }),
      log: requestLog(env, clock),
    };
    const memory = {
      refusedTransforms: new Map(),
      addresses: new Map(),
      bodyMemory: new RequestBodyMemory(clock),
      lineMemory: new RequestBodyMemory(clock, LINES),
      lineAnswerMemory: new RequestBodyMemory(clock, LINES),
      keptLineMemory: new MemoryBudget(LIMITS.lineMemory),
      fileCalls: new TenantCalls({ inAll: LIMITS.fileCalls, ofTenant: LIMITS.tenantFileCalls }),
      captures: new TenantCalls({ inAll: LIMITS.captureCalls, ofTenant: LIMITS.tenantCaptureCalls }),
      answerMemory: new MemoryBudget(ANSWER_MEMORY_BYTES),
      cacheMemory,
      responseMemory: new ResponseMemory(env.responsesSocketsPerTenant, clock),
      toolLists: new ToolLists(),
      endpoints: new RecentFailures(),
      autoRouter: new AutoRouterMemory(),
      interruption: new Interruption(),
      turns: new Turns(),
    };
    const underWay = new WorkUnderWay();
    const budgets = new TenantBudgetClient(stubs);
    const known = new Map<string, Deps>();
    const of = (name: string): Deps => {
      const met = known.get(name);
      if (met !== undefined) return met;
      const { direct, admission } = name === env.cell ? own : admissionOf(name);
      const readiness = new Readiness(
        async () => await directory.isFilled(),
        async () => await stubs.cell(name).stats(),
        clock,
      );
      const deps: Deps = {
        env,
        ports: { ...shared, admission },
        memory: { ...memory, callers: new RunningCallers() },
        underWay,
        cell: direct,
        control,
        budgets,
        missingPart: async () => await readiness.missingPart(),
        internalTokens,
        authFailures: refusals,
        alertLedger: () => stubs.ledger(alertLedgerOf(name)),
        ofCell: (other) => (other === env.cell || env.cells.some((plan) => plan.cell === other) ? of(other) : null),
      };
      known.set(name, deps);
      return deps;
    };
    return { env, of };
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    consoleLog.event("configuration_invalid", { reason: error.message });
    return error;
  }
}

function requestLog({ logGatherMs, logRequestsPerSecond }: Env, clock: Clock): Log {
  const written = logGatherMs === 0 ? consoleLog : gatheredLog(logGatherMs, clock);
  return logRequestsPerSecond === 0 ? written : new SampledLog(written, clock, logRequestsPerSecond);
}

function gatheredLog(gatherMs: number, clock: Clock): Log {
  const later = (delayMs: number, run: () => void) => void setTimeout(run, delayMs);
  return new BufferedLog({
    gatherMs,
    clock,
    later,
    keepAlive: waitUntil,
    write: consoleWrite,
  });
}

/** Unfinished work of the isolate's requests: their answers, and later work such as settlements. */
class WorkUnderWay {
  #count = 0;

  get none(): boolean {
    return this.#count === 0;
  }

  /** Counts the work until it ends. */
  during(work: Promise<unknown>): Promise<unknown> {
    this.#count += 1;
    return work.finally(() => {
      this.#count -= 1;
    });
  }
}
