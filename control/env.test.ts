import { describe, expect, it } from "vitest";
import { parseEnv } from "./env.ts";
import { EnvError } from "./kernel/env-field.ts";

const token = { GATEWAY_ADMIN_TOKEN: "t" };

describe("the control service's configuration", () => {
  it("has the documented defaults", () => {
    expect(parseEnv(token)).toMatchObject({
      adminListen: { host: "0.0.0.0", port: 9180 },
      metricsListen: { host: "0.0.0.0", port: 9091 },
      internalToken: undefined,
      databaseUrl: "postgres://gateway:gateway@127.0.0.1:5432/gateway",
      redisUrl: "redis://127.0.0.1:6379",
      usageRetentionDays: 180,
      seeds: { alerts: {}, auto_router: {} },
      clickhouse: { url: "http://127.0.0.1:8123", db: "gateway", user: "default", password: "" },
      ssrf: { blockPrivate: false, allowedCidrs: [], poolIdleMs: 15_000, tcpKeepAliveMs: 30_000 },
      drainMs: 30_000,
      cell: "local",
      cells: [{ cell: "local", url: "http://127.0.0.1:8080" }],
      upstreamBaseUrl: "http://127.0.0.1:8081",
      modelHealth: { enabled: true, intervalSecs: 900, timeoutMs: 30_000, retentionDays: 30 },
    });
  });

  it("checks the health of models at the configured interval, and at most every minute", () => {
    const variables = {
      GATEWAY_MODEL_HEALTH_ENABLED: "off",
      GATEWAY_MODEL_HEALTH_INTERVAL_SECS: "5",
      GATEWAY_MODEL_HEALTH_TIMEOUT_SECS: "2",
      GATEWAY_MODEL_HEALTH_RETENTION_DAYS: "7",
    };
    const { modelHealth } = parseEnv({ ...token, ...variables });
    expect(modelHealth).toEqual({ enabled: false, intervalSecs: 60, timeoutMs: 2000, retentionDays: 7 });
  });

  it("refuses to start without an admin token", () => {
    expect(() => parseEnv({})).toThrow("GATEWAY_ADMIN_TOKEN is required");
    expect(() => parseEnv({ GATEWAY_ADMIN_TOKEN: "" })).toThrow("GATEWAY_ADMIN_TOKEN is required");
  });

  it("reads addresses, cells and ranges", () => {
    const env = parseEnv({
      ...token,
      GATEWAY_ADMIN_LISTEN: "[::1]:0",
      GATEWAY_CELL: "eu",
      GATEWAY_CELLS:
        '[{"cell":"eu","url":"https://eu.example","hint":"weur"},{"cell":"us","url":"https://us.example"}]',
      GATEWAY_BLOCK_PRIVATE_NETWORKS: "On",
      GATEWAY_ALLOWED_PRIVATE_CIDRS: "10.0.0.0/8, fc00::/7",
    });
    expect(env.adminListen).toEqual({ host: "::1", port: 0 });
    expect(env.cells).toEqual([
      { cell: "eu", url: "https://eu.example" },
      { cell: "us", url: "https://us.example" },
    ]);
    expect(env.ssrf).toMatchObject({ blockPrivate: true, allowedCidrs: ["10.0.0.0/8", "fc00::/7"] });
  });

  it("drains for less time under a launcher, which must end other parts too", () => {
    expect(parseEnv({ ...token, GATEWAY_PARENT_WATCH: "1" }).drainMs).toBe(5_000);
  });

  it.each(["redis://:secret@h:6380/2", "rediss://h", "https://h", "REDIS://h"])(
    "finds the key-value store at %s",
    (url) => {
      expect(parseEnv({ ...token, GATEWAY_REDIS_URL: url }).redisUrl).toBe(url);
    },
  );

  it.each([
    [
      "GATEWAY_SLACK_WEBHOOK_URL",
      "https://chat.example/hook",
      { alerts: { slack_webhook_url: "https://chat.example/hook" } },
    ],
    ["GATEWAY_SLACK_ALERT_MIN_INTERVAL_SECS", "60", { alerts: { min_interval_secs: 60 } }],
    ["GATEWAY_SLACK_ALERT_MIN_INTERVAL_SECS", "0", { alerts: { min_interval_secs: 0 } }],
    ["GATEWAY_AUTO_CLASSIFIER_ENABLED", "yes", { auto_router: { classifier_enabled: true } }],
    ["GATEWAY_AUTO_CLASSIFIER_ENABLED", "off", { auto_router: { classifier_enabled: false } }],
    ["GATEWAY_AUTO_CLASSIFIER_MODEL", "tiny", { auto_router: { classifier_model: "tiny" } }],
    ["GATEWAY_AUTO_CLASSIFIER_TIMEOUT_MS", "100", { auto_router: { classifier_timeout_ms: 100 } }],
  ])("seeds a setting with %s=%s alone", (variable, value, seeds) => {
    expect(parseEnv({ ...token, [variable]: value }).seeds).toEqual({ alerts: {}, auto_router: {}, ...seeds });
  });

  it("keeps raw rows for at least a day", () => {
    const days = (text: string): number =>
      parseEnv({ ...token, GATEWAY_USAGE_RETENTION_DAYS: text }).usageRetentionDays;
    expect({ zero: days("0"), one: days("1"), padded: days(" 5 "), empty: days("") }).toEqual({
      zero: 1,
      one: 1,
      padded: 5,
      empty: 180,
    });
  });

  const WHOLE = [
    "GATEWAY_UPSTREAM_POOL_IDLE_SECS",
    "GATEWAY_UPSTREAM_TCP_KEEPALIVE_SECS",
    "GATEWAY_USAGE_RETENTION_DAYS",
    "GATEWAY_COMPRESSOR_TIMEOUT_MS",
    "GATEWAY_MODEL_HEALTH_INTERVAL_SECS",
    "GATEWAY_MODEL_HEALTH_TIMEOUT_SECS",
    "GATEWAY_MODEL_HEALTH_RETENTION_DAYS",
    "GATEWAY_SLACK_ALERT_MIN_INTERVAL_SECS",
    "GATEWAY_AUTO_CLASSIFIER_TIMEOUT_MS",
  ];
  it.each(WHOLE)("reads %s in decimal digits, blank as unset, and nothing else", (variable) => {
    const parse = (value: string) => () => parseEnv({ ...token, [variable]: value });
    for (const value of ["", "  ", "7", " 7 ", "007"]) expect(parse(value)).not.toThrow();
    const unset = parseEnv(token);
    for (const value of ["", " \t"]) expect(parseEnv({ ...token, [variable]: value })).toEqual(unset);
    const wrong = ["1e3", "0x10", "1_000", "+5", "-5", "5.0", "٣", "Infinity", "NaN", "9007199254740992", "5 5", "5s"];
    for (const value of wrong) expect(parse(value)).toThrow(variable);
  });

  it.each(WHOLE.filter((variable) => variable !== "GATEWAY_MODEL_HEALTH_INTERVAL_SECS"))(
    "refuses %s that no timer or date can hold",
    (variable) => {
      expect(() => parseEnv({ ...token, [variable]: "9007199254740991" })).toThrow(variable);
    },
  );

  it.each([
    ["GATEWAY_ADMIN_LISTEN", "9180"],
    ["GATEWAY_METRICS_LISTEN", "host:99999"],
    ["GATEWAY_DATABASE_URL", "sqlite://x"],
    ["GATEWAY_REDIS_URL", "ftp://h"],
    ["GATEWAY_REDIS_URL", "redis://h/notanumber"],
    ["GATEWAY_REDIS_URL", "localhost:6379"],
    ["GATEWAY_CLICKHOUSE_URL", "nowhere"],
    ["GATEWAY_CLICKHOUSE_DB", "a-b"],
    ["GATEWAY_ENCRYPTION_KEY", "dG9vLXNob3J0"],
    ["GATEWAY_BLOCK_PRIVATE_NETWORKS", "2"],
    ["GATEWAY_ALLOWED_PRIVATE_CIDRS", "10.0.0.0"],
    ["GATEWAY_UPSTREAM_POOL_IDLE_SECS", "0"],
    ["GATEWAY_MODEL_HEALTH_ENABLED", "maybe"],
    ["GATEWAY_MODEL_HEALTH_INTERVAL_SECS", "0"],
    ["GATEWAY_MODEL_HEALTH_TIMEOUT_SECS", "1.5"],
    ["GATEWAY_MODEL_HEALTH_RETENTION_DAYS", "-1"],
    ["GATEWAY_UPSTREAM_TCP_KEEPALIVE_SECS", "soon"],
    ["GATEWAY_SLACK_WEBHOOK_URL", "chat.example"],
    ["GATEWAY_SLACK_ALERT_MIN_INTERVAL_SECS", "86401"],
    ["GATEWAY_AUTO_CLASSIFIER_ENABLED", "perhaps"],
    ["GATEWAY_AUTO_CLASSIFIER_MODEL", "x".repeat(301)],
    ["GATEWAY_AUTO_CLASSIFIER_TIMEOUT_MS", "0"],
    ["GATEWAY_AUTO_CLASSIFIER_TIMEOUT_MS", "10001"],
    ["GATEWAY_CELL", "UPPER"],
    ["GATEWAY_CELLS", "[]"],
    ["GATEWAY_EDGE_BASE_URL", "ws://h"],
  ])("names %s when it is %j", (variable, value) => {
    const parse = (): unknown => parseEnv({ ...token, [variable]: value });
    expect(parse).toThrow(EnvError);
    expect(parse).toThrow(variable);
  });
});
