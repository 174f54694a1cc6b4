/**
 * The only composition root of the Worker: bindings become ports, once per isolate.
 */
import { waitUntil } from "cloudflare:workers";
import { CellAdmission } from "./adapters/cell-admission.ts";
import { consoleLog } from "./adapters/console-log.ts";
import { RedisClient } from "./adapters/redis-client.ts";
import { RedisDirectory } from "./adapters/redis-directory.ts";
import { RedisResponseCache } from "./adapters/redis-response-cache.ts";
import { SealedSecrets } from "./adapters/sealed-secrets.ts";
import { timerSleep } from "./adapters/timer-sleep.ts";
import { upstreamHttp } from "./adapters/upstream-http.ts";
import { EndpointMemory } from "./domain/endpoint-memory.ts";
import { type Bindings, type Env, EnvError, parseEnv } from "./env.ts";
import type { IsolateMemory } from "./pipeline/context.ts";
import type { Ports } from "./ports.ts";

/** Everything a request of this isolate works with. */
export interface Deps {
  readonly env: Env;
  readonly ports: Ports;
  readonly memory: IsolateMemory;
  readonly cell: CellAdmission;
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
    const cell = new CellAdmission(bindings, env.cell, env.ledgerShards, consoleLog);
    const ports: Ports = {
      clock,
      sleep: timerSleep,
      random: { uuid: () => crypto.randomUUID(), fraction: Math.random },
      directory: new RedisDirectory(client, clock, waitUntil),
      admission: cell,
      upstream: upstreamHttp,
      responseCache: new RedisResponseCache(client, consoleLog),
      secrets: new SealedSecrets(env.encryptionKey),
      log: consoleLog,
    };
    return { env, ports, memory: { usageOptionRefused: new Map(), endpoints: new EndpointMemory() }, cell };
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    consoleLog.event("configuration_invalid", { reason: error.message });
    return error;
  }
}
