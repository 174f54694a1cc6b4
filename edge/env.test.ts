import { describe, expect, it } from "vitest";
import { EnvError, parseEnv as parseBindings } from "./env.ts";

const STORE = { GATEWAY_REDIS_URL: "https://store.example" };
const parseEnv = (bindings: object) => parseBindings({ ...STORE, ...bindings });

describe("the Worker's configuration", () => {
  it("has the documented defaults", () => {
    expect(parseEnv({})).toMatchObject({
      cell: "local",
      upstreamBaseUrl: "http://127.0.0.1:8081",
      upstreamTimeoutMs: 300_000,
      stalledReaderMs: 60_000,
      admissionPatienceMs: 0,
      globalMaxInFlight: 256,
      cellHeadroom: 0.05,
      maxBodyBytes: 33_554_432,
      ledgerShards: 1,
      sessionIdDerivation: true,
      passthroughPaths: new Set(),
      passthroughFields: new Set(),
      logGatherMs: 0,
      fairshareAlgorithm: "hierarchical",
      clickhouse: { db: "gateway", user: "default", password: "" },
      apiKeyPepper: undefined,
      apiKeyPeppersOld: [],
      encryptionKey: undefined,
      encryptionKeysOld: [],
      internalToken: undefined,
      internalTokenOld: undefined,
      adminTokenOld: undefined,
      jwtIssuers: [],
      internalBaseUrl: "http://127.0.0.1:9180",
      ssrf: { blockPrivate: false, allowedCidrs: [] },
    });
  });

  it("says that it needs the REST endpoint of a key-value store", () => {
    for (const bindings of [{}, { GATEWAY_REDIS_URL: " " }, { GATEWAY_REDIS_URL: "redis://127.0.0.1:6379" }])
      expect(() => parseBindings(bindings)).toThrow(
        /^GATEWAY_REDIS_URL must be set to the http or https URL of a REST endpoint: a Worker cannot speak the Redis protocol$/,
      );
    expect(parseBindings(STORE).redis).toEqual({ url: "https://store.example", token: "" });
  });

  it.each(["1e3", "0x10", "+5", "5.0"])("reads numbers in decimal digits, and not %j", (value) => {
    expect(() => parseEnv({ GATEWAY_MAX_BODY_BYTES: value })).toThrow("GATEWAY_MAX_BODY_BYTES");
    expect(parseEnv({ GATEWAY_MAX_BODY_BYTES: " 5 " }).maxBodyBytes).toBe(5);
  });

  it.each([
    ["hierarchical", "hierarchical"],
    ["group", "hierarchical"],
    ["groups", "hierarchical"],
    ["", "hierarchical"],
    ["weighted", "weighted"],
  ])("reads the algorithm %j as %s", (value, expected) => {
    expect(parseEnv({ GATEWAY_FAIRSHARE_ALGORITHM: value }).fairshareAlgorithm).toBe(expected);
  });

  it("reads the headroom of a cell as a part of its slots", () => {
    const headroom = (value: string) => parseEnv({ GATEWAY_CELL_HEADROOM: value }).cellHeadroom;
    expect(["", "0", " 0.1 ", "0.5"].map(headroom)).toEqual([0.05, 0, 0.1, 0.5]);
  });

  it("sets no limit for a client that does not read when the variable is 0", () => {
    expect(parseEnv({ GATEWAY_STALLED_READER_SECS: "0" }).stalledReaderMs).toBe(0);
  });

  it.each(["0", "FALSE", "no", "off"])("reads %j as off", (value) => {
    expect(parseEnv({ GATEWAY_SESSION_ID_DERIVATION: value }).sessionIdDerivation).toBe(false);
  });

  it("reads the paths that are passed through", () => {
    const paths = (value: string) => parseEnv({ GATEWAY_PASSTHROUGH_PATHS: value }).passthroughPaths;
    expect(paths(" ")).toEqual(new Set());
    expect(paths("/v1/rerank, /v1/moderations")).toEqual(new Set(["/v1/rerank", "/v1/moderations"]));
  });

  it("reads the fields that are passed through, however they are written", () => {
    const fields = (value: string) => parseEnv({ GATEWAY_PASSTHROUGH_FIELDS: value }).passthroughFields;
    expect({ none: fields(" "), some: fields("models, loraPath, extra_body") }).toEqual({
      none: new Set(),
      some: new Set(["models", "lorapath", "extrabody"]),
    });
  });

  it("reads whole origins of pages, with or without a slash at the end, or all", () => {
    const origins = (value: string) => parseEnv({ GATEWAY_CORS_ORIGINS: value }).corsOrigins;
    expect({ none: origins(" "), some: origins("https://a.example/, http://b:81"), all: origins(" * ") }).toEqual({
      none: new Set(),
      some: new Set(["https://a.example", "http://b:81"]),
      all: new Set(["*"]),
    });
  });

  it.each([
    ["GATEWAY_CORS_ORIGINS", "https://a.example,https://B.example:443/", "entry 2", ": write https://b.example"],
    ["GATEWAY_CORS_ORIGINS", "b.example", "entry 1", "is not as browsers send it"],
    ["GATEWAY_PASSTHROUGH_PATHS", "/v1/rerank,/v1/files", "entry 2", "is an account object"],
    ["GATEWAY_PASSTHROUGH_PATHS", "/V1/chat/completions", "entry 1", "in another case"],
    ["GATEWAY_PASSTHROUGH_FIELDS", "lora_path, model", "entry 2", "did you mean models?"],
    ["GATEWAY_PASSTHROUGH_FIELDS", "temperature", "entry 1", "is not one"],
  ])("of %s=%s names the wrong entry and why", (variable, value, entry, why) => {
    const parse = (): unknown => parseEnv({ [variable]: value });
    expect(parse).toThrow(entry);
    expect(parse).toThrow(why);
  });

  it.each([
    ["GATEWAY_CORS_ORIGINS", "https://*.a.example"],
    ["GATEWAY_CORS_ORIGINS", "*,https://a.example"],
    ["GATEWAY_CORS_ORIGINS", "https://a.example/path"],
    ["GATEWAY_CORS_ORIGINS", "a.example"],
    ["GATEWAY_PROXY_BASE_URL", "http://ops:s3cret@host/v1"],
    ["GATEWAY_UPSTREAM_BASE_URL", "http://s3cret@host/v1"],
    ["GATEWAY_REDIS_URL", "https://ops:s3cret@store.example"],
    ["GATEWAY_CLICKHOUSE_URL", "http://host?x=1"],
    ["GATEWAY_INTERNAL_BASE_URL", "http://host/#x"],
    ["GATEWAY_OTEL_ENDPOINT", "http://host/?"],
    ["GATEWAY_PASSTHROUGH_PATHS", "v1/rerank"],
    ["GATEWAY_PASSTHROUGH_PATHS", "/v1/rerank,"],
    ["GATEWAY_PASSTHROUGH_PATHS", "/v1/rerank/"],
    ["GATEWAY_PASSTHROUGH_PATHS", "/v1/rerank?a=b"],
    ["GATEWAY_PASSTHROUGH_PATHS", "/v1/rerank,/v1/files"],
    ["GATEWAY_PASSTHROUGH_FIELDS", "models,"],
    ["GATEWAY_PASSTHROUGH_FIELDS", "max_tokens"],
    ["GATEWAY_PASSTHROUGH_FIELDS", "temperature"],
    ["GATEWAY_CELL", "Not a cell"],
    ["GATEWAY_REDIS_URL", "redis://h"],
    ["GATEWAY_CLICKHOUSE_URL", "nowhere"],
    ["GATEWAY_CLICKHOUSE_DB", "a b"],
    ["GATEWAY_ENCRYPTION_KEY", "secret-that-is-no-key"],
    ["GATEWAY_UPSTREAM_TIMEOUT_SECS", "0"],
    ["GATEWAY_STALLED_READER_SECS", "-1"],
    ["GATEWAY_STALLED_READER_SECS", "86401"],
    ["GATEWAY_ADMISSION_PATIENCE_SECS", "1.5"],
    ["GATEWAY_ADMISSION_PATIENCE_SECS", "301"],
    ["GATEWAY_GLOBAL_MAX_IN_FLIGHT", "1.5"],
    ["GATEWAY_CELL_HEADROOM", "0.51"],
    ["GATEWAY_CELL_HEADROOM", "5%"],
    ["GATEWAY_CELL_HEADROOM", "-0.1"],
    ["GATEWAY_CELL_HEADROOM", "1e-2"],
    ["GATEWAY_CELL_HEADROOM", "0,1"],
    ["GATEWAY_MAX_BODY_BYTES", "big"],
    ["GATEWAY_LEDGER_SHARDS", "-1"],
    ["GATEWAY_LEDGER_SHARDS", "1025"],
    ["GATEWAY_SESSION_ID_DERIVATION", "perhaps"],
    ["GATEWAY_FAIRSHARE_ALGORITHM", "fifo"],
    ["GATEWAY_BLOCK_PRIVATE_NETWORKS", "2"],
    ["GATEWAY_ALLOWED_PRIVATE_CIDRS", "10.0.0.0"],
    ["GATEWAY_JWT_ISSUERS", '[{"issuer":"https://id.example","audience":"a"}]'],
    ["GATEWAY_INTERNAL_BASE_URL", "control"],
  ])("names %s but does not show its value when it is %j", (variable, value) => {
    const parse = (): unknown => parseEnv({ [variable]: value });
    expect(parse).toThrow(EnvError);
    expect(parse).toThrow(variable);
    expect(parse).not.toThrow(value);
  });
});
