import { describe, expect, it } from "vitest";
import { readEdgeEnv } from "./edge.ts";

const EDGE = {
  GATEWAY_INTERNAL_BASE_URL: "http://control:9180",
  GATEWAY_INTERNAL_TOKEN: "token-between-the-planes",
  GATEWAY_REDIS_URL: "redis://store:6379",
  GATEWAY_CLICKHOUSE_URL: "http://clickhouse:8123",
};
const read = (more: Readonly<Record<string, string | undefined>> = {}) => readEdgeEnv({ ...EDGE, ...more }, "/srv");

describe("a data plane alone", () => {
  it("has real stores, and neither demo nor console", () => {
    const config = read({ GATEWAY_DEMO: "1", GATEWAY_DASHBOARD: "1", DASHBOARD_PASSWORD: "password" });
    expect(config.variables).not.toHaveProperty("DASHBOARD_PASSWORD");
    expect(config).toMatchObject({
      redis: { kind: "redis" },
      clickhouseUrl: "http://clickhouse:8123",
      demo: false,
      dashboard: false,
      variables: { GATEWAY_INTERNAL_BASE_URL: "http://control:9180" },
    });
  });

  it.each([
    ["GATEWAY_INTERNAL_BASE_URL", undefined, /^GATEWAY_INTERNAL_BASE_URL is required by a data plane alone: the Mana/],
    ["GATEWAY_INTERNAL_TOKEN", " ", /^GATEWAY_INTERNAL_TOKEN is required by a data plane alone: the same as/],
    ["GATEWAY_REDIS_URL", "", /^GATEWAY_REDIS_URL is required by a data plane alone/],
    ["GATEWAY_CLICKHOUSE_URL", undefined, /^GATEWAY_CLICKHOUSE_URL is required by a data plane alone/],
    ["GATEWAY_REDIS_URL", "store:6379", /^GATEWAY_REDIS_URL must be a redis:/],
  ])("is refused by name: %s=%s", (name, value, message) => {
    expect(() => read({ [name]: value })).toThrow(message);
  });

  it("may have the admin token in place of the internal one, which is derived from it", () => {
    expect(read({ GATEWAY_INTERNAL_TOKEN: undefined, GATEWAY_ADMIN_TOKEN: "admin-token" })).toMatchObject({
      internalToken: undefined,
      adminToken: "admin-token",
    });
  });

  it("joins a cluster without what only a control service needs", () => {
    const cluster = {
      GATEWAY_CLUSTER_BUCKET: "s3://gateway/objects",
      GATEWAY_CLUSTER_LISTEN: "10.0.0.1:7000",
      GATEWAY_CLUSTER_KEY: "0123456789abcdef0123456789abcdef",
    };
    expect(read(cluster).cluster).toMatchObject({ listen: "10.0.0.1:7000" });
    expect(() => read({ ...cluster, GATEWAY_WORKERS: "2" })).toThrow(/^GATEWAY_WORKERS must be 1 in a cluster/);
  });
});
