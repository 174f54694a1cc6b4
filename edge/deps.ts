/**
 * The only composition root of the Worker: bindings become ports, once per isolate.
 */
import { waitUntil } from "cloudflare:workers";
import { deriveInternalToken } from "../shared/crypto/internal-token.ts";
import { unknownText, unknownVariables } from "../shared/env/unknown-variables.ts";
import { AuthFailureHandler } from "./adapters/auth-failure-handler.ts";
import { BufferedLog } from "./adapters/buffered-log.ts";
import { CompressorHttp } from "./adapters/compressor-http.ts";
import { consoleLog, consoleWrite } from "./adapters/console-log.ts";
import { ControlFill } from "./adapters/control-fill.ts";
import { ControlIdentities } from "./adapters/control-identities.ts";
import { IsolateResponseCache } from "./adapters/isolate-response-cache.ts";
import { IssuerKeys } from "./adapters/issuer-keys.ts";
import { validateJsonSchema } from "./adapters/json-schema.ts";
import { loadKeySet } from "./adapters/key-set-http.ts";
import { CellAdmission } from "./adapters/objects/cell-admission.ts";
import { CellEventCounter } from "./adapters/objects/cell-event-counter.ts";
import { alertLedgerOf, LedgerAlerts } from "./adapters/objects/ledger-alerts.ts";
import { LedgerSpans } from "./adapters/objects/ledger-spans.ts";
import { LostRows } from "./adapters/objects/lost-rows.ts";
import { MemberAdmission } from "./adapters/objects/member-admission.ts";
import { ObjectStubs } from "./adapters/objects/object-stubs.ts";
import { TenantBudgetClient } from "./adapters/objects/tenant-budget-client.ts";
import { noTraces, OtlpTraces } from "./adapters/otlp-traces.ts";
import { Readiness } from "./adapters/readiness.ts";
import { RedisClient } from "./adapters/redis-client.ts";
import { RedisDirectory } from "./adapters/redis-directory.ts";
import { RedisEnergy } from "./adapters/redis-energy.ts";
import { RedisMcpSessions } from "./adapters/redis-mcp-sessions.ts";
import { RedisOriginals } from "./adapters/redis-originals.ts";
import { RedisResponseCache } from "./adapters/redis-response-cache.ts";
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
import { AutoRouterMemory } from "./pipeline/call/memory/auto-router-memory.ts";
import { ANSWER_MEMORY_BYTES, CACHE_MEMORY_BYTES, MemoryBudget } from "./pipeline/call/memory/memory-budget.ts";
import { RequestBodyMemory } from "./pipeline/call/memory/request-body-memory.ts";
import { ToolLists } from "./pipeline/call/memory/tool-lists.ts";
import type { Log, Ports } from "./ports.ts";
import { TRANSFORMS } from "./transforms.ts";

/** Everything that a request of this isolate works with. */
export interface Deps {
  readonly env: Env;
  readonly ports: Ports;
  readonly memory: IsolateMemory;
  readonly cell: CellAdmission;
  readonly budgets: TenantBudgetClient;
  /** What the first request would lack, in words; null: nothing. */
  readonly missingPart: () => Promise<string | null>;
  /** The token between the planes; undefined when there is none: then the internal routes refuse every request. */
  readonly internalToken: () => Promise<string | undefined>;
  /** What follows a wrong token. */
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

/** One instance per isolate of what all cells share; the isolate's alerts and events go to its own cell. */
function compose(bindings: Bindings): Isolate | EnvError {
  try {
    const env = parseEnv(bindings);
    const unknown = unknownVariables(bindings);
    if (env.strictEnv && unknown.length > 0) throw new EnvError(unknownText(unknown));
    for (const each of unknown) consoleLog.event("variable_unknown", { ...each });
    const clock = Date.now;
    const stubs = new ObjectStubs(bindings, env.cells);
    const client = new RedisClient(env.redis, clock, consoleLog);
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
    const internalToken = internalTokenOf(env);
    const refusals = new AuthFailureHandler({ clock, sleep: timerSleep, alerts, events, log: consoleLog });
    const control = { baseUrl: env.internalBaseUrl, internalToken, keepAlive: waitUntil };
    const fill = new ControlFill({ ...control, clock });
    const directory = new RedisDirectory(client, clock, waitUntil, alerts, () => fill.ask());
    const cacheMemory = new MemoryBudget(CACHE_MEMORY_BYTES, () => hot.evictOldest());
    const hot = new IsolateResponseCache(cacheMemory, clock, () => directory.epoch());
    const shared: Omit<Ports, "admission"> = {
      clock,
      sleep: timerSleep,
      random: { uuid, fraction: Math.random },
      directory,
      energy: new RedisEnergy(directory, client, clock),
      upstream: upstreamHttp(bindings.UPSTREAMS),
      diagnostics: new UpstreamDiagnostics(clock, bindings.UPSTREAMS),
      responseCache: new RedisResponseCache({ client, hot, clock, keepAlive: waitUntil, alerts }),
      mcpSessions: new RedisMcpSessions(client),
      originals: new RedisOriginals(client),
      compressor: new CompressorHttp({
        ...env.compressor,
        clock,
        fetch: async (url, init) => await fetch(url, init),
        log: consoleLog,
      }),
      transforms: TRANSFORMS,
      validateSchema: validateJsonSchema,
      secrets: new SealedSecrets(env.encryptionKey),
      alerts,
      tokens: new JoseVerifier(
        env.jwtIssuers.map((issuer, index) => ({
          issuer,
          keys: new IssuerKeys({ index, issuer, load: loadKeySet, clock, keepAlive: waitUntil, alerts, events }),
        })),
        clock,
        events,
      ),
      identities: new ControlIdentities({ ...control, alerts, log: consoleLog }),
      events,
      traces:
        env.otelEndpoint === null
          ? noTraces
          : new OtlpTraces({
              endpoint: env.otelEndpoint,
              fetch: async (url, init) => await fetch(url, init),
              keepAlive: waitUntil,
              events,
            }),
      spans: new LedgerSpans({
        ledger: (shard) => stubs.ledger(`${env.cell}:${shard}`),
        shards: env.ledgerShards,
        keepAlive: waitUntil,
        log: consoleLog,
      }),
      log: requestLog(env.logGatherMs),
    };
    const memory = {
      refusedTransforms: new Map(),
      addresses: new Map(),
      bodyMemory: new RequestBodyMemory(clock),
      answerMemory: new MemoryBudget(ANSWER_MEMORY_BYTES),
      cacheMemory,
      toolLists: new ToolLists(),
      endpoints: new RecentFailures(),
      autoRouter: new AutoRouterMemory(),
    };
    const budgets = new TenantBudgetClient(stubs);
    const known = new Map<string, Deps>();
    const of = (name: string): Deps => {
      const met = known.get(name);
      if (met !== undefined) return met;
      const { direct, admission } = name === env.cell ? own : admissionOf(name);
      const readiness = new Readiness(
        async () => await directory.isFilled(),
        async () => await direct.withCell(async (stub) => await stub.stats()),
      );
      const deps: Deps = {
        env,
        ports: { ...shared, admission },
        memory,
        cell: direct,
        budgets,
        missingPart: async () => await readiness.missingPart(),
        internalToken,
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

/**
 * The configured token, or else one that is derived from the admin token when it is first needed
 * (docs/rules/internal-traffic.md#internal-token).
 */
function internalTokenOf({ internalToken, adminToken }: Env): () => Promise<string | undefined> {
  let derived: Promise<string | undefined> | undefined;
  return async () => {
    if (internalToken !== undefined || adminToken === undefined) return internalToken;
    derived ??= deriveInternalToken(adminToken);
    return await derived;
  };
}

function requestLog(gatherMs: number): Log {
  if (gatherMs === 0) return consoleLog;
  const later = (delayMs: number, run: () => void) => void setTimeout(run, delayMs);
  return new BufferedLog({
    gatherMs,
    clock: Date.now,
    later,
    keepAlive: waitUntil,
    write: consoleWrite,
  });
}
