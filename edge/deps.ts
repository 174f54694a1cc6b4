/**
 * The only composition root of the Worker: bindings become ports, once per isolate.
 */
import { waitUntil } from "cloudflare:workers";
import { CellAdmission } from "./adapters/cell-admission.ts";
import { CellTallies } from "./adapters/cell-tallies.ts";
import { consoleLog } from "./adapters/console-log.ts";
import { ControlIdentities } from "./adapters/control-identities.ts";
import { IssuerKeys } from "./adapters/issuer-keys.ts";
import { loadKeySet } from "./adapters/key-set-http.ts";
import { alertLedgerOf, LedgerAlerts } from "./adapters/ledger-alerts.ts";
import { LedgerSpans } from "./adapters/ledger-spans.ts";
import { RedisClient } from "./adapters/redis-client.ts";
import { RedisDirectory } from "./adapters/redis-directory.ts";
import { RedisResponseCache } from "./adapters/redis-response-cache.ts";
import { SealedSecrets } from "./adapters/sealed-secrets.ts";
import { TenantBudgets } from "./adapters/tenant-budgets.ts";
import { timerSleep } from "./adapters/timer-sleep.ts";
import { JoseVerifier } from "./adapters/token-verifier.ts";
import { UpstreamDiagnostics } from "./adapters/upstream-diagnostics.ts";
import { upstreamHttp } from "./adapters/upstream-http.ts";
import type { LedgerApi } from "./domain/ask.ts";
import { EndpointMemory } from "./domain/endpoint-memory.ts";
import { type Bindings, type Env, EnvError, parseEnv } from "./env.ts";
import { BodyRoom } from "./pipeline/body-room.ts";
import type { IsolateMemory } from "./pipeline/context.ts";
import type { Ports } from "./ports.ts";

/** Everything a request of this isolate works with. */
export interface Deps {
  readonly env: Env;
  readonly ports: Ports;
  readonly memory: IsolateMemory;
  readonly cell: CellAdmission;
  /** The Ledger that keeps the cell's alerts, on a fresh stub. */
  readonly budgets: TenantBudgets;
  readonly alertLedger: () => LedgerApi;
}

let composed: Deps | EnvError | null = null;

/** The isolate's parts. Throws EnvError, at every call, when a variable is malformed. */
export function depsOf(bindings: Bindings): Deps {
  composed ??= compose(bindings);
  if (composed instanceof EnvError) throw composed;
  return composed;
}

function compose(bindings: Bindings): Deps | EnvError {
  try {
    const env = parseEnv(bindings);
    const clock = Date.now;
    const client = new RedisClient(env.redis, clock, consoleLog);
    const alertLedger = () => bindings.LEDGER.getByName(alertLedgerOf(env.cell)) as unknown as LedgerApi;
    const uuid = () => crypto.randomUUID();
    const alerts = new LedgerAlerts({ ledger: alertLedger, clock, uuid, keepAlive: waitUntil, log: consoleLog });
    const cell = new CellAdmission(bindings, env.cell, env.ledgerShards, alerts, consoleLog);
    const tallies = new CellTallies(
      async (counted) => await cell.withCell(async (stub) => await stub.tally(counted)),
      clock,
      waitUntil,
    );
    const ports: Ports = {
      clock,
      sleep: timerSleep,
      random: { uuid, fraction: Math.random },
      directory: new RedisDirectory(client, clock, waitUntil, alerts),
      admission: cell,
      upstream: upstreamHttp(bindings.UPSTREAMS),
      diagnostics: new UpstreamDiagnostics(clock, bindings.UPSTREAMS),
      responseCache: new RedisResponseCache(client, alerts),
      secrets: new SealedSecrets(env.encryptionKey),
      alerts,
      tokens: new JoseVerifier(
        env.jwtIssuers.map((issuer, index) => ({
          issuer,
          keys: new IssuerKeys({ index, issuer, load: loadKeySet, clock, keepAlive: waitUntil, alerts, tallies }),
        })),
        clock,
        tallies,
      ),
      identities: new ControlIdentities({
        baseUrl: env.internalBaseUrl,
        internalToken: env.internalToken,
        keepAlive: waitUntil,
        alerts,
        log: consoleLog,
      }),
      tallies,
      spans: new LedgerSpans({
        ledger: (shard) => bindings.LEDGER.getByName(`${env.cell}:${shard}`) as unknown as LedgerApi,
        shards: env.ledgerShards,
        keepAlive: waitUntil,
        log: consoleLog,
      }),
      log: consoleLog,
    };
    const memory = { usageOptionRefused: new Map(), bodyRoom: new BodyRoom(), endpoints: new EndpointMemory() };
    return { env, ports, memory, cell, budgets: new TenantBudgets(bindings), alertLedger };
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    consoleLog.event("configuration_invalid", { reason: error.message });
    return error;
  }
}
