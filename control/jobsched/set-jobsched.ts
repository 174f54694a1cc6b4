/**
 * Changes the job scheduler's settings; the provisioner's next tick goes by them (decisions §9.5).
 */

import { originOf } from "../../shared/origin.ts";
import { type Jobsched, type JobschedValue, jobschedBodySchema } from "../../shared/schema/settings/jobsched.ts";
import type { HotStore } from "../hot-store/hot-store.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isKept, keptSecretWarnings } from "../kernel/kept-secrets.ts";
import { provisionerWarnings } from "../kernel/no-effect-warnings.ts";
import { dropUndefined, parse, requireWhenEnabled } from "../kernel/parse.ts";
import { sealNewSecret } from "../kernel/seal-secret.ts";
import { checkInfrastructureUrl } from "../kernel/upstream-address.ts";
import { withWarnings } from "../kernel/warnings.ts";
import { jobschedSetting } from "../settings/definitions.ts";
import { saveSetting } from "../settings/setting.ts";
import { jobschedRecord } from "./jobsched-record.ts";

/** A shorter token is not shown in part: four of its characters would be too many. */
const SHOWN_FROM_LENGTH = 12;

/** The settings. Throws 400, also `address_blocked`. */
export async function setJobsched(ctx: VerbContext, store: HotStore, input: unknown): Promise<Written<Jobsched>> {
  const { token, clear_token, ...body } = parse(jobschedBodySchema, input);
  await checkInfrastructureUrl(ctx, "url", body.url ?? "");
  const merge = async (before: JobschedValue): Promise<JobschedValue> => {
    const wanted = { ...before, ...dropUndefined(body), ...(await tokenFields(ctx, token, clear_token, before)) };
    if (wanted.enabled) requireWhenEnabled(wanted, ["url", "user"]);
    return wanted;
  };
  const { record, warnings, sync } = await saveSetting(ctx, jobschedSetting, merge, (before, after) => [
    ...keptSecretWarnings(
      {
        secret: "token",
        address: "url",
        kept: before.url !== "" && clear_token !== true && isKept(token || null, before.token),
      },
      originOf(before.url),
      originOf(after.url),
    ),
    ...provisionerWarnings(body),
  ]);
  return { record: withWarnings(await jobschedRecord(store, record, ctx.now()), warnings), sync };
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
