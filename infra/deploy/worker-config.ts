/**
 * The settings of a deployment in wrangler.toml, as wrangler itself reads them: the top level, which is tested, or one of its
 * environments, which inherits neither variables nor bindings.
 */
import { z } from "zod";

const routeSchema = z.union([z.string(), z.looseObject({ pattern: z.string() }).transform(({ pattern }) => pattern)]);
const objectSchema = z.object({ name: z.string(), class_name: z.string() });

/** The parts of wrangler.toml that a deployment uses; everything else there is ignored. */
const configSchema = z.object({
  name: z.string(),
  account_id: z.string().optional(),
  route: routeSchema.optional(),
  routes: z.array(routeSchema).default([]),
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()).default([]),
  vars: z.record(z.string(), z.unknown()).default({}),
  secrets: z.object({ required: z.array(z.string()).default([]) }).optional(),
  durable_objects: z.object({ bindings: z.array(objectSchema), code_update_strategy: z.unknown().optional() }),
  migrations: z.array(z.looseObject({ tag: z.string() })).default([]),
  placement: z.unknown().optional(),
  limits: z.unknown().optional(),
  observability: z.unknown().optional(),
  preview_urls: z.boolean().optional(),
  minify: z.boolean().optional(),
  keep_names: z.boolean().optional(),
  upload_source_maps: z.boolean().optional(),
  version_metadata: z.unknown().optional(),
  definedEnvironments: z.array(z.string()).default([]),
});

/** One Worker of wrangler.toml. */
export interface WorkerConfig {
  /** The name of the Worker on the platform. */
  readonly worker: string;
  /** The account that the file names; null: none. */
  readonly accountId: string | null;
  /** Host names, each perhaps with a path and a star, at which the file lets the Worker be reached. */
  readonly routes: readonly string[];
  readonly vars: Readonly<Record<string, string>>;
  /** Names of the secrets without which wrangler uploads nothing. */
  readonly secrets: readonly string[];
  /** Tags of the object migrations, the newest last. */
  readonly migrationTags: readonly string[];
  readonly compatibilityDate: string;
  /** Settings that must be equal at the top level and in each environment, by their names in wrangler.toml. */
  readonly shared: Readonly<Record<string, unknown>>;
  /** The environments of the file. */
  readonly environments: readonly string[];
}

/** Raised by {@link readWorkerConfig}; its message is wrangler's, which names file and place. */
export class WorkerConfigError extends Error {
  override readonly name = "WorkerConfigError";
}

/** Reads the top level (`null`) or an environment of wrangler.toml at `path`. Throws WorkerConfigError. */
export async function readWorkerConfig(path: string, environment: string | null): Promise<WorkerConfig> {
  // Takes a second to load.
  const { unstable_readConfig: read } = await import("wrangler");
  try {
    const args = { config: path, ...(environment === null ? {} : { env: environment }) };
    return workerConfigOf(read(args, { hideWarnings: true }));
  } catch (error) {
    throw new WorkerConfigError(error instanceof Error ? error.message : `${path} cannot be read`);
  }
}

/** The relevant parts of a configuration that wrangler has read. Throws ZodError. */
export function workerConfigOf(read: unknown): WorkerConfig {
  const config = configSchema.parse(read);
  return {
    worker: config.name,
    accountId: config.account_id ?? null,
    routes: [...(config.route === undefined ? [] : [config.route]), ...config.routes],
    vars: Object.fromEntries(Object.entries(config.vars).map(([name, value]) => [name, String(value)])),
    secrets: config.secrets?.required ?? [],
    migrationTags: config.migrations.map(({ tag }) => tag),
    compatibilityDate: config.compatibility_date,
    shared: {
      compatibility_date: config.compatibility_date,
      compatibility_flags: config.compatibility_flags,
      durable_objects: config.durable_objects.bindings,
      "durable_objects.code_update_strategy": config.durable_objects.code_update_strategy,
      migrations: config.migrations,
      placement: config.placement,
      limits: config.limits,
      observability: config.observability,
      preview_urls: config.preview_urls,
      minify: config.minify,
      keep_names: config.keep_names,
      upload_source_maps: config.upload_source_maps,
      version_metadata: config.version_metadata,
    },
    environments: config.definedEnvironments,
  };
}

/** The names of the settings in which an environment differs from the top level, which the tests run. */
export function driftOf(top: WorkerConfig, environment: WorkerConfig): readonly string[] {
  const differs = (name: string): boolean =>
    JSON.stringify(top.shared[name]) !== JSON.stringify(environment.shared[name]);
  return Object.keys(top.shared).filter(differs);
}
