/**
 * GATEWAY_CLUSTER_*: this machine's place in a cluster of the runtime (docs/cluster.md). Pure. The parts that belong to one
 * machine are refused here: with several machines, each would have its own version of the data.
 */
import { z } from "zod";
import {
  BUCKET_VALUES,
  type BucketSetting,
  bucketSettings,
  isBucketCredential,
} from "../../shared/env/bucket-settings.ts";

/** This machine's place in a cluster. */
export interface ClusterConfig {
  /** Where the objects are stored: `s3://bucket/prefix` or `gs://bucket/prefix`. */
  readonly bucket: string;
  /** Settings of the bucket without credentials, as `name=value`. */
  readonly options: readonly string[];
  /** The credentials of the bucket, under the names that the runtime reads from its environment. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Where this instance listens for the others, as `host:port`. */
  readonly listen: string;
  /** Where the others reach it; undefined: where it listens. */
  readonly advertise: string | undefined;
  /** The secret that only members of the cluster know. */
  readonly key: string;
}

const KEY_BYTES_MIN = 32;

/** How long the runtime's lease on its objects lasts, s. An object whose machine is lost has no owner for up to this long. */
const RUNTIME_LEASE_SECS = 20;
/** How long a request waits for an owner if no variable says so, s. */
export const CLUSTER_PATIENCE_SECS = "25";

/** A setting of an S3 bucket that is a secret -> the variable from which the runtime reads it. */
const CREDENTIALS: Readonly<Partial<Record<BucketSetting, string>>> = {
  aws_access_key_id: "AWS_ACCESS_KEY_ID",
  aws_secret_access_key: "AWS_SECRET_ACCESS_KEY",
  aws_token: "AWS_SESSION_TOKEN",
};

const bucket = z
  .string()
  .regex(/^(?:s3|gs):\/\/[^/\s]+(?:\/\S*)?$/, "must be s3://bucket/prefix or gs://bucket/prefix");

const address = z.string().superRefine((text, context) => {
  const found = /^(?:\[[0-9a-f:.]+\]|[^\s:[\]/]+):(\d{1,5})$/i.exec(text);
  const port = Number(found?.[1] ?? Number.NaN);
  if (port >= 1 && port <= 65_535) return;
  context.addIssue({
    code: "custom",
    message: "must be host:port with a port that the other machines know, such as 10.0.0.1:7000",
  });
});

/** The variables of a machine in a cluster. */
export const clusterVariables = {
  GATEWAY_CLUSTER_BUCKET: bucket
    .meta({ values: "`s3://bucket/prefix`, `gs://bucket/prefix`", default: "none" })
    .describe("Bucket of the [cluster](docs/cluster.md) that this machine joins. It stores the cluster's objects."),
  GATEWAY_CLUSTER_LISTEN: address
    .meta({ values: "`host:port`", default: "required in a cluster" })
    .describe("Address on which this instance listens for the others, on a private network."),
  GATEWAY_CLUSTER_ADVERTISE: address
    .optional()
    .meta({ values: "`host:port`", default: "`GATEWAY_CLUSTER_LISTEN`" })
    .describe("Address at which the other instances reach this one."),
  GATEWAY_CLUSTER_KEY: z
    .string()
    .refine((key) => Buffer.byteLength(key) >= KEY_BYTES_MIN, `must have at least ${KEY_BYTES_MIN} bytes`)
    .meta({ values: `at least ${KEY_BYTES_MIN} bytes`, default: "required in a cluster" })
    .describe("Secret that the instances of the cluster share."),
  GATEWAY_CLUSTER_OPTIONS: bucketSettings
    .default([])
    .meta({ values: BUCKET_VALUES })
    .describe("Settings of the cluster's S3 bucket: [start](docs/cluster.md#start)."),
};

const schema = z.object(clusterVariables).superRefine((value, context) => {
  const refuse = (name: string, message: string): void => context.addIssue({ code: "custom", path: [name], message });
  if (value.GATEWAY_CLUSTER_BUCKET.startsWith("gs:") && value.GATEWAY_CLUSTER_OPTIONS.length > 0)
    refuse(
      "GATEWAY_CLUSTER_OPTIONS",
      "must be unset with a gs:// bucket, which takes its credentials from the machine",
    );
  if (isWildcard(value.GATEWAY_CLUSTER_LISTEN) && value.GATEWAY_CLUSTER_ADVERTISE === undefined)
    refuse("GATEWAY_CLUSTER_ADVERTISE", "is required when GATEWAY_CLUSTER_LISTEN is every address of the machine");
  if (value.GATEWAY_CLUSTER_ADVERTISE !== undefined && isWildcard(value.GATEWAY_CLUSTER_ADVERTISE))
    refuse("GATEWAY_CLUSTER_ADVERTISE", "must be an address at which the other machines reach this one");
});

function isWildcard(text: string): boolean {
  return /^(?:0\.0\.0\.0|\[::\]|\*):/.test(text);
}

/** What every instance needs from outside, because an embedded or generated one belongs to one machine. */
const NEEDED: Readonly<Record<string, string>> = {
  GATEWAY_REDIS_URL: "a key-value store that all instances share",
  GATEWAY_CLICKHOUSE_URL: "a ClickHouse that all instances share",
};
/** The same, where an instance has a control service. */
const NEEDED_BY_CONTROL: Readonly<Record<string, string>> = {
  GATEWAY_DATABASE_URL: "a PostgreSQL that all instances share",
  GATEWAY_ADMIN_TOKEN: "the same token on all instances",
};
/** The same, as long as the instances serve the console. */
const NEEDED_BY_CONSOLE: Readonly<Record<string, string>> = {
  DASHBOARD_PASSWORD: "the same password on all instances, or GATEWAY_DASHBOARD=0",
  DASHBOARD_SESSION_SECRET: "the same secret on all instances, or GATEWAY_DASHBOARD=0",
};

/**
 * Reads the variables that are set and not empty. Null: no variable of a cluster is set. Otherwise the faults, each with the
 * name of its variable, or the place in the cluster.
 */
export function readCluster(
  variables: Readonly<Record<string, string>>,
  {
    hasControl,
    hasConsole,
    clusterTimeDivisor = 1,
  }: { readonly hasControl: boolean; readonly hasConsole: boolean; readonly clusterTimeDivisor?: number },
): ClusterConfig | null | { readonly problems: readonly string[] } {
  if (!Object.keys(variables).some((name) => name.startsWith("GATEWAY_CLUSTER_"))) return null;
  const parsed = schema.safeParse(variables);
  const problems = (parsed.error?.issues ?? []).map(({ path, message }) => {
    const name = path.join(".");
    return variables[name] === undefined && !message.startsWith("is required")
      ? `${name} is required in a cluster`
      : `${name} ${message}`;
  });
  const needed = {
    ...(hasControl ? NEEDED_BY_CONTROL : {}),
    ...NEEDED,
    ...(hasControl && hasConsole ? NEEDED_BY_CONSOLE : {}),
  };
  for (const [name, what] of Object.entries(needed))
    if (variables[name] === undefined) problems.push(`${name} is required in a cluster: ${what}`);
  // A request that waits for less is refused whenever a machine is lost. The Worker checks whether it is a number at all.
  const leaseSecs = RUNTIME_LEASE_SECS / clusterTimeDivisor;
  if (Number(variables["GATEWAY_ADMISSION_PATIENCE_SECS"] ?? CLUSTER_PATIENCE_SECS) <= leaseSecs)
    problems.push(
      `GATEWAY_ADMISSION_PATIENCE_SECS must be more than ${leaseSecs} in a cluster, or unset for ${CLUSTER_PATIENCE_SECS}: the scheduler of a machine that is lost has no owner for ${leaseSecs} s`,
    );
  if (variables["GATEWAY_DATABASE_URL"]?.startsWith("pglite:") === true)
    problems.push(
      "GATEWAY_DATABASE_URL must be a postgres:// URL in a cluster: one process alone can open a pglite folder",
    );
  if (parsed.data === undefined || problems.length > 0) return { problems };
  const value = parsed.data;
  const secrets = value.GATEWAY_CLUSTER_OPTIONS.filter(([name]) => isBucketCredential(name));
  return {
    bucket: value.GATEWAY_CLUSTER_BUCKET,
    options: value.GATEWAY_CLUSTER_OPTIONS.filter(([name]) => !isBucketCredential(name)).map((each) => each.join("=")),
    credentials: Object.fromEntries(secrets.map(([name, secret]) => [CREDENTIALS[name], secret])),
    listen: value.GATEWAY_CLUSTER_LISTEN,
    advertise: value.GATEWAY_CLUSTER_ADVERTISE,
    key: value.GATEWAY_CLUSTER_KEY,
  };
}
