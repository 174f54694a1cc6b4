import { expect, it } from "vitest";
import { z } from "zod";
import { envErrorText } from "../../shared/env/env-fields.ts";
import { backupEnv, backupVariables, requireBackupPlace } from "./backup-env.ts";

const schema = z.object(backupVariables).superRefine(requireBackupPlace);
const KEYS = "aws_access_key_id=id,aws_secret_access_key=hidden";

it("schedules nothing without a place", () => {
  expect(backupEnv(schema.parse({}))).toBeNull();
  expect(backupEnv(schema.parse({ GATEWAY_BACKUP_TO: " ", GATEWAY_BACKUP_KEEP: "" }))).toBeNull();
});

it("knows folders and buckets", () => {
  const folder = backupEnv(schema.parse({ GATEWAY_BACKUP_TO: "/var/backups/gateway" }));
  expect(folder).toMatchObject({
    intervalSecs: 86_400,
    keep: 30,
    keepDays: 0,
    place: { shown: "/var/backups/gateway" },
  });
  for (const options of [`aws_region=eu-west-1,${KEYS}`, `aws_endpoint=https://s3.internal,${KEYS},aws_token=t`]) {
    const bucket = backupEnv(
      schema.parse({ GATEWAY_BACKUP_TO: "s3://backups/gateway/", GATEWAY_BACKUP_OPTIONS: options }),
    );
    expect(bucket?.place.shown).toBe("s3://backups/gateway/");
  }
});

it.each([
  ["a relative folder", { GATEWAY_BACKUP_TO: "backups" }, "GATEWAY_BACKUP_TO must be an absolute path"],
  ["another protocol", { GATEWAY_BACKUP_TO: "gs://bucket/x" }, "GATEWAY_BACKUP_TO must be an absolute path"],
  ["a prefix that is no path", { GATEWAY_BACKUP_TO: "s3://bucket/a b" }, "GATEWAY_BACKUP_TO must be"],
  ["no credentials", { GATEWAY_BACKUP_TO: "s3://bucket" }, "GATEWAY_BACKUP_OPTIONS must have aws_access_key_id"],
  ["no region", { GATEWAY_BACKUP_TO: "s3://bucket", GATEWAY_BACKUP_OPTIONS: KEYS }, "must have aws_region"],
  [
    "http by oversight",
    { GATEWAY_BACKUP_TO: "s3://bucket", GATEWAY_BACKUP_OPTIONS: `${KEYS},aws_endpoint=http://s3.internal` },
    "must have aws_allow_http=true",
  ],
  [
    "an endpoint that is no URL",
    { GATEWAY_BACKUP_TO: "s3://bucket", GATEWAY_BACKUP_OPTIONS: `${KEYS},aws_endpoint=s3.internal` },
    "must have an http or https URL as aws_endpoint",
  ],
  [
    "a file of credentials",
    { GATEWAY_BACKUP_TO: "s3://b-1", GATEWAY_BACKUP_OPTIONS: `${KEYS},aws_region=x,aws_credentials_file=/f` },
    "aws_credentials_file, which only clusters read",
  ],
  ["settings without a bucket", { GATEWAY_BACKUP_TO: "/b", GATEWAY_BACKUP_OPTIONS: KEYS }, "must be unset unless"],
  ["an unknown setting", { GATEWAY_BACKUP_OPTIONS: "aws_secret=hidden" }, "has the unknown setting aws_secret"],
  ["none to keep", { GATEWAY_BACKUP_KEEP: "0" }, "GATEWAY_BACKUP_KEEP must be a whole number from 1 to 10000"],
  ["too often", { GATEWAY_BACKUP_INTERVAL_SECS: "59" }, "GATEWAY_BACKUP_INTERVAL_SECS must be a whole number from 60"],
])("refuses %s by its name, without its value", (_, variables, message) => {
  const { error } = schema.safeParse(variables);
  const text = error === undefined ? "" : envErrorText(error);
  expect(text).toContain(message);
  expect(text).not.toContain("hidden");
});
