/**
 * Reads the job scheduler's settings, the token masked.
 */
import type { Jobsched } from "../../../shared/schema/settings/jobsched.ts";
import type { KeyStore } from "../../publish/key-store.ts";
import type { VerbContext } from "../context.ts";
import { jobschedSetting } from "./definitions.ts";
import { jobschedRecord } from "./jobsched-record.ts";
import { readSetting } from "./setting.ts";

/** The settings and how the provisioner is. */
export async function getJobsched(ctx: VerbContext, store: KeyStore): Promise<Jobsched> {
  return await jobschedRecord(store, (await readSetting(ctx, jobschedSetting)).value, ctx.now());
}
