import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { readStackEnv, StackEnvError } from "./env.ts";

const read = (env: Record<string, string>) => readStackEnv(env, "/srv/gateway");

describe("readStackEnv", () => {
  it("has a default for everything", () => {
    expect(read({})).toMatchObject({
      proxy: { host: "0.0.0.0", port: 8080 },
      admin: { host: "127.0.0.1", port: 9180 },
      metrics: { host: "127.0.0.1", port: 9091 },
      adminToken: undefined,
      dataDir: "/srv/gateway/.data",
      objectsDir: "/srv/gateway/.data/objects",
      databaseUrl: "pglite:/srv/gateway/.data/postgres",
      redis: { kind: "embedded" },
      clickhouseUrl: undefined,
      demo: true,
      dashboard: true,
      variables: {},
    });
  });

  it("passes on what the console reads, and nothing else of the environment", () => {
    const console = { DASHBOARD_PASSWORD: "12345678", TRUSTED_ORIGINS: "*", OIDC_PROVIDERS: "[]" };
    expect(read({ ...console, MY_DASHBOARD_PASSWORD: "x", TRUSTED_ORIGINS_TOO: "x" }).variables).toEqual(console);
    const off = { GATEWAY_DASHBOARD: "0", GATEWAY_PROXY_BASE_URL: "http://g" };
    const without = read({ ...console, ...off, GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0" });
    expect(without).toMatchObject({ dashboard: false, dashboardListen: undefined, variables: off });
  });

  it.each([
    ["GATEWAY_DASHBOARD_LISTEN", "127.0.0.1:8080", "GATEWAY_PROXY_LISTEN"],
    ["GATEWAY_METRICS_LISTEN", "0.0.0.0:8080", "GATEWAY_PROXY_LISTEN"],
    ["GATEWAY_DASHBOARD_LISTEN", "0.0.0.0:9180", "GATEWAY_ADMIN_LISTEN"],
  ])("names both variables of one address: %s=%s", (variable, address, other) => {
    const proxy = { GATEWAY_PROXY_LISTEN: "127.0.0.1:8080" };
    expect(() => read({ ...proxy, [variable]: address })).toThrow(
      `${variable} and ${other} must not be the same address: give one another port`,
    );
    const others = { GATEWAY_ADMIN_LISTEN: "127.0.0.2:8080", GATEWAY_METRICS_LISTEN: "127.0.0.1:0" };
    expect(() => read({ ...proxy, ...others, GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0" })).not.toThrow();
  });

  it("passes no unknown variable on", () => {
    expect(read({ GATEWAY_CELL: "eu", GATEWAY_CEL: "x", DASHBOARD_PASSWROD: "x" }).variables).toEqual({
      GATEWAY_CELL: "eu",
    });
  });

  it("reads addresses, folders and flags; an empty variable counts as unset", () => {
    const config = read({
      GATEWAY_PROXY_LISTEN: "[::1]:0",
      GATEWAY_ADMIN_LISTEN: ":9000",
      GATEWAY_METRICS_LISTEN: "localhost:1",
      GATEWAY_DATA_DIR: "/var/data",
      GATEWAY_WAL_PATH: "wal",
      GATEWAY_DEMO: "Off",
      GATEWAY_ADMIN_TOKEN: " ",
      PATH: "/bin",
    });
    expect(config).toMatchObject({
      proxy: { host: "::1", port: 0 },
      admin: { host: "0.0.0.0", port: 9000 },
      metrics: { host: "localhost", port: 1 },
      dataDir: "/var/data",
      objectsDir: "/srv/gateway/wal",
      demo: false,
      adminToken: undefined,
    });
    expect(config.variables).not.toHaveProperty("PATH");
    expect(config.variables).not.toHaveProperty("GATEWAY_ADMIN_TOKEN");
  });

  it("opens the admin plane to other machines only with a chosen token or by configuration", () => {
    expect(read({ GATEWAY_ADMIN_TOKEN: "chosen-by-somebody" })).toMatchObject({
      admin: { host: "0.0.0.0", port: 9180 },
      metrics: { host: "0.0.0.0", port: 9091 },
    });
    expect(read({ GATEWAY_ADMIN_LISTEN: ":9180", GATEWAY_METRICS_LISTEN: "0.0.0.0:9091" })).toMatchObject({
      admin: { host: "0.0.0.0", port: 9180 },
      metrics: { host: "0.0.0.0", port: 9091 },
    });
  });

  it("replaces parts one by one", () => {
    expect(read({ GATEWAY_REDIS_URL: "redis://h:6379/1" }).redis).toEqual({ kind: "redis", url: "redis://h:6379/1" });
    expect(read({ GATEWAY_REDIS_URL: "https://h/", GATEWAY_REDIS_TOKEN: "t" }).redis).toEqual({
      kind: "rest",
      url: "https://h",
      token: "t",
    });
    expect(read({ GATEWAY_DATABASE_URL: "postgresql://u@h/db" }).databaseUrl).toBe("postgresql://u@h/db");
    expect(read({ GATEWAY_CLICKHOUSE_URL: "https://h:8443" }).clickhouseUrl).toBe("https://h:8443");
  });

  it("resolves certificate files against the working folder and passes their names to nobody", () => {
    const { tls, variables } = read({ GATEWAY_TLS_CERT_FILE: "tls/full.pem", GATEWAY_TLS_KEY_FILE: "/run/key.pem" });
    expect(tls).toEqual({ certFile: "/srv/gateway/tls/full.pem", keyFile: "/run/key.pem" });
    expect({ tls: read({}).tls, variables }).toEqual({ tls: null, variables: {} });
    expect(() => read({ GATEWAY_TLS_CERT_FILE: "a" })).toThrow(
      /^GATEWAY_TLS_KEY_FILE is required with GATEWAY_TLS_CERT/,
    );
    expect(() => read({ GATEWAY_TLS_KEY_FILE: "a" })).toThrow(
      /^GATEWAY_TLS_CERT_FILE is required with GATEWAY_TLS_KEY/,
    );
  });

  it("runs the Worker in one process by default; auto leaves a core to the objects", () => {
    const auto = Math.max(1, availableParallelism() - 1);
    for (const [text, workers] of [
      [undefined, 1],
      ["1", 1],
      [" 3 ", 3],
      ["256", 256],
      ["auto", auto],
      ["AUTO", auto],
    ] as const)
      expect(read(text === undefined ? {} : { GATEWAY_WORKERS: text }).workers).toBe(workers);
  });

  it("lets a part take 300 s until it is ready, or as long as GATEWAY_START_TIMEOUT_SECS says", () => {
    const given = read({ GATEWAY_START_TIMEOUT_SECS: " 20 " }).startTimeoutMs;
    expect({ usual: read({}).startTimeoutMs, given }).toEqual({ usual: 300_000, given: 20_000 });
  });

  it("lets requests finish for 30 s at a stop, or as long as GATEWAY_DRAIN_SECS says", () => {
    const [none, given] = ["0", "90"].map((secs) => read({ GATEWAY_DRAIN_SECS: secs }).drainMs);
    expect({ usual: read({}).drainMs, none, given }).toEqual({ usual: 30_000, none: 0, given: 90_000 });
  });

  it.each([
    ["GATEWAY_WORKERS", "0"],
    ["GATEWAY_WORKERS", "257"],
    ["GATEWAY_WORKERS", "-1"],
    ["GATEWAY_WORKERS", "1.5"],
    ["GATEWAY_WORKERS", "many"],
    ["GATEWAY_START_TIMEOUT_SECS", "0"],
    ["GATEWAY_START_TIMEOUT_SECS", "1.5"],
    ["GATEWAY_START_TIMEOUT_SECS", "86401"],
    ["GATEWAY_DRAIN_SECS", "-1"],
    ["GATEWAY_DRAIN_SECS", "half"],
    ["GATEWAY_PROXY_LISTEN", "8080"],
    ["GATEWAY_ADMIN_LISTEN", "host:65536"],
    ["GATEWAY_METRICS_LISTEN", "a:b:1"],
    ["GATEWAY_DEMO", "maybe"],
    ["GATEWAY_DATABASE_URL", "mysql://x"],
    ["GATEWAY_DATABASE_URL", "pglite:"],
    ["GATEWAY_REDIS_URL", "localhost"],
    ["GATEWAY_REDIS_URL", "redis://127.0.0.1:1/notanumber"],
    ["GATEWAY_REDIS_URL", "https://h/?x=1"],
    ["GATEWAY_CLICKHOUSE_URL", "tcp://x"],
    ["GATEWAY_CLICKHOUSE_URL", "http://127.0.0.1:9/?user=a"],
    ["GATEWAY_ADMIN_TOKEN", "short"],
    ["GATEWAY_INTERNAL_TOKEN", "with a space in it"],
  ])("names %s when it is malformed, without its value", (name, value) => {
    expect(() => read({ [name]: value })).toThrow(StackEnvError);
    expect(() => read({ [name]: value })).toThrow(new RegExp(`^${name} must `));
  });

  it("names every malformed variable at once, and a missing token", () => {
    expect(() => read({ GATEWAY_DEMO: "x", GATEWAY_PROXY_LISTEN: "x" })).toThrow(
      /GATEWAY_PROXY_LISTEN.*; GATEWAY_DEMO/,
    );
    expect(() => read({ GATEWAY_REDIS_URL: "https://h" })).toThrow(/^GATEWAY_REDIS_TOKEN /);
  });
});
