/** Attributes of exported spans, by route, upstream and answer (docs/rules/tracing.md#trace-export). */
import { resourceFromAttributes } from "@opentelemetry/resources";
import { describe, expect, it } from "vitest";
import { type UsageRow, zeroUsageRow } from "../../shared/usage/usage-row.ts";
import { Trace } from "../domain/trace/trace.ts";
import { traceContextOf } from "../domain/trace/trace-context.ts";
import { otlpSpansOf } from "./otlp-span.ts";

interface Told {
  readonly path?: string;
  readonly method?: string;
  readonly apiBase?: string;
  readonly row?: Partial<UsageRow>;
  readonly answer?: Readonly<Record<string, string | boolean | readonly string[]>>;
}

function spansOf({ path = "/v1/chat/completions", method = "POST", apiBase = "", row = {}, answer }: Told) {
  const trace = new Trace(0);
  if (answer !== undefined) trace.begin("upstream", 1).set(answer);
  return otlpSpansOf(
    {
      context: traceContextOf(null, () => "1".repeat(32)),
      method,
      apiBase,
      row: { ...zeroUsageRow("00000000-0000-4000-8000-000000000001", 9), request_type: "chat", model: "tiny", ...row },
      spans: trace.records({ statusCode: 200, attributes: { path } }, 9),
    },
    resourceFromAttributes({}),
  ).map(({ attributes }) => attributes);
}
const rootOf = (told: Told) => spansOf(told)[0] ?? {};

describe("the root span of a call", () => {
  it("says who called, which model answered, why it ended, and what it used", () => {
    const [root, upstream] = spansOf({
      apiBase: "https://api.groq.com/openai/v1",
      row: {
        tenant_id: "00000000-0000-4000-8000-00000000000a",
        key_id: "00000000-0000-4000-8000-00000000000b",
        status_code: 200,
        input_tokens: 9,
        output_tokens: 7,
        cached_tokens: 4,
        cache_write_tokens: 2,
        reasoning_tokens: 3,
        ttft_ms: 250,
        session_id: "talk",
        session_id_source: "client",
      },
      answer: { stream: true, response_model: "tiny-2026", finish_reasons: ["stop"] },
    });
    const answered = {
      "gen_ai.response.model": "tiny-2026",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.request.stream": true,
    };
    expect(root).toEqual({
      "http.request.method": "POST",
      "http.response.status_code": 200,
      "url.path": "/v1/chat/completions",
      "gateway.request_id": "00000000-0000-4000-8000-000000000001",
      "gateway.tenant_id": "00000000-0000-4000-8000-00000000000a",
      "gateway.key_id": "00000000-0000-4000-8000-00000000000b",
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "groq",
      "gen_ai.request.model": "tiny",
      ...answered,
      "gen_ai.response.time_to_first_chunk": 0.25,
      "gen_ai.usage.input_tokens": 9,
      "gen_ai.usage.output_tokens": 7,
      "gen_ai.usage.cache_read.input_tokens": 4,
      "gen_ai.usage.cache_creation.input_tokens": 2,
      "gen_ai.usage.reasoning.output_tokens": 3,
      "gen_ai.conversation.id": "talk",
      "session.id": "talk",
      "session.id.source": "client",
    });
    expect(upstream).toMatchObject(answered);
  });

  it.each([
    ["/v1/chat/completions", "chat", "chat"],
    ["/v1/messages", "messages", "chat"],
    ["/v1/responses", "responses", "chat"],
    ["/v1/completions", "completion", "text_completion"],
    ["/v1/embeddings", "embedding", "embeddings"],
    ["/v1/images/generations", "image", "generate_content"],
    ["/v1/audio/speech", "audio", "generate_content"],
    ["/v1/rerank", "rerank", "rerank"],
    ["/v1/moderations", "moderation", "moderation"],
    ["/v1/score", "other", "other"],
  ] as const)("of %s names its operation", (path, request_type, operation) => {
    expect(rootOf({ path, row: { request_type } })).toMatchObject({
      "gen_ai.operation.name": operation,
      "gen_ai.request.model": "tiny",
    });
  });

  it.each([
    ["https://api.openai.com/v1", "openai"],
    ["https://mine.openai.azure.com/openai/v1", "azure.ai.openai"],
    ["https://api.anthropic.com/v1", "anthropic"],
    ["https://generativelanguage.googleapis.com/v1beta/openai", "gcp.gemini"],
    ["https://europe-west1-aiplatform.googleapis.com/v1", "gcp.vertex_ai"],
    ["https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1", "aws.bedrock"],
    ["https://api.mistral.ai/v1", "mistral_ai"],
    ["https://api.cohere.ai/compatibility/v1", "cohere"],
    ["http://10.0.0.7:8000/v1", "openai"],
    ["", "openai"],
  ])("of an upstream at %j names the provider %s", (apiBase, provider) => {
    expect(rootOf({ apiBase })["gen_ai.provider.name"]).toBe(provider);
  });

  it("names the provider whose format an unknown server speaks", () => {
    expect(rootOf({ path: "/v1/messages", apiBase: "http://vllm:8000" })["gen_ai.provider.name"]).toBe("anthropic");
  });

  it.each([
    ["a call of a tool server", { path: "/mcp/tools", row: { request_type: "other", model: "" } }],
    ["a read", { path: "/v1/models/tiny", method: "GET", row: { request_type: "other" } }],
  ] as const)("has nothing about generative AI for %s", (_, told) => {
    expect(Object.keys(rootOf(told)).filter((name) => name.startsWith("gen_ai."))).toEqual([]);
  });

  it("leaves out who called when that is unknown, and a session id that the gateway derived", () => {
    const root = rootOf({ row: { session_id: "derived", session_id_source: "derived" } });
    expect(Object.keys(root).filter((name) => /tenant|key|conversation/.test(name))).toEqual([]);
  });
});
