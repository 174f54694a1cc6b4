/**
 * GATEWAY_BACKUP_*: where scheduled backups go, how often they are made, and how many are kept
 * (docs/recover.md#scheduled-backups). A message names a variable or setting, and never its value.
 */
import { isAbsolute, resolve } from "node:path";
import { z } from "zod";
import { envErrorText, envText, envWhole } from "../../shared/env/env-fields.ts";
import {
  BUCKET,
  type BucketOptions,
  bucketAddress,
  bucketOptions,
  checkBucketOptions,
} from "../kernel/bucket/bucket-env.ts";
import { EnvError } from "../kernel/env-field.ts";
import type { BackupPlace } from "./places/backup-place.ts";
import { bucketPlace } from "./places/bucket-place.ts";
import { folderPlace } from "./places/folder-place.ts";
import type { Retention } from "./retention.ts";

/** How scheduled backups are made. */
export interface BackupEnv extends Retention {
  readonly place: BackupPlace;
  readonly intervalSecs: number;
}

const DAY_SECS = 86_400;

/** The fields of the environment's schema. */
export const backupVariables = {
  GATEWAY_BACKUP_TO: envText("")
    .refine(
      (text) => text === "" || isAbsolute(text) || BUCKET.test(text),
      "must be an absolute path such as /var/backups/gateway, or s3://bucket/prefix",
    )
    .meta({ values: "an absolute path, `s3://bucket/prefix`" })
    .describe("Where [scheduled backups](docs/recover.md#scheduled-backups) are stored."),
  GATEWAY_BACKUP_OPTIONS: bucketOptions.describe(
    "Settings of the backup bucket, as in [cluster.md](docs/cluster.md#start).",
  ),
  GATEWAY_BACKUP_INTERVAL_SECS: envWhole(DAY_SECS, 60, 31 * DAY_SECS).describe("Time between scheduled backups."),
  GATEWAY_BACKUP_KEEP: envWhole(30, 1, 10_000).describe("How many scheduled backups are kept."),
  GATEWAY_BACKUP_KEEP_DAYS: envWhole(0, 0, 36_500).describe(
    "Days after which scheduled backups are removed; 0: never because of their age.",
  ),
};

type BackupVariables = z.infer<z.ZodObject<typeof backupVariables>>;

/** Refuses settings of a bucket that are missing or have no effect. */
export function requireBackupPlace(env: BackupVariables, context: z.RefinementCtx<BackupVariables>): void {
  const { GATEWAY_BACKUP_TO: to, GATEWAY_BACKUP_OPTIONS: options } = env;
  const refuse = (message: string): void =>
    context.addIssue({ code: "custom", path: ["GATEWAY_BACKUP_OPTIONS"], message });
  if (!to.startsWith("s3:")) {
    if (options.length > 0) refuse("must be unset unless GATEWAY_BACKUP_TO is a bucket");
    return;
  }
  checkBucketOptions(options, refuse);
}

const placeSchema = z.object(backupVariables).superRefine(requireBackupPlace);

/** The place of this name, with the settings of a bucket as their variable has them. Throws EnvError. */
export function placeNamed(to: string, options: string | undefined): BackupPlace {
  const variables = { GATEWAY_BACKUP_TO: resolve(to), GATEWAY_BACKUP_OPTIONS: undefined };
  const bucket = { GATEWAY_BACKUP_TO: to, GATEWAY_BACKUP_OPTIONS: options ?? "" };
  const { data, error } = placeSchema.safeParse(to.startsWith("s3:") ? bucket : variables);
  if (error !== undefined) throw new EnvError(envErrorText(error));
  return placeOf(data.GATEWAY_BACKUP_TO, data.GATEWAY_BACKUP_OPTIONS);
}

/** Null: no backup is scheduled. */
export function backupEnv(env: BackupVariables): BackupEnv | null {
  const { GATEWAY_BACKUP_TO: to } = env;
  if (to === "") return null;
  return {
    place: placeOf(to, env.GATEWAY_BACKUP_OPTIONS),
    intervalSecs: env.GATEWAY_BACKUP_INTERVAL_SECS,
    keep: env.GATEWAY_BACKUP_KEEP,
    keepDays: env.GATEWAY_BACKUP_KEEP_DAYS,
  };
}

function placeOf(to: string, options: BucketOptions): BackupPlace {
  const address = bucketAddress(to, options);
  return address === null ? folderPlace(to) : bucketPlace(address);
}
