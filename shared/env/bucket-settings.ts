/**
 * Settings of an S3 bucket as the text of one variable: `name=value` divided by commas or spaces, under the names that the
 * Worker's runtime knows (docs/cluster.md#start). A message names a setting, and never its value.
 */
import * as z from "zod";

const CREDENTIALS = ["aws_access_key_id", "aws_secret_access_key", "aws_token"] as const;
const SETTINGS = ["aws_endpoint", "aws_region", "aws_allow_http", "aws_credentials_file"] as const;

/** The name of a setting. */
export type BucketSetting = (typeof CREDENTIALS)[number] | (typeof SETTINGS)[number];

/** Whether a setting is a secret. */
export function isBucketCredential(name: BucketSetting): boolean {
  return CREDENTIALS.some((each) => each === name);
}

/** The reference text for such a variable. */
export const BUCKET_VALUES = "`name=value` settings, separated by commas";

/** The text as names with their values, in its order. */
export const bucketSettings = z.string().transform((text, context) => {
  const known: readonly BucketSetting[] = [...SETTINGS, ...CREDENTIALS];
  const found: (readonly [BucketSetting, string])[] = [];
  for (const entry of text.split(/[\s,]+/).filter((part) => part !== "")) {
    const at = entry.indexOf("=");
    const written = at < 0 ? "" : entry.slice(0, at);
    const name = known.find((each) => each === written);
    if (name !== undefined) {
      found.push([name, entry.slice(at + 1)]);
      continue;
    }
    const what = /^\w+$/.test(written)
      ? `has the unknown setting ${written}`
      : "must be name=value settings separated by commas";
    context.addIssue({ code: "custom", message: `${what}; known settings: ${known.join(", ")}` });
    return z.NEVER;
  }
  return found;
});
