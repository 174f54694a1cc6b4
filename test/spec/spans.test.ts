/** Spans of traced requests, from the data plane to the Management API (docs/rules/tracing.md#spans). */
import { describe, expect, it } from "vitest";
import type { Span } from "../../shared/schema/usage-reads.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

async function spansOf(requestId: string | null): Promise<readonly Span[]> {
  return await waitFor(
    async () => await fixture.gateway.must<readonly Span[]>("GET", `/usage/logs/${requestId ?? ""}/spans`),
    (spans) => spans.length > 0,
  );
}

async function send(minted: Minted, body: Record<string, unknown> = {}): Promise<string | null> {
  const response = await fixture.gateway.chat(minted, { body });
  await response.text();
  return response.headers.get("x-gateway-request-id");
}

const spansNamed = (spans: readonly Span[], name: string) =>
  spans
    .filter((span) => span.span_name === name)
    .map(({ parent_span, status, attributes }) => [
      parent_span,
      status,
      JSON.parse(attributes) as Record<string, unknown>,
    ]);

describe("a traced request", () => {
  it("leaves a root and a child per step, within its own time", async () => {
    const { gateway } = fixture;
    const minted = await gateway.mint(fixture.upstream.url, "delay=20");
    await gateway.must("PUT", `/keys/${minted.key.id}/tracing`, { tracing_enabled: true });
    await gateway.must("PUT", `/models/${minted.model.id}/cache`, { cache_enabled: true });
    const id = await send(minted, { user: "someone" });
    const spans = await spansOf(id);
    expect(spansNamed(spans, "proxy_request")).toEqual([
      [
        "",
        "ok",
        {
          path: "/v1/chat/completions",
          model: minted.model.model_name,
          status: 200,
          admission: "fast",
          cell: "local",
          endpoint: "",
          served_model: minted.model.model_name,
          attempts: 1,
          session_id: "someone",
        },
      ],
    ]);
    expect(spansNamed(spans, "admission")).toEqual([
      ["proxy_request", "ok", { class: "fast", queue_wait_ms: 0, group: "default" }],
    ]);
    expect(spansNamed(spans, "cache_lookup")).toEqual([["proxy_request", "ok", { result: "miss" }]]);
    expect(spansNamed(spans, "auth_resolve").map(([parent]) => parent)).toEqual(["proxy_request"]);
    expect(spansNamed(spans, "upstream")).toEqual([
      [
        "proxy_request",
        "ok",
        {
          endpoint: "",
          attempt: 1,
          status: 200,
          ttft_ms: expect.any(Number) as number,
          finish_reasons: ["stop"],
        },
      ],
    ]);
    const root = spans[0];
    expect(root?.span_name).toBe("proxy_request");
    for (const span of spans) {
      expect(span.request_id).toBe(id);
      expect(span.start_ms).toBeGreaterThanOrEqual(root?.start_ms ?? 0);
      expect(span.start_ms + span.duration_ms).toBeLessThanOrEqual((root?.start_ms ?? 0) + (root?.duration_ms ?? 0));
    }
    expect(await gateway.row(minted.tenant.id, id)).toMatchObject({ has_trace: true });
    const hit = await spansOf(await send(minted, { user: "someone" }));
    expect({ lookup: spansNamed(hit, "cache_lookup"), upstream: spansNamed(hit, "upstream") }).toEqual({
      lookup: [["proxy_request", "ok", { result: "hit" }]],
      upstream: [],
    });
  });

  it("that failed shows where, once per attempt; a refused one too", { tags: ["check"] }, async () => {
    const { gateway } = fixture;
    const minted = await gateway.mint(fixture.upstream.url, "status=503", { max_retries: 1, retry_backoff_ms: 1 });
    await gateway.must("PUT", `/tenants/${minted.tenant.id}/tracing`, { tracing_enabled: true });
    const failed = await spansOf(await send(minted));
    expect(spansNamed(failed, "upstream").map(([, status, attributes]) => [status, attributes])).toEqual([
      ["error", { endpoint: "", attempt: 1, status: 503, ttft_ms: 0 }],
      ["error", { endpoint: "", attempt: 2, status: 503, ttft_ms: expect.any(Number) as number }],
    ]);
    expect(spansNamed(failed, "proxy_request")[0]?.[1]).toBe("error");
    await gateway.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 1 });
    const refused = await spansOf(await send(minted));
    expect(spansNamed(refused, "admission")).toEqual([
      ["proxy_request", "error", { class: "rejected", queue_wait_ms: 0, group: "default" }],
    ]);
  });
});

describe("a request that is not traced", () => {
  it("leaves no span", { tags: ["check"] }, async () => {
    const { gateway } = fixture;
    const minted = await gateway.mint(fixture.upstream.url);
    const id = await send(minted);
    expect(await gateway.row(minted.tenant.id, id)).toMatchObject({ has_trace: false });
    expect(await gateway.must("GET", `/usage/logs/${id ?? ""}/spans`)).toEqual([]);
    expect(await gateway.rows(minted.tenant.id, "&traced_only=true")).toEqual([]);
  });
});
