import { describe, expect, it } from "vitest";
import { Trace } from "./trace.ts";

describe("a trace", () => {
  it("is a root and its children, with times, attributes and what failed", () => {
    const trace = new Trace(1_000);
    const auth = trace.begin("auth_resolve", 1_001);
    auth.set({ source: "memory" });
    auth.end(1_003);
    const upstream = trace.begin("upstream", 1_005);
    upstream.set({ attempt: trace.count("upstream"), status: 200 });
    upstream.end(1_010);
    upstream.set({ ttft_ms: 4 });
    upstream.end(1_020);
    trace.begin("upstream", 1_021).fail();
    expect(trace.records({ statusCode: 200, attributes: { path: "/v1/x" } }, 1_030)).toEqual([
      {
        span_name: "proxy_request",
        parent_span: "",
        start_ms: 1_000,
        duration_ms: 30,
        status: "ok",
        attributes: { path: "/v1/x" },
      },
      {
        span_name: "auth_resolve",
        parent_span: "proxy_request",
        start_ms: 1_001,
        duration_ms: 2,
        status: "ok",
        attributes: { source: "memory" },
      },
      {
        span_name: "upstream",
        parent_span: "proxy_request",
        start_ms: 1_005,
        duration_ms: 15,
        status: "ok",
        attributes: { attempt: 1, status: 200, ttft_ms: 4 },
      },
      {
        span_name: "upstream",
        parent_span: "proxy_request",
        start_ms: 1_021,
        duration_ms: 9,
        status: "error",
        attributes: {},
      },
    ]);
  });

  it("of a request that failed says so at its root", () => {
    expect(new Trace(0).records({ statusCode: 429, attributes: {} }, 1)[0]?.status).toBe("error");
  });
});
