/**
 * Spans of a call in OpenTelemetry's form: span names and attributes of the specification's export, and the semantic
 * conventions for HTTP and generative AI. They never contain a prompt, an answer or a credential.
 */
import { type Attributes, type HrTime, SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_URL_PATH,
} from "@opentelemetry/semantic-conventions";
import { ATTR_SESSION_ID } from "@opentelemetry/semantic-conventions/incubating";
import type { RequestType } from "../../shared/usage/usage-row.ts";
import { NIL_UUID } from "../../shared/usage/usage-row.ts";
import type { SpanName, SpanRecord } from "../domain/trace/trace.ts";
import { childSpanId, type TraceContext } from "../domain/trace/trace-context.ts";
import type { FinishedCall } from "../ports.ts";

/** Exported names that differ from the names of the stored spans (docs/rules/tracing.md#trace-export). */
const EXPORTED_NAMES: Partial<Record<SpanName, string>> = { admission: "reserve_budget", upstream: "upstream_request" };

/** Attributes of stored spans that have a conventional name; those of generative AI are not stable yet. */
const CONVENTIONAL: Readonly<Record<string, string>> = {
  path: ATTR_URL_PATH,
  response_model: "gen_ai.response.model",
  finish_reasons: "gen_ai.response.finish_reasons",
  stream: "gen_ai.request.stream",
};

/** Every other type of request is an operation with its own name: the conventions define none for it. */
const OPERATIONS: Partial<Record<RequestType, string>> = {
  completion: "text_completion",
  embedding: "embeddings",
  audio: "generate_content",
  image: "generate_content",
};
const CHAT_PATH = /\/(?:chat\/completions|responses|messages)$/;

/** Hosts of providers that the conventions know, those first whose name is also the provider's. */
const NAMED_HOST = /(?:^|\.)(openai|anthropic|cohere|deepseek|groq|perplexity)\.(?:com|ai)$/;
const PROVIDERS = Object.entries({
  "openai.azure.com": "azure.ai.openai",
  "generativelanguage.googleapis.com": "gcp.gemini",
  "aiplatform.googleapis.com": "gcp.vertex_ai",
  "amazonaws.com": "aws.bedrock",
  "api.mistral.ai": "mistral_ai",
  "api.x.ai": "x_ai",
});

/** Root and child spans of a call; the first of `spans` is the root. */
export function otlpSpansOf(call: FinishedCall, resource: Resource): readonly ReadableSpan[] {
  return call.spans.map((span, at) => {
    const root = at === 0;
    const { context } = call;
    const parentId = root ? context.parentSpanId : context.spanId;
    const kind = root ? SpanKind.SERVER : span.span_name === "upstream" ? SpanKind.CLIENT : SpanKind.INTERNAL;
    return {
      name: EXPORTED_NAMES[span.span_name] ?? span.span_name,
      kind,
      spanContext: () => contextOf(context, root ? context.spanId : childSpanId(context, at - 1)),
      ...(parentId === null ? {} : { parentSpanContext: contextOf(context, parentId) }),
      startTime: hrTime(span.start_ms),
      endTime: hrTime(span.start_ms + span.duration_ms),
      duration: hrTime(span.duration_ms),
      status: { code: span.status === "ok" ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
      attributes: { ...(root ? rootAttributes(call) : {}), ...ownAttributes(span, call) },
      links: [],
      events: [],
      ended: true,
      resource,
      instrumentationScope: { name: "gateway" },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  });
}

function contextOf({ traceId }: TraceContext, spanId: string) {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: false };
}

function rootAttributes(call: FinishedCall): Attributes {
  const { method, row } = call;
  return {
    [ATTR_HTTP_REQUEST_METHOD]: method,
    [ATTR_HTTP_RESPONSE_STATUS_CODE]: row.status_code,
    "gateway.request_id": row.request_id,
    ...(row.tenant_id === NIL_UUID ? {} : { "gateway.tenant_id": row.tenant_id }),
    ...(row.key_id === NIL_UUID ? {} : { "gateway.key_id": row.key_id }),
    ...(row.status_code >= 400 ? { [ATTR_ERROR_TYPE]: String(row.status_code) } : {}),
    ...(method === "POST" ? inferenceAttributes(call) : {}),
  };
}

/**
 * The attributes of the whole call in the conventions for generative AI; none for a call of a tool server or an unknown route.
 */
function inferenceAttributes(call: FinishedCall): Attributes {
  const { row, apiBase, spans } = call;
  if (row.request_type === "other" && row.model === "") return {};
  const { path } = spans[0]?.attributes ?? {};
  const route = typeof path === "string" ? path : "";
  const answered = spans.findLast(({ span_name }) => span_name === "upstream");
  const answer = Object.entries(answered === undefined ? {} : ownAttributes(answered, call));
  return {
    "gen_ai.operation.name": CHAT_PATH.test(route) ? "chat" : (OPERATIONS[row.request_type] ?? row.request_type),
    "gen_ai.provider.name": providerOf(
      apiBase,
      answered?.attributes["translated_to"] ?? (route.endsWith("/messages") ? "anthropic" : "openai"),
    ),
    ...(row.model === "" ? {} : { "gen_ai.request.model": row.model }),
    ...Object.fromEntries(answer.filter(([name]) => name.startsWith("gen_ai."))),
    ...(answered?.attributes["stream"] === true ? { "gen_ai.response.time_to_first_chunk": row.ttft_ms / 1000 } : {}),
    "gen_ai.usage.input_tokens": row.input_tokens,
    "gen_ai.usage.output_tokens": row.output_tokens,
    "gen_ai.usage.cache_read.input_tokens": row.cached_tokens,
    "gen_ai.usage.cache_creation.input_tokens": row.cache_write_tokens,
    "gen_ai.usage.reasoning.output_tokens": row.reasoning_tokens,
    ...(row.session_id_source === "client" ? { "gen_ai.conversation.id": row.session_id } : {}),
  };
}

/** The provider by the upstream's host; of any other server the one whose API it has. */
function providerOf(apiBase: string, dialect: unknown): string {
  const hostname = URL.canParse(apiBase) ? new URL(apiBase).hostname : "";
  return PROVIDERS.find(([host]) => hostname.endsWith(host))?.[1] ?? NAMED_HOST.exec(hostname)?.[1] ?? String(dialect);
}

/** The span's own attributes, by their conventional names or prefixed `gateway.`. */
function ownAttributes(span: SpanRecord, { row }: FinishedCall): Attributes {
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(span.attributes)) {
    if (value === null || name === "session_id") continue;
    const known = CONVENTIONAL[name] ?? `gateway.${name}`;
    if (typeof value !== "object") attributes[known] = value;
    else if (isList(value)) attributes[known] = [...value];
    else for (const [each, count] of Object.entries(value)) attributes[`${known}.${each}`] = count;
  }
  if (row.session_id !== "") {
    attributes[ATTR_SESSION_ID] = row.session_id;
    attributes["session.id.source"] = row.session_id_source;
  }
  return attributes;
}

function isList<T>(value: readonly string[] | T): value is readonly string[] {
  return Array.isArray(value);
}

function hrTime(ms: number): HrTime {
  const seconds = Math.trunc(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1_000_000)];
}
