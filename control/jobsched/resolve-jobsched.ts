/**
 * The provisioner's own read: the settings with the token in clear. The read itself is the heartbeat, and carries the
 * outcome of the provisioner's previous tick (decisions §9.5). It is the only read that answers a secret.
 */
import { storeKeys } from "../../shared/records.ts";
import { type JobschedResolved, jobschedResolvedQuerySchema } from "../../shared/schema/settings/jobsched.ts";
import { unseal } from "../../shared/seal.ts";
import type { HotStore } from "../hot-store/hot-store.ts";
import type { VerbContext } from "../kernel/context.ts";
import { parse } from "../kernel/parse.ts";
import { jobschedSetting } from "../settings/definitions.ts";
import { readSetting } from "../settings/setting.ts";

const HEARTBEAT_KEPT_SECS = 3600;

/** The settings. Throws 400. A store that does not answer costs the heartbeat, not the read. */
export async function resolveJobsched(ctx: VerbContext, store: HotStore, query: unknown): Promise<JobschedResolved> {
  const { outcome, error } = parse(jobschedResolvedQuerySchema, query);
  const { token, token_last4: _, ...shown } = (await readSetting(ctx, jobschedSetting)).value;
  const heartbeat = { at_ms: ctx.now().getTime(), outcome: outcome ?? null, error: error || null };
  await store
    .putWithTtl(storeKeys.provisionerHeartbeat, JSON.stringify(heartbeat), HEARTBEAT_KEPT_SECS)
    .catch(() => undefined);
  return { ...shown, token: token === null ? null : await unseal(token, ctx.sealKey) };
}
