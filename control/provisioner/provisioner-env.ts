/**
 * The provisioner's variables (docs/rules/provisioner.md#variables), which it has inside the control service and alone.
 */
import { z } from "zod";
import { planeVariables } from "../../shared/catalogues/plane-variables.ts";
import { envErrorText, envFlag, envText, envWhole } from "../../shared/env/env-fields.ts";
import { strictVariables } from "../../shared/env/unknown-variables.ts";
import type { SsrfPolicy } from "../../shared/network/ssrf.ts";
import { PORT_SPAN_DEFAULT } from "../../shared/schema/job-script.ts";
import { adminBaseUrlField, EnvError, requiredField } from "../kernel/env-field.ts";
import type { ProvisionerOptions } from "./provisioner.ts";

const DAY_SECS = 86_400;
const FAILURES_MAX = 1000;
const SPAN_MAX = 1000;

/** The variables of the provisioner as fields of a schema. */
export const provisionerVariables = {
  GATEWAY_PROVISIONER_ENABLED: envFlag(true).describe(
    "Off: this control service runs no [provisioner](docs/rules/provisioner.md#where-it-runs); another process does.",
  ),
  GATEWAY_PROVISIONER_INTERVAL_SECS: envWhole(15, 1, 600).describe("Time between two runs (ticks) of the provisioner."),
  GATEWAY_PROVISIONER_HEALTH_TIMEOUT_SECS: envWhole(5, 1, 60).describe("Timeout of a probe of a replica's server."),
  GATEWAY_PROVISIONER_WARMUP_TIMEOUT_SECS: envWhole(600, 0, DAY_SECS).describe(
    "Timeout of the request that warms up a new replica; 0: no request is sent.",
  ),
  GATEWAY_PROVISIONER_LOST_RETENTION_SECS: envWhole(900, 0, 365 * DAY_SECS).describe(
    "How long a lost replica is shown and counts as a failure.",
  ),
  GATEWAY_PROVISIONER_RESTART_AFTER_FAILURES: envWhole(20, 0, FAILURES_MAX).describe(
    "Failed minus successful probes after which a running replica is restarted; 0: never, not even for failed health checks.",
  ),
  GATEWAY_PROVISIONER_DRAIN_SECS: envWhole(60, 0, DAY_SECS).describe(
    "How long requests can finish after their endpoint was removed, before its job is cancelled.",
  ),
  GATEWAY_PORT_SPAN: envWhole(PORT_SPAN_DEFAULT, 1, SPAN_MAX).describe(
    "Number of ports in each replica's [window](docs/rules/provisioner.md#port-windows).",
  ),
  GATEWAY_PROVISIONER_JOB_PREFIX: envText("gateway-")
    .refine(
      (text) => /^[A-Za-z0-9._-]{0,64}$/.test(text),
      "must be at most 64 letters, digits, dots, dashes and underscores",
    )
    .meta({ values: "at most 64 letters, digits, dots, dashes, underscores" })
    .describe("Prefix of the names of jobs and endpoints."),
};

/** How the provisioner works in this process. */
export interface ProvisionerEnv {
  /** False: the control service leaves the work to a provisioner that runs alone. */
  readonly enabled: boolean;
  readonly intervalMs: number;
  readonly healthTimeoutMs: number;
  /** 0: no warm-up. */
  readonly warmUpTimeoutMs: number;
  readonly options: ProvisionerOptions;
}

/** The parsed variables with their units. */
export function provisionerEnv(env: z.infer<z.ZodObject<typeof provisionerVariables>>): ProvisionerEnv {
  return {
    enabled: env.GATEWAY_PROVISIONER_ENABLED,
    intervalMs: env.GATEWAY_PROVISIONER_INTERVAL_SECS * 1000,
    healthTimeoutMs: env.GATEWAY_PROVISIONER_HEALTH_TIMEOUT_SECS * 1000,
    warmUpTimeoutMs: env.GATEWAY_PROVISIONER_WARMUP_TIMEOUT_SECS * 1000,
    options: {
      prefix: env.GATEWAY_PROVISIONER_JOB_PREFIX,
      portSpan: env.GATEWAY_PORT_SPAN,
      drainMs: env.GATEWAY_PROVISIONER_DRAIN_SECS * 1000,
      lostRetentionMs: env.GATEWAY_PROVISIONER_LOST_RETENTION_SECS * 1000,
      restartAfterMisses: env.GATEWAY_PROVISIONER_RESTART_AFTER_FAILURES,
    },
  };
}

/** The configuration of a provisioner that runs alone. */
export interface LoneProvisionerEnv extends ProvisionerEnv {
  readonly adminUrl: string;
  readonly adminToken: string;
  readonly policy: SsrfPolicy;
}

/** The variables of a provisioner that runs alone. */
export const loneProvisionerVariables = {
  ...strictVariables,
  ...provisionerVariables,
  GATEWAY_ADMIN_TOKEN: requiredField("is required: use the control service's token"),
  GATEWAY_ADMIN_BASE_URL: adminBaseUrlField,
  GATEWAY_BLOCK_PRIVATE_NETWORKS: planeVariables.GATEWAY_BLOCK_PRIVATE_NETWORKS,
  GATEWAY_ALLOWED_PRIVATE_CIDRS: planeVariables.GATEWAY_ALLOWED_PRIVATE_CIDRS,
};

const loneSchema = z.object(loneProvisionerVariables);

/** Validates the environment of a provisioner that runs alone. Throws EnvError. */
export function parseLoneProvisionerEnv(variables: Readonly<Record<string, string | undefined>>): LoneProvisionerEnv {
  const result = loneSchema.safeParse(variables);
  if (!result.success) throw new EnvError(envErrorText(result.error));
  const env = result.data;
  return {
    ...provisionerEnv(env),
    adminUrl: env.GATEWAY_ADMIN_BASE_URL,
    adminToken: env.GATEWAY_ADMIN_TOKEN,
    policy: { blockPrivate: env.GATEWAY_BLOCK_PRIVATE_NETWORKS, allowedCidrs: env.GATEWAY_ALLOWED_PRIVATE_CIDRS },
  };
}
