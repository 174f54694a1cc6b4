/** GATEWAY_FILES_*: the bucket of the contents of files (docs/rules/batches.md#bucket). */
import type { z } from "zod";
import { envText } from "../../../shared/env/env-fields.ts";
import { type Bucket, bucketAt } from "../../kernel/bucket/bucket.ts";
import { BUCKET, bucketAddress, bucketOptions, checkBucketOptions } from "../../kernel/bucket/bucket-env.ts";

/** The fields of the environment's schema. */
export const fileVariables = {
  GATEWAY_FILES_TO: envText("")
    .refine((text) => text === "" || BUCKET.test(text), "must be s3://bucket/prefix")
    .meta({ values: "`s3://bucket/prefix`" })
    .describe("Where contents of [files](docs/rules/batches.md#bucket) are stored; unset: in the database."),
  GATEWAY_FILES_OPTIONS: bucketOptions.describe(
    "Settings of the bucket of files, as in [cluster.md](docs/cluster.md#start).",
  ),
};

type FileVariables = z.infer<z.ZodObject<typeof fileVariables>>;

/** Refuses settings of a bucket that are missing or have no effect. */
export function requireFilesBucket(env: FileVariables, context: z.RefinementCtx<FileVariables>): void {
  const { GATEWAY_FILES_TO: to, GATEWAY_FILES_OPTIONS: options } = env;
  const refuse = (message: string): void =>
    context.addIssue({ code: "custom", path: ["GATEWAY_FILES_OPTIONS"], message });
  if (to !== "") checkBucketOptions(options, refuse);
  else if (options.length > 0) refuse("must be unset unless GATEWAY_FILES_TO is a bucket");
}

/** Null: contents are in the database. */
export function filesBucket(env: FileVariables): Bucket | null {
  const address = bucketAddress(env.GATEWAY_FILES_TO, env.GATEWAY_FILES_OPTIONS);
  return address === null ? null : bucketAt(address);
}
