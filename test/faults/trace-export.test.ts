/**
 * The trace export, decoded with OpenTelemetry's own message definitions (docs/rules/tracing.md#trace-export), and the log of
 * requests of the same stack, which is sampled (docs/watch.md#logs).
 *
 * @module-tag long
 */

import { createServer, type IncomingHttpHeaders } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: { toString(): string };
  readonly arrayValue?: { readonly values: readonly OtlpValue[] };
}

interface OtlpSpan {
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly parentSpanId?: Uint8Array;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { key: string; value: OtlpValue }[];
  readonly status?: { code?: number };
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: OtlpSpan["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const messages = createRequire(import.meta.url)("otlp-messages/build/src/generated/root") as {
  opentelemetry: {
    proto: { collector: { trace: { v1: { ExportTraceServiceRequest: { decode(bytes: Uint8Array): OtlpRequest } } } } };
  };
};
const { ExportTraceServiceRequest } = messages.opentelemetry.proto.collector.trace.v1;

/** What was sent, also what the sink refused. */
const received: OtlpRequest[] = [];
/** The headers of every export. */
const headers: IncomingHttpHeaders[] = [];
let failing = false;
const sink = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const known = request.url === "/v1/traces" && request.headers["content-type"] === "application/x-protobuf";
    headers.push(request.headers);
    if (known) received.push(ExportTraceServiceRequest.decode(Buffer.concat(chunks)));
    response.writeHead(known && !failing ? 200 : 500).end();
  });
});

/** The lines of all parts. */
const log: string[] = [];
const COLLECTOR_KEY = "collector-secret-0123";

let endpoint: string;
let upstream: TestUpstream;
let stack: Stack;
let gateway: Gateway;

beforeAll(async () => {
  upstream = await startTestUpstream();
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  endpoint = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`;
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${COLLECTOR_KEY}`,
    OTEL_SERVICE_NAME: "inference",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    GATEWAY_LOG_REQUESTS_PER_SECOND: "1",
  };
  stack = await startTestStack(variables, { log: (line) => void log.push(line) });
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
  sink.closeAllConnections();
  sink.close();
});

const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

function attributesOf(span: { readonly attributes: OtlpSpan["attributes"] }): Record<string, string> {
  return Object.fromEntries(span.attributes.map(({ key, value }) => [key, textOf(value)]));
}

function textOf({ stringValue, intValue, arrayValue }: OtlpValue): string {
  return stringValue ?? intValue?.toString() ?? arrayValue?.values.map(textOf).join() ?? "";
}

function arrivedOf(traceId: string): readonly OtlpSpan[] {
  return received
    .flatMap((request) => request.resourceSpans)
    .flatMap((resource) => resource.scopeSpans)
    .flatMap((scope) => scope.spans)
    .filter((span) => hex(span.traceId) === traceId);
}

/** The spans of a trace, once its root span has arrived. */
async function trace(traceId: string): Promise<readonly OtlpSpan[]> {
  return await waitFor(
    () => arrivedOf(traceId),
    (spans) => spans.some((span) => span.name === "proxy_request"),
  );
}

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

describe("the trace export", () => {
  it("exports every call within its client's trace, and sends the upstream its calling span", async () => {
    const minted = await gateway.mint(upstream.url);
    const response = await gateway.chat(minted, {
      body: { user: "someone" },
      headers: { traceparent: `00-${TRACE}-${PARENT}-01` },
    });
    await response.text();
    const spans = await trace(TRACE);
    // Each once, although a cell that has just started makes its isolates look the key up again.
    expect(spans.map((span) => span.name).toSorted()).toEqual([
      "auth_resolve",
      "proxy_request",
      "reserve_budget",
      "upstream_request",
    ]);
    const root = spans.find((span) => span.name === "proxy_request");
    expect({ parent: hex(root?.parentSpanId), kind: root?.kind, statusCode: root?.status?.code ?? 0 }).toEqual({
      parent: PARENT,
      kind: 2,
      statusCode: 0,
    });
    expect(root === undefined ? {} : attributesOf(root)).toMatchObject({
      "http.request.method": "POST",
      "http.response.status_code": "200",
      "url.path": "/v1/chat/completions",
      "gateway.request_id": response.headers.get("x-gateway-request-id"),
      "gateway.tenant_id": minted.tenant.id,
      "gateway.key_id": minted.key.id,
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": minted.model.model_name,
      "gen_ai.response.model": minted.model.upstream_model,
      "gen_ai.response.finish_reasons": "stop",
      "gen_ai.conversation.id": "someone",
      "gen_ai.usage.input_tokens": "11",
      "gen_ai.usage.output_tokens": "22",
      "session.id": "someone",
      "session.id.source": "client",
    });
    for (const span of spans) if (span !== root) expect(hex(span.parentSpanId)).toBe(hex(root?.spanId));
    expect(new Set(spans.map((span) => hex(span.spanId))).size).toBe(spans.length);
    const calling = spans.find((span) => span.name === "upstream_request");
    expect(upstream.seen(minted.mark)[0]?.headers["traceparent"]).toBe(`00-${TRACE}-${hex(calling?.spanId)}-01`);
    const [resource] = received.flatMap((request) => request.resourceSpans);
    expect(resource === undefined ? {} : attributesOf(resource.resource)).toEqual({
      "service.name": "inference",
      "deployment.environment.name": "test",
    });
    expect(new Set(headers.map((each) => each["x-collector-key"]))).toEqual(new Set([COLLECTOR_KEY]));
  });

  it("names failures, honors a client that does not record, and delays no request when it fails", async () => {
    const minted = await gateway.mint(upstream.url, "status=503");
    const failed = "a".repeat(32);
    await (await gateway.chat(minted, { headers: { traceparent: `00-${failed}-${PARENT}-01` } })).text();
    const root = (await trace(failed)).find((span) => span.name === "proxy_request");
    expect({
      statusCode: root?.status?.code,
      errorType: root === undefined ? {} : attributesOf(root)["error.type"],
    }).toEqual({ statusCode: 2, errorType: "502" });

    failing = true;
    const unrecorded = "b".repeat(32);
    const served = await gateway.mint(upstream.url);
    await (await gateway.chat(served, { headers: { traceparent: `00-${unrecorded}-${PARENT}-00` } })).text();
    expect(upstream.seen(served.mark)[0]?.headers["traceparent"]).toMatch(new RegExp(`^00-${unrecorded}-.{16}-00$`));
    expect((await gateway.chat(served)).status).toBe(200);
    await waitFor(
      async () => await (await fetch(`${stack.metricsUrl}/metrics`)).text(),
      (text) => /gateway_otel_spans_dropped_total\{[^}]*reason="failed"[^}]*\} [1-9]/.test(text),
    );
    const failures = log.filter((line) => line.includes('"event":"trace_export_failed"'));
    expect(failures.map((line) => /"reason":"([^"]*)"/.exec(line)?.[1])).toEqual([
      `${new URL(endpoint).host}: http 500`,
    ]);
    expect(log.join()).not.toContain(COLLECTOR_KEY);
    // The next request was sent after it, so its spans would have come with those of that one at the latest.
    const next = upstream.seen(served.mark)[1]?.headers["traceparent"];
    await trace(String(next).split("-")[1] ?? "");
    expect(arrivedOf(unrecorded)).toEqual([]);
  });
});

describe("the log of requests above its rate", () => {
  it("has a line of each failure, and says how many lines it leaves out", async () => {
    const counted = () => {
      const requests = log
        .filter((line) => line.includes('"event":"request"'))
        .map((line) => JSON.parse(line.slice(line.indexOf("{"))) as { status: number; sampled?: number });
      const sum = requests.reduce((all, { sampled = 0 }) => all + 1 + sampled, 0);
      return { lines: requests.length, sum, failures: requests.filter(({ status }) => status === 401).length };
    };
    const minted = await gateway.mint(upstream.url);
    const refused = async (): Promise<void> => {
      await (await gateway.chat({ ...minted, secret: "sk_unknown" })).text();
    };
    // A failure's line says what was left out before it, so each count is complete.
    await refused();
    const before = await waitFor(counted, ({ failures }) => failures === 1);
    const served = await Promise.all(Array.from({ length: 60 }, async () => await gateway.chat(minted)));
    await Promise.all(served.map(async (response) => await response.text()));
    await waitFor(
      async () => await gateway.rows(minted.tenant.id),
      (rows) => rows.length === 60,
    );
    await refused();
    const after = await waitFor(counted, ({ failures }) => failures === 2);
    expect(after.sum - before.sum).toBe(61);
    expect(after.lines - before.lines).toBeLessThan(40);
  });
});
