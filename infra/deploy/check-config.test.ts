import { describe, expect, it } from "vitest";
import { type ConfigFacts, checkConfig } from "./check-config.ts";
import { type WorkerConfig, workerConfigOf } from "./worker-config.ts";
import { WORKER_RULES } from "./worker-rules.ts";

const VARS = {
  GATEWAY_CELL: "eu",
  GATEWAY_REDIS_URL: "https://redis.example.com",
  GATEWAY_CLICKHOUSE_URL: "https://clickhouse.example.com",
  GATEWAY_INTERNAL_BASE_URL: "https://control.example.com",
};
const SECRETS = ["GATEWAY_INTERNAL_TOKEN", "GATEWAY_ENCRYPTION_KEY", "GATEWAY_API_KEY_PEPPER"];

const RAW = {
  name: "gateway",
  compatibility_date: "2026-11-17",
  durable_objects: { bindings: [{ name: "CELL", class_name: "Cell" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["Cell"] }],
  limits: { cpu_ms: 1 },
};

const configWith = (more: object = {}): WorkerConfig =>
  workerConfigOf({ ...RAW, vars: VARS, secrets: { required: SECRETS }, ...more });

const problemsOf = (more: Partial<ConfigFacts>): readonly string[] =>
  checkConfig({
    environment: "production",
    top: workerConfigOf(RAW),
    config: configWith(),
    own: {},
    rules: WORKER_RULES,
    runtimeDate: "2026-11-17",
    today: "2026-11-24",
    ...more,
  }).flatMap(({ what, problem }) => (problem === null ? [] : [`${what}: ${problem}`]));

const withVars = (vars: object): Partial<ConfigFacts> => ({ config: configWith({ vars: { ...VARS, ...vars } }) });

describe("the check of an environment", () => {
  it("finds nothing in one that is whole", () => {
    expect(problemsOf({})).toEqual([]);
  });

  it("names what differs from the top level", () => {
    const bindings = [{ name: "CELLS", class_name: "Cell" }];
    const config = configWith({ durable_objects: { bindings }, limits: { cpu_ms: 2 } });
    expect(problemsOf({ config })).toEqual([
      expect.stringMatching(/^environment: durable_objects of env.production differs/),
      expect.stringMatching(/^environment: limits of env.production differs/),
    ]);
  });

  it("refuses a date that the tested runtime does not know, and one of the future", () => {
    const top = workerConfigOf({ ...RAW, compatibility_date: "2026-11-20" });
    const config = configWith({ compatibility_date: "2026-11-20" });
    expect(problemsOf({ top, config })).toEqual([expect.stringContaining("later than 2026-11-17")]);
    expect(problemsOf({ top, config, runtimeDate: "2026-12-01", today: "2026-11-19" })).toEqual([
      expect.stringContaining("in the future"),
    ]);
  });
});

describe("the check of variables", () => {
  it("refuses what is missing, what only one machine reaches, and what the Worker does not read", () => {
    const vars = { GATEWAY_REDIS_URL: " ", GATEWAY_CLICKHOUSE_URL: "http://127.0.0.1:8123", GATEWAY_REDIS_URI: "x" };
    expect(problemsOf(withVars(vars))).toEqual([
      expect.stringContaining("GATEWAY_REDIS_URI is not a variable of the Worker"),
      expect.stringContaining("GATEWAY_REDIS_URL is not set"),
      expect.stringContaining("GATEWAY_CLICKHOUSE_URL is an address of one machine"),
    ]);
    for (const address of [
      "localhost:1",
      "[::1]",
      "redis",
      "0.0.0.0",
      "10.1.2.3",
      "192.168.1.1",
      "[fd00::1]",
      "169.254.1.1",
    ])
      expect(problemsOf(withVars({ GATEWAY_REDIS_URL: `https://${address}` }))).toEqual([
        expect.stringContaining("GATEWAY_REDIS_URL is an address of one machine"),
      ]);
  });

  it("refuses an address to which credentials would travel unencrypted, and takes a public one", () => {
    expect(problemsOf(withVars({ GATEWAY_CLICKHOUSE_URL: "http://clickhouse.example.com" }))).toEqual([
      expect.stringContaining("GATEWAY_CLICKHOUSE_URL is not an https address"),
    ]);
    for (const address of ["https://8.8.8.8", "https://[2606:4700::1111]", "https://store.example.com:8443/path"])
      expect(problemsOf(withVars({ GATEWAY_REDIS_URL: address }))).toEqual([]);
  });

  it("refuses a malformed one by the Worker's own rules, without its value", () => {
    const problems = problemsOf(withVars({ GATEWAY_GLOBAL_MAX_IN_FLIGHT: "many" }));
    expect(problems).toEqual([expect.stringContaining("GATEWAY_GLOBAL_MAX_IN_FLIGHT")]);
    expect(problems.join()).not.toContain("many");
    expect(problemsOf({ own: { GATEWAY_ENCRYPTION_KEY: "short" } }).join()).not.toContain("short");
    expect(problemsOf({ own: { GATEWAY_ENCRYPTION_KEY: "short" } })).toHaveLength(1);
  });

  it("refuses a credential in the file, and one that only the control service has", () => {
    expect(problemsOf(withVars({ GATEWAY_REDIS_TOKEN: "t" }))).toEqual([
      expect.stringContaining("GATEWAY_REDIS_TOKEN is set in [env.production.vars]"),
    ]);
    const config = configWith({ secrets: { required: ["GATEWAY_INTERNAL_TOKEN"] } });
    expect(problemsOf({ config, own: { GATEWAY_API_KEY_PEPPER: "p" } })).toEqual([
      expect.stringContaining("GATEWAY_API_KEY_PEPPER is set here and not in env.production.secrets"),
    ]);
  });

  it("refuses cells that the control service has otherwise", () => {
    const cells = JSON.stringify([{ cell: "eu", url: "https://gateway.example.com" }]);
    const own = { GATEWAY_CELLS: cells.replace("example", "another") };
    expect(problemsOf({ ...withVars({ GATEWAY_CELLS: cells }), own })).toEqual([
      expect.stringContaining("GATEWAY_CELLS of the Worker differs"),
    ]);
    expect(problemsOf({ ...withVars({ GATEWAY_CELLS: cells }), own: { GATEWAY_CELLS: cells } })).toEqual([]);
    for (const onOneSide of [{ own }, withVars({ GATEWAY_CELLS: cells })])
      expect(problemsOf(onOneSide)).toEqual([expect.stringContaining("GATEWAY_CELLS of the Worker differs")]);
  });

  it("refuses another database for rows than the control service reads, set or left out", () => {
    const differs = [expect.stringContaining("GATEWAY_CLICKHOUSE_DB of the Worker differs")];
    expect(problemsOf({ own: { GATEWAY_CLICKHOUSE_DB: "another" } })).toEqual(differs);
    expect(problemsOf(withVars({ GATEWAY_CLICKHOUSE_DB: "another" }))).toEqual(differs);
    expect(
      problemsOf({ ...withVars({ GATEWAY_CLICKHOUSE_DB: "gateway" }), own: { GATEWAY_CLICKHOUSE_DB: "" } }),
    ).toEqual([]);
    const own = { GATEWAY_CLICKHOUSE_URL: "https://another.example.com" };
    expect(problemsOf({ own })).toEqual([expect.stringContaining("GATEWAY_CLICKHOUSE_URL of the Worker differs")]);
  });

  it("refuses more than the platform takes", () => {
    const names = Object.fromEntries(Array.from({ length: 130 }, (_, at) => [`NAME_${at}`, "x"]));
    expect(problemsOf(withVars(names)).at(-1)).toBe("limits: 137 variables and secrets: the platform allows 128");
    const paths = Array.from({ length: 1200 }, () => "/v1/x").join(",");
    expect(problemsOf(withVars({ GATEWAY_PASSTHROUGH_PATHS: paths }))).toEqual([
      "limits: GATEWAY_PASSTHROUGH_PATHS is larger than the 5120 bytes that the platform allows",
    ]);
  });
});
