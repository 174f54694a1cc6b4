/**
 * The job scheduler's settings (docs/rules/settings.md#job-scheduler). Admins see the token masked, and the state of the
 * provisioner by its heartbeat. Only the provisioner's own read returns the token in clear, and that read writes the
 * heartbeat.
 */
import { z } from "zod";
import { unseal } from "../../../shared/crypto/seal.ts";
import { originOf } from "../../../shared/network/origin.ts";
import { storeKeys } from "../../../shared/records.ts";
import {
  type Jobsched,
  type JobschedResolved,
  type JobschedValue,
  jobschedBodySchema,
  jobschedResolvedQuerySchema,
  TICK_OUTCOMES,
} from "../../../shared/schema/settings/jobsched.ts";
import type { VerbContext } from "../../kernel/context.ts";
import type { HotStore } from "../../kernel/hot-store/hot-store.ts";
import { readStoredJson } from "../../kernel/hot-store/stored-json.ts";
import { isKept, keptSecretWarnings } from "../../kernel/kept-secrets.ts";
import { dropUndefined, parse, requireWhenEnabled } from "../../kernel/parse.ts";
import { sealNewSecret } from "../../kernel/seal-secret.ts";
import { jobschedSetting } from "../../kernel/settings/definitions.ts";
import { readSetting, type SettingVerbs, settingVerbs } from "../../kernel/settings/setting.ts";
import { checkInfrastructureUrl } from "../../kernel/upstream-address.ts";
import type { ProvisionerCounters } from "./provisioner-counters.ts";
import { recordTick, takeProvisionerLease } from "./provisioner-state.ts";

const RUNNING_WITHIN_MS = 60_000;
const HEARTBEAT_KEPT_SECS = 3600;
/** A shorter token is not shown in part, because four of its characters would be too many. */
const SHOWN_FROM_LENGTH = 12;

/** What each read of the provisioner writes to the store (docs/rules/storage-layouts.md#key-value-keys). */
const heartbeatSchema = z.object({
  at_ms: z.number().int(),
  outcome: z.enum(TICK_OUTCOMES).nullable(),
  error: z.string().nullable(),
});

/** The admins' verbs. The provisioner's next run uses the new values. A change throws 400, also `address_blocked`. */
export const jobschedSettings = (store: HotStore): SettingVerbs<Jobsched> =>
  settingVerbs({
    setting: jobschedSetting,
    body: jobschedBodySchema,
    check: async (ctx, body) => await checkInfrastructureUrl(ctx, "url", body.url ?? ""),
    merge: async (ctx, before, { token, clear_token, ...body }) => {
      const wanted = { ...before, ...dropUndefined(body), ...(await tokenFields(ctx, token, clear_token, before)) };
      if (wanted.enabled) requireWhenEnabled(wanted, ["url", "user"]);
      return wanted;
    },
    warnings: (body, before, after) => [
      ...keptSecretWarnings(
        {
          secret: "token",
          address: "url",
          kept: before.url !== "" && body.clear_token !== true && isKept(body.token || null, before.token),
        },
        originOf(before.url),
        originOf(after.url),
      ),
    ],
    show: async (ctx, { value }) => await withHeartbeat(store, value, ctx.now()),
  });

/**
 * The provisioner's own read, the only one that answers a secret. It carries the outcome of the provisioner's previous run,
 * and takes or prolongs the lease of its `holder` (docs/rules/managed-models.md#one-provisioner). Throws 400. When the store
 * does not answer, the heartbeat is lost but the read succeeds.
 */
export async function resolveJobsched(
  ctx: VerbContext,
  store: HotStore,
  counters: Pick<ProvisionerCounters, "ticked">,
  query: unknown,
): Promise<JobschedResolved> {
  const { outcome, error, holder } = parse(jobschedResolvedQuerySchema, query);
  const { token, token_last4: _, ...settings } = (await readSetting(ctx, jobschedSetting)).value;
  const heartbeat = { at_ms: ctx.now().getTime(), outcome: outcome ?? null, error: error || null };
  await store
    .putWithTtl(storeKeys.provisionerHeartbeat, JSON.stringify(heartbeat), HEARTBEAT_KEPT_SECS)
    .catch(() => undefined);
  if (outcome !== undefined) counters.ticked(outcome);
  const { installationId } = await recordTick(ctx, { outcome: heartbeat.outcome, error: heartbeat.error });
  return {
    ...settings,
    token: token === null ? null : await unseal(token, ctx.sealKey),
    installation_id: installationId,
    may_act: await takeProvisionerLease(ctx, holder),
  };
}

async function withHeartbeat(store: HotStore, value: JobschedValue, now: Date): Promise<Omit<Jobsched, "rev">> {
  const heartbeat = await readStoredJson(store, storeKeys.provisionerHeartbeat, heartbeatSchema);
  const { token, token_last4, ...settings } = value;
  const ageMs = heartbeat === null ? null : Math.max(0, now.getTime() - heartbeat.at_ms);
  return {
    ...settings,
    token_set: token !== null,
    token_last4,
    provisioner_running: ageMs !== null && ageMs <= RUNNING_WITHIN_MS,
    provisioner_last_seen_secs: ageMs === null ? null : Math.floor(ageMs / 1000),
    last_outcome: heartbeat?.outcome ?? null,
    last_error: heartbeat?.error ?? null,
  };
}

async function tokenFields(
  ctx: VerbContext,
  token: string | null | undefined,
  clear: boolean | undefined,
  before: JobschedValue,
): Promise<Pick<JobschedValue, "token" | "token_last4">> {
  if (clear === true) return { token: null, token_last4: null };
  if (token === undefined || token === null || token === "")
    return { token: before.token, token_last4: before.token_last4 };
  const last4 = token.length < SHOWN_FROM_LENGTH ? null : token.slice(-4);
  return { token: await sealNewSecret(ctx, token, null), token_last4: last4 };
}
