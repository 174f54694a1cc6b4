/**
 * A bucket in the environment: one variable has its address, `s3://bucket/prefix`, and another one its settings. A message names a
 * variable or setting, and never its value.
 */
import { BUCKET_VALUES, type BucketSetting, bucketSettings } from "../../../shared/env/bucket-settings.ts";
import type { BucketAddress } from "./bucket.ts";

/** The address of a bucket. */
export const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,62})(?:\/([\w./-]*))?$/;

/** The field of the variable that has the settings. */
export const bucketOptions = bucketSettings.prefault("").meta({ values: BUCKET_VALUES });

export type BucketOptions = readonly (readonly [BucketSetting, string])[];

/** Refuses settings that are missing or wrong. */
export function checkBucketOptions(options: BucketOptions, refuse: (message: string) => void): void {
  const settings = new Map<BucketSetting, string>(options);
  if (settings.has("aws_credentials_file")) refuse("cannot have aws_credentials_file, which only clusters read");
  for (const name of ["aws_access_key_id", "aws_secret_access_key"] as const)
    if (!settings.get(name)) refuse(`must have ${name}`);
  const endpoint = settings.get("aws_endpoint");
  if (endpoint === undefined) {
    if (!settings.get("aws_region")) refuse("must have aws_region, or aws_endpoint of a store of another provider");
    return;
  }
  if (!URL.canParse(endpoint) || !/^https?:/.test(endpoint)) refuse("must have an http or https URL as aws_endpoint");
  else if (endpoint.startsWith("http:") && settings.get("aws_allow_http") !== "true")
    refuse("must have aws_allow_http=true when aws_endpoint is an http URL");
}

/** Null: the text is not the address of a bucket. */
export function bucketAddress(to: string, options: BucketOptions): BucketAddress | null {
  const [, bucket, prefix = ""] = BUCKET.exec(to) ?? [];
  if (bucket === undefined) return null;
  const settings = new Map<BucketSetting, string>(options);
  const region = settings.get("aws_region") || "auto";
  return {
    bucket,
    prefix: prefix.replace(/^\/+|\/+$/g, ""),
    endpoint: (settings.get("aws_endpoint") ?? `https://s3.${region}.amazonaws.com`).replace(/\/+$/, ""),
    region,
    accessKeyId: settings.get("aws_access_key_id") ?? "",
    secretAccessKey: settings.get("aws_secret_access_key") ?? "",
    sessionToken: settings.get("aws_token") || undefined,
  };
}
