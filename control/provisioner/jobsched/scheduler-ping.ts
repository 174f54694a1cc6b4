/**
 * The part of the batch job scheduler's REST interface that a test of the connection needs
 * (docs/rules/settings.md#job-scheduler).
 */

import { INFRASTRUCTURE_POLICY } from "../../../shared/network/ssrf.ts";
import type { JobschedTest } from "../../../shared/schema/settings/jobsched.ts";
import { fetchStatus, OutboundError } from "../../kernel/outbound/bounded-fetch.ts";

const PING_TIMEOUT_MS = 5000;

/** Where the scheduler is and who asks. */
export interface SchedulerAccess {
  readonly url: string;
  readonly api_version: string;
  readonly user: string;
  readonly token: string | null;
}

/** One ping and how long it took. Never throws. */
export async function pingScheduler(access: SchedulerAccess): Promise<JobschedTest["ping"]> {
  const begun = performance.now();
  const latency = (): number => Math.round(performance.now() - begun);
  try {
    const url = `${access.url}/slurm/${access.api_version}/ping`;
    const status = await fetchStatus({
      url,
      timeoutMs: PING_TIMEOUT_MS,
      headers: schedulerHeaders(access),
      policy: INFRASTRUCTURE_POLICY,
    });
    const ok = status >= 200 && status < 300;
    return { ok, status_code: status, latency_ms: latency(), error: ok ? null : `http ${status}` };
  } catch (error) {
    const reason = error instanceof OutboundError ? error.message : "connect failed";
    return { ok: false, status_code: null, latency_ms: latency(), error: reason };
  }
}

/** The headers with which the scheduler knows the caller. */
export function schedulerHeaders({ user, token }: SchedulerAccess): Record<string, string> {
  return { "x-slurm-user-name": user, ...(token === null ? {} : { "x-slurm-user-token": token }) };
}
