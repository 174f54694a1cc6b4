/**
 * The job scheduler's settings as admins are shown them: the token masked, the provisioner by its heartbeat (decisions
 * §9.5).
 */
import { z } from "zod";
import { storeKeys } from "../../shared/records.ts";
import { type Jobsched, type JobschedValue, TICK_OUTCOMES } from "../../shared/schema/settings/jobsched.ts";
import type { HotStore } from "../hot-store/hot-store.ts";
import { readStoredJson } from "../hot-store/stored-json.ts";

const RUNNING_WITHIN_MS = 60_000;

/** What the provisioner leaves behind with every read of its settings (decisions §32.1). */
const heartbeatSchema = z.object({
  at_ms: z.number().int(),
  outcome: z.enum(TICK_OUTCOMES).nullable(),
  error: z.string().nullable(),
});

/** The view of a stored value. */
export async function jobschedRecord(store: HotStore, value: JobschedValue, now: Date): Promise<Jobsched> {
  const heartbeat = await readStoredJson(store, storeKeys.provisionerHeartbeat, heartbeatSchema);
  const { token, token_last4, ...shown } = value;
  const ageMs = heartbeat === null ? null : Math.max(0, now.getTime() - heartbeat.at_ms);
  return {
    ...shown,
    token_set: token !== null,
    token_last4,
    provisioner_running: ageMs !== null && ageMs <= RUNNING_WITHIN_MS,
    provisioner_last_seen_secs: ageMs === null ? null : Math.floor(ageMs / 1000),
    last_outcome: heartbeat?.outcome ?? null,
    last_error: heartbeat?.error ?? null,
  };
}
