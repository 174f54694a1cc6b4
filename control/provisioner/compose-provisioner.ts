/**
 * Puts the provisioner together (docs/rules/provisioner.md#where-it-runs): the same parts inside the control service, where
 * the client's calls go straight to the application, and alone, where they go over the network.
 */
import { randomUUID } from "node:crypto";
import type { SsrfPolicy } from "../../shared/network/ssrf.ts";
import { type GatewayClient, gatewayClient } from "../api/client/client.ts";
import type { Logger } from "../kernel/log.ts";
import { managementPort } from "./management-client.ts";
import { Provisioner, type Tick } from "./provisioner.ts";
import type { ProvisionerEnv } from "./provisioner-env.ts";
import { JobServers } from "./servers.ts";
import { SlurmScheduler } from "./slurm-scheduler.ts";

/** How long one call of the Management API may take. */
const CALL_MS = 10_000;
const ACTOR = "provisioner";

interface ProvisionerPlace {
  readonly env: ProvisionerEnv;
  /** Names this process among all that may provision: only one of them works at a time. */
  readonly holder: string;
  readonly adminUrl: string;
  readonly adminToken: string;
  /** Which addresses of nodes may be probed. */
  readonly policy: SsrfPolicy;
  /** Calls the Management API; absent: over the network. */
  readonly fetch?: (request: Request) => Promise<Response>;
  readonly log: Logger;
}

/** A provisioner that is run tick by tick, and ended with the process. */
export interface RunningProvisioner {
  readonly tick: () => Promise<Tick>;
  readonly end: () => void;
}

/** Starts nothing: the caller runs the ticks, one after another. */
export function composeProvisioner({ env, policy, holder, log, ...api }: ProvisionerPlace): RunningProvisioner {
  const servers = new JobServers({ ...env, policy });
  const provisioner = new Provisioner({
    management: managementPort(clientOf(api), holder),
    scheduler: (settings) => new SlurmScheduler(settings),
    servers,
    options: env.options,
    newIntentId: randomUUID,
    nowMs: Date.now,
  });
  return {
    tick: async () => {
      const done = await provisioner.tick();
      if (done.outcome === "error") log.warn({ event: "provisioner_tick_failed", reason: done.error });
      return done;
    },
    end: () => servers.end(),
  };
}

function clientOf({
  adminUrl,
  adminToken,
  fetch,
}: Pick<ProvisionerPlace, "adminUrl" | "adminToken" | "fetch">): GatewayClient {
  const call = fetch ?? globalThis.fetch;
  return gatewayClient({
    url: adminUrl,
    token: adminToken,
    actor: ACTOR,
    fetch: async (request) => {
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(CALL_MS)]);
      return await call(new Request(request, { signal }));
    },
  });
}
