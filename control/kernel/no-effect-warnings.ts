/**
 * Warnings about what can be configured but has no effect yet: for each feature, when a body configures it, and the text of
 * the warning. Nothing is refused. The change that builds a feature removes its entry here; the last one removes this file.
 */
import type { Tenant } from "../../shared/schema/tenant.ts";

type Warnings<T> = (given: T) => readonly string[];

const when =
  <T>(isConfigured: (given: T) => boolean, text: string): Warnings<T> =>
  (given) =>
    isConfigured(given) ? [text] : [];

const BOONS = "boons have no effect yet: what is switched on is stored, and requests go upstream as they are";

/** A compression policy that is switched on. */
export const compressionWarnings = when<Tenant["compression_policy"]>(
  (policy) => policy?.enabled === true,
  "compression has no effect yet: the policy is stored, and requests go upstream as they are",
);

interface ModelFeatures {
  readonly boons?: readonly string[] | undefined;
  readonly tool_servers?: readonly string[] | undefined;
}

const modelBoonsWarnings = when<ModelFeatures>(({ boons = [] }) => boons.length > 0, BOONS);

const toolServersWarnings = when<ModelFeatures>(
  ({ tool_servers: servers = [] }) => servers.length > 0,
  "tool servers have no effect yet: they are stored, and no tools are added to requests",
);

/** A body that gives a model boons or tool servers. */
export const modelFeatureWarnings: Warnings<ModelFeatures> = (body) => [
  ...modelBoonsWarnings(body),
  ...toolServersWarnings(body),
];

/** A body that switches a boon on for all requests. */
export const boonsWarnings = when<Readonly<Record<string, unknown>>>(
  (body) => Object.entries(body).some(([field, value]) => field.endsWith("_enabled") && value === true),
  BOONS,
);

/** A body that switches the provisioner on. */
export const provisionerWarnings = when<{ readonly enabled?: boolean | undefined }>(
  (body) => body.enabled === true,
  "the provisioner has no effect yet: the settings are stored, and no jobs are started",
);

/** A body that switches the assistant on. */
export const assistantWarnings = when<{ readonly enabled?: boolean | undefined }>(
  (body) => body.enabled === true,
  "the assistant has no effect yet: the settings are stored, and nobody can ask it",
);
