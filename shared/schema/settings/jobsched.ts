/**
 * The batch job scheduler of the provisioner (docs/rules/settings.md#job-scheduler). The token is a secret: stored sealed,
 * shown by its last four characters. Only the provisioner's own read contains it in clear.
 */
import * as z from "zod";
import { shownTime } from "../../fields/common-fields.ts";
import { flag, freeText, oneOf, reportedText, requiredText, revField, warningsField } from "../common.ts";
import { baseUrl, headerSecret, storedBaseUrl } from "../upstream.ts";

export const TICK_OUTCOMES = ["ok", "idle", "error"] as const;
const ALIASES_MAX = 10_000;

const nodeAlias = z.object({ host: requiredText(253), ip: requiredText(253) });
const fields = {
  enabled: flag,
  api_version: requiredText(32).regex(/^[A-Za-z0-9.]+$/, "must be letters, digits and dots"),
  user: freeText(200).regex(/^[\x20-\x7e]*$/, "must be printable ASCII"),
  node_aliases: z
    .array(nodeAlias, { error: "must be a list of {host, ip}" })
    .max(ALIASES_MAX, `must have at most ${ALIASES_MAX} entries`),
};

/** The stored value, with a sealed token. */
export const jobschedValueSchema = z.object({
  enabled: fields.enabled.default(false),
  url: storedBaseUrl.default(""),
  api_version: fields.api_version.default("v0.0.40"),
  user: fields.user.default(""),
  token: z.string().nullable().default(null),
  token_last4: z.string().nullable().default(null),
  node_aliases: fields.node_aliases.default([]),
});
export type JobschedValue = z.infer<typeof jobschedValueSchema>;

/** PUT /settings/jobsched: omitted fields keep their value, and so does a token that is sent blank. */
export const jobschedBodySchema = z
  .object({
    ...fields,
    url: baseUrl,
    token: headerSecret.nullable(),
    clear_token: flag,
  })
  .partial()
  .meta({ id: "SetJobsched" });

export const jobschedSchema = z
  .object({
    enabled: z.boolean(),
    url: z.string(),
    api_version: z.string(),
    user: z.string(),
    token_set: z.boolean(),
    /** Null when no token is set, or when it is too short to show a part of it. */
    token_last4: z.string().nullable(),
    provisioner_running: z.boolean(),
    provisioner_last_seen_secs: z.number().int().nullable(),
    last_outcome: z.enum(TICK_OUTCOMES).nullable(),
    last_error: z.string().nullable(),
    node_aliases: z.array(nodeAlias),
    rev: revField,
    warnings: warningsField,
  })
  .meta({ id: "Jobsched" });
export type Jobsched = z.infer<typeof jobschedSchema>;

/** GET /settings/jobsched/resolved: the provisioner's read, with the outcome of its previous run. */
export const jobschedResolvedQuerySchema = z.object({
  outcome: oneOf(TICK_OUTCOMES).optional(),
  error: reportedText(500).optional(),
  holder: requiredText(100).meta({ description: "Unique name of the calling provisioner process" }).optional(),
});

export const jobschedResolvedSchema = z
  .object({
    enabled: z.boolean(),
    url: z.string(),
    api_version: z.string(),
    user: z.string(),
    token: z.string().nullable(),
    node_aliases: z.array(nodeAlias),
    installation_id: z.string().meta({ description: "Identifies this gateway in the comments of its jobs" }),
    may_act: z.boolean().meta({
      description: "False while another provisioner, or another `holder`, holds the provisioner lease",
    }),
  })
  .meta({ id: "JobschedResolved" });
export type JobschedResolved = z.infer<typeof jobschedResolvedSchema>;

/** POST /settings/jobsched/test: when the token says that it expires, and one ping. */
export const jobschedTestSchema = z
  .object({
    token: z.object({
      set: z.boolean(),
      expired: z.boolean(),
      expires_at: shownTime.nullable(),
      expires_in_secs: z.number().int().nullable(),
    }),
    ping: z.object({
      ok: z.boolean(),
      status_code: z.number().int().nullable(),
      latency_ms: z.number().int(),
      error: z.string().nullable(),
    }),
  })
  .meta({ id: "JobschedTest" });
export type JobschedTest = z.infer<typeof jobschedTestSchema>;

/** GET /jobsched/resources: what a form offers to choose from. */
export const schedulerResourcesSchema = z
  .object({
    partitions: z.array(
      z.object({
        name: z.string(),
        nodes: z.number().int().meta({ description: "Number of nodes in the partition" }),
        state: z.string(),
      }),
    ),
    nodes: z.array(
      z.object({
        name: z.string(),
        gres: z.string(),
        cpus: z.number().int(),
        memory_mb: z.number().int(),
        state: z.string(),
      }),
    ),
    accounts: z.array(z.string()),
    qos: z.array(z.string()),
  })
  .meta({ id: "SchedulerResources" });
export type SchedulerResources = z.infer<typeof schedulerResourcesSchema>;
