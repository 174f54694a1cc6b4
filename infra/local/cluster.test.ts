import { describe, expect, it } from "vitest";
import { readStackEnv } from "./env.ts";
import { workerdConfig } from "./workerd/config.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const CLUSTER = {
  GATEWAY_DATABASE_URL: "postgres://db/gateway",
  GATEWAY_REDIS_URL: "redis://store:6379",
  GATEWAY_CLICKHOUSE_URL: "http://clickhouse:8123",
  GATEWAY_ADMIN_TOKEN: "admin-of-the-cluster",
  GATEWAY_DASHBOARD: "0",
  GATEWAY_CLUSTER_BUCKET: "s3://gateway/objects",
  GATEWAY_CLUSTER_LISTEN: "10.0.0.1:7000",
  GATEWAY_CLUSTER_KEY: KEY,
  GATEWAY_CLUSTER_OPTIONS:
    "aws_endpoint=https://s3.internal, aws_region=auto aws_access_key_id=me,aws_secret_access_key=s=e",
};
const read = (more: Readonly<Record<string, string | undefined>> = {}) => readStackEnv({ ...CLUSTER, ...more }, "/srv");

describe("a cluster", () => {
  it("has no demo, keeps credentials apart from settings, and passes neither on to other parts", () => {
    const { cluster, demo, variables } = read();
    expect(cluster).toEqual({
      bucket: "s3://gateway/objects",
      options: ["aws_endpoint=https://s3.internal", "aws_region=auto"],
      credentials: { AWS_ACCESS_KEY_ID: "me", AWS_SECRET_ACCESS_KEY: "s=e" },
      listen: "10.0.0.1:7000",
      advertise: undefined,
      key: KEY,
    });
    expect({ demo, clusterVariables: Object.keys(variables).filter((name) => name.includes("CLUSTER")) }).toEqual({
      demo: false,
      clusterVariables: [],
    });
    expect(readStackEnv({}, "/srv")).toMatchObject({ cluster: null, demo: true });
  });

  it.each([
    ["GATEWAY_CLUSTER_BUCKET", undefined, /^GATEWAY_CLUSTER_BUCKET is required in a cluster$/],
    ["GATEWAY_CLUSTER_BUCKET", "https://bucket", /^GATEWAY_CLUSTER_BUCKET must be s3:/],
    ["GATEWAY_CLUSTER_BUCKET", "gs://bucket/x", /^GATEWAY_CLUSTER_OPTIONS must be unset with a gs:/],
    ["GATEWAY_CLUSTER_LISTEN", undefined, /^GATEWAY_CLUSTER_LISTEN is required in a cluster$/],
    ["GATEWAY_CLUSTER_LISTEN", "10.0.0.1", /^GATEWAY_CLUSTER_LISTEN must be host:port/],
    ["GATEWAY_CLUSTER_LISTEN", "10.0.0.1:0", /^GATEWAY_CLUSTER_LISTEN must be host:port/],
    ["GATEWAY_CLUSTER_LISTEN", "10.0.0.1:65536", /^GATEWAY_CLUSTER_LISTEN must be host:port/],
    ["GATEWAY_CLUSTER_LISTEN", "0.0.0.0:7000", /^GATEWAY_CLUSTER_ADVERTISE is required when/],
    ["GATEWAY_CLUSTER_ADVERTISE", "[::]:7000", /^GATEWAY_CLUSTER_ADVERTISE must be an address/],
    ["GATEWAY_CLUSTER_KEY", undefined, /^GATEWAY_CLUSTER_KEY is required in a cluster$/],
    ["GATEWAY_CLUSTER_KEY", KEY.slice(1), /^GATEWAY_CLUSTER_KEY must have at least 32 bytes$/],
    [
      "GATEWAY_CLUSTER_OPTIONS",
      "aws_regoin=auto",
      /^GATEWAY_CLUSTER_OPTIONS has the unknown setting aws_regoin; known/,
    ],
    ["GATEWAY_CLUSTER_OPTIONS", "SECRET", /^GATEWAY_CLUSTER_OPTIONS must be name=value settings(?!.*SECRET)/],
    ["GATEWAY_DATABASE_URL", undefined, /^GATEWAY_DATABASE_URL is required in a cluster: a PostgreSQL/],
    ["GATEWAY_DATABASE_URL", "pglite:/x", /^GATEWAY_DATABASE_URL must be a postgres:/],
    ["GATEWAY_REDIS_URL", undefined, /^GATEWAY_REDIS_URL is required in a cluster/],
    ["GATEWAY_CLICKHOUSE_URL", undefined, /^GATEWAY_CLICKHOUSE_URL is required in a cluster/],
    ["GATEWAY_ADMIN_TOKEN", undefined, /^GATEWAY_ADMIN_TOKEN is required in a cluster/],
    ["GATEWAY_DASHBOARD", "1", /^DASHBOARD_PASSWORD is required in a cluster.*; DASHBOARD_SESSION_SECRET is required/],
    [
      "GATEWAY_ADMISSION_PATIENCE_SECS",
      "0",
      /^GATEWAY_ADMISSION_PATIENCE_SECS must be more than 20 in a cluster, or unset/,
    ],
    ["GATEWAY_ADMISSION_PATIENCE_SECS", "20", /^GATEWAY_ADMISSION_PATIENCE_SECS must be more than 20 in a cluster/],
    ["GATEWAY_WORKERS", "2", /^GATEWAY_WORKERS must be 1 in a cluster/],
    ["GATEWAY_DEMO", "1", /^GATEWAY_DEMO must be off in a cluster/],
  ])("is refused by name: %s=%s", (name, value, message) => {
    expect(() => read({ [name]: value })).toThrow(message);
  });

  it("requires requests to wait longer than an object can lack an owner, by the lease in use", () => {
    const patience = (secs: string, ...more: [boolean?, number?]) =>
      readStackEnv({ ...CLUSTER, GATEWAY_ADMISSION_PATIENCE_SECS: secs }, "/srv", ...more);
    expect(patience("21").cluster).not.toBeNull();
    expect(patience("8", true, 5).cluster).not.toBeNull();
    expect(() => patience("4", true, 5)).toThrow(/must be more than 4 in a cluster/);
    expect(readStackEnv({ GATEWAY_ADMISSION_PATIENCE_SECS: "5" }, "/srv").cluster).toBeNull();
  });

  it("is in the runtime's configuration, without the credentials of the bucket", () => {
    const { cluster } = read({ GATEWAY_CLUSTER_ADVERTISE: "gw-1.internal:7000" });
    const options = { exports: ["default", "Cell"], variables: [], objectsFolder: "/o", reachableUpstreams: null };
    const config = workerdConfig({ ...options, cluster: cluster === null ? null : { ...cluster, timeDivisor: 1 } });
    expect(config).toContain(
      'bucket = "s3://gateway/objects", bucketOptions = ["aws_endpoint=https://s3.internal", "aws_region=auto"]',
    );
    expect(config).toContain('address = "10.0.0.1:7000", advertise = "gw-1.internal:7000",');
    expect(config).not.toMatch(/s=e|credentials|unsafe/);
    expect(workerdConfig(options)).not.toContain("cluster");
  });
});
