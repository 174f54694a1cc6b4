/** Where spans are sent and with which headers, by the variables, and what a failing collector leaves in the log. */
import { describe, expect, it } from "vitest";
import { zeroUsageRow } from "../../shared/usage/usage-row.ts";
import { Trace } from "../domain/trace/trace.ts";
import { traceContextOf } from "../domain/trace/trace-context.ts";
import { parseEnv } from "../env.ts";
import type { LogFields } from "../ports.ts";
import { OtlpTraces, otlpTarget } from "./otlp-traces.ts";

const targetOf = (variables: object) =>
  otlpTarget(parseEnv({ GATEWAY_REDIS_URL: "https://store.example", ...variables }).otel);

const STANDARD = "http://standard:4318";

describe("the target of the trace export", () => {
  it.each([
    ["no variable", {}, undefined],
    ["only headers", { OTEL_EXPORTER_OTLP_HEADERS: "a=b" }, undefined],
    ["the gateway's own", { GATEWAY_OTEL_ENDPOINT: "http://own:4318/" }, "http://own:4318/v1/traces"],
    ["the standard one", { OTEL_EXPORTER_OTLP_ENDPOINT: `${STANDARD}/base/` }, `${STANDARD}/base/v1/traces`],
    ["that of traces", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${STANDARD}/in/` }, `${STANDARD}/in/`],
    [
      "that of traces before the standard one",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://all:1", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${STANDARD}/in` },
      `${STANDARD}/in`,
    ],
    [
      "the gateway's own before both",
      {
        GATEWAY_OTEL_ENDPOINT: "http://own:1",
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://all:1",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${STANDARD}/in`,
      },
      "http://own:1/v1/traces",
    ],
  ])("is by %s", (_, variables, url) => {
    expect(targetOf(variables)?.url).toBe(url);
  });

  it("has headers, timeout and resource of the standard variables", () => {
    expect(
      targetOf({
        OTEL_EXPORTER_OTLP_ENDPOINT: STANDARD,
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20YWJj==, x-scope = team%2Ca ,",
        OTEL_EXPORTER_OTLP_TIMEOUT: "2500",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=prod,service.name=other",
      }),
    ).toEqual({
      url: `${STANDARD}/v1/traces`,
      headers: { authorization: "Basic YWJj==", "x-scope": "team,a" },
      timeoutMs: 2_500,
      resource: { "service.name": "other", "deployment.environment.name": "prod" },
    });
    expect(targetOf({ OTEL_EXPORTER_OTLP_ENDPOINT: STANDARD })).toEqual({
      url: `${STANDARD}/v1/traces`,
      headers: {},
      timeoutMs: 10_000,
      resource: { "service.name": "gateway" },
    });
  });

  it("takes the gateway's own headers and the service name first", () => {
    const target = targetOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: STANDARD,
      GATEWAY_OTEL_HEADERS: "x-key=own",
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=standard,x-more=1",
      OTEL_RESOURCE_ATTRIBUTES: "service.name=attribute",
      OTEL_SERVICE_NAME: "name",
    });
    expect({ headers: target?.headers, name: target?.resource["service.name"] }).toEqual({
      headers: { "x-key": "own" },
      name: "name",
    });
  });

  it.each([
    ["GATEWAY_OTEL_HEADERS", "secret-text", "must be name=value pairs separated by commas"],
    ["GATEWAY_OTEL_HEADERS", "a=%zzsecret-text", "must be name=value pairs separated by commas"],
    ["GATEWAY_OTEL_HEADERS", "a=secret-text%0d%0ab: c", "must be HTTP headers"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a b=secret-text", "must be name=value pairs separated by commas"],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318", "must be an http or https URL"],
    ["OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "must be a whole number from 1"],
  ])("names a malformed %s, and never its value", (name, value, problem) => {
    const parsing = () => targetOf({ [name]: value });
    expect(parsing).toThrow(`${name} ${problem}`);
    expect(parsing).not.toThrow("secret-text");
  });
});

describe("an export that fails", () => {
  const TARGET = {
    url: "http://collector:4318/v1/traces",
    headers: { "x-key": "secret-text" },
    timeoutMs: 1,
    resource: {},
  };
  const call = {
    context: traceContextOf(null, () => "1".repeat(32)),
    method: "POST",
    apiBase: "",
    row: zeroUsageRow("id", 1),
    spans: new Trace(0).records({ statusCode: 200, attributes: {} }, 1),
  };

  it("is logged with its cause once and then once a minute, and so is its end", async () => {
    const now = { ms: 0 };
    const lines: LogFields[] = [];
    let answer = async (): Promise<Response> => new Response(null, { status: 401 });
    const pending: Promise<unknown>[] = [];
    const traces = new OtlpTraces({
      ...TARGET,
      fetch: async () => await answer(),
      clock: () => now.ms,
      keepAlive: (work) => void pending.push(work),
      events: { count: () => undefined },
      log: { event: (event, fields) => void lines.push({ event, ...fields }) },
    });
    const exported = async (): Promise<void> => {
      for (let at = 0; at < 512; at += 1) traces.add(call);
      await Promise.all(pending);
    };
    await exported();
    await exported();
    now.ms = 60_000;
    answer = async () => await Promise.reject(new TypeError("fetch failed"));
    await exported();
    now.ms = 70_000;
    answer = async () => new Response(null);
    await exported();
    expect(lines).toEqual([
      { event: "trace_export_failed", reason: "collector:4318: http 401", failures: 1, for_secs: 0 },
      {
        event: "trace_export_failed",
        reason: expect.stringMatching(/^collector:4318: ./) as string,
        failures: 3,
        for_secs: 60,
      },
      { event: "trace_export_available", failures: 3, for_secs: 60 },
    ]);
    expect(JSON.stringify(lines)).not.toContain("secret-text");
  });
});
