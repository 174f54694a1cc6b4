import { expect, it } from "vitest";
import { workerVariables } from "../../edge/env.ts";
import { readStackEnv, StackEnvError } from "./env.ts";
import { checkBindings, workerBindings } from "./runtime.ts";

const bindings = (env: Record<string, string>) =>
  workerBindings(
    { config: readStackEnv(env, "/srv"), internalToken: "internal", internalTokenOld: undefined },
    { url: "http://127.0.0.1:1", token: "redis" },
    { url: "http://127.0.0.1:2", user: "default", password: "clickhouse" },
    "http://127.0.0.1:3",
  );

it("gives the Worker its own variables and the addresses of the stores", () => {
  expect(
    bindings({
      GATEWAY_CELL: "a",
      GATEWAY_ADMIN_TOKEN: "admin-token",
      GATEWAY_REDIS_URL: "redis://x",
      GATEWAY_DEMO: "0",
    }),
  ).toEqual({
    GATEWAY_CELL: "a",
    GATEWAY_INTERNAL_BASE_URL: "http://127.0.0.1:3",
    GATEWAY_INTERNAL_TOKEN: "internal",
    GATEWAY_REDIS_URL: "http://127.0.0.1:1",
    GATEWAY_REDIS_TOKEN: "redis",
    GATEWAY_CLICKHOUSE_URL: "http://127.0.0.1:2",
    GATEWAY_CLICKHOUSE_USER: "default",
    GATEWAY_CLICKHOUSE_PASSWORD: "clickhouse",
    GATEWAY_LOG_GATHER_MS: "20",
  });
});

it("passes on every variable that the Worker reads, and keeps those that it sets itself", () => {
  const own = /^GATEWAY_(?:(?:ADMIN|INTERNAL)_TOKEN(?:_OLD)?|REDIS_\w+|CLICKHOUSE_(?:URL|USER|PASSWORD))$/;
  const names = Object.keys(workerVariables).filter((name) => !own.test(name));
  // The launcher reads this one, too.
  const given = (name: string) => (name === "GATEWAY_STRICT_ENV" ? "1" : "given");
  const passed = bindings(Object.fromEntries(names.map((name) => [name, given(name)])));
  expect(names.filter((name) => passed[name] !== given(name))).toEqual([]);
  const kept = Object.entries(passed).filter(([name, value]) => value !== given(name));
  expect(kept.map(([name]) => name).toSorted()).toEqual([
    "GATEWAY_CLICKHOUSE_PASSWORD",
    "GATEWAY_CLICKHOUSE_URL",
    "GATEWAY_CLICKHOUSE_USER",
    "GATEWAY_INTERNAL_TOKEN",
    "GATEWAY_REDIS_TOKEN",
    "GATEWAY_REDIS_URL",
  ]);
});

it("stops the start for a variable that the Worker would refuse, by its name", () => {
  expect(() => checkBindings(bindings({}))).not.toThrow();
  for (const [name, value] of [
    ["GATEWAY_UPSTREAM_TIMEOUT_SECS", "soon"],
    ["GATEWAY_CELL", "Not a cell"],
    ["GATEWAY_PASSTHROUGH_FIELDS", "no_such_field"],
    ["GATEWAY_ENCRYPTION_KEY", "c2hvcnQ="],
    ["GATEWAY_JWT_ISSUERS", '[{"issuer":"https://id.example","audience":"a","tenant":"t","algorithms":["HS256"]}]'],
  ] as const) {
    const check = (): void => checkBindings(bindings({ [name]: value }));
    expect(check).toThrow(StackEnvError);
    expect(check).toThrow(name);
  }
});

it("passes no jurisdiction to the runtime of one machine, and leaves an unreadable list as is", () => {
  const plan = { cell: "local", url: "https://gateway.example", continents: ["EU"] };
  const GATEWAY_CELLS = JSON.stringify([{ ...plan, jurisdiction: "eu" }]);
  expect(JSON.parse(bindings({ GATEWAY_CELLS })["GATEWAY_CELLS"] ?? "")).toEqual([{ ...plan, colos: [] }]);
  expect(bindings({ GATEWAY_CELLS: "{}" })["GATEWAY_CELLS"]).toBe("{}");
});
