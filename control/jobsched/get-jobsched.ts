/**
 * Reads the job scheduler's settings, the token masked.
 */
import type { Jobsched } from "../../shared/schema/settings/jobsched.ts";
import type { HotStore } from "../hot-store/hot-store.ts";
import type { VerbContext } from "../kernel/context.ts";
import { jobschedSetting } from "../settings/definitions.ts";
import { readSetting } from "../settings/setting.ts";
import { jobschedRecord } from "./jobsched-record.ts";

/** The settings and how the provisioner is. */
export async function getJobsched(ctx: VerbContext, store: HotStore): Promise<Jobsched> {
  return await jobschedRecord(store, (await readSetting(ctx, jobschedSetting)).value, ctx.now());
}
