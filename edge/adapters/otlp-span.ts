/**
 * Spans of a call in OpenTelemetry's form: span names and attributes of the specification's export, and the semantic
 * conventions for HTTP and generative AI. They never contain a prompt, an answer or a credential.
 */
import { type Attributes, type HrTime, SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_SERVICE_NAME,
  ATTR_URL_PATH,
} from "@opentelemetry/semantic-conventions";
import {
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  ATTR_SESSION_ID,
} from "@opentelemetry/semantic-conventions/incubating";
import type { RequestType } from "../../shared/usage/usage-row.ts";
import type { SpanName, SpanRecord } from "../domain/trace/trace.ts";
import { childSpanId, type TraceContext } from "../domain/trace/trace-context.ts";
import type { FinishedCall } from "../ports.ts";

const RESOURCE = resourceFromAttributes({ [ATTR_SERVICE_NAME]: "gateway" });

/** Exported names that differ from the names of the stored spans (docs/rules/tracing.md#trace-export). */
const EXPORTED_NAMES: Partial<Record<SpanName, string>> = { admission: "reserve_budget", upstream: "upstream_request" };

const OPERATIONS: Partial<Record<RequestType, string>> = {
  chat: "chat",
  completion: "text_completion",
  responses: "chat",
  embedding: "embeddings",
};

/** Root and child spans of a call; the first of `spans` is the root. */
export function otlpSpansOf(call: FinishedCall): readonly ReadableSpan[] {
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
      resource: RESOURCE,
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

function rootAttributes({ method, row }: FinishedCall): Attributes {
  const operation = OPERATIONS[row.request_type];
  return {
    [ATTR_HTTP_REQUEST_METHOD]: method,
    [ATTR_HTTP_RESPONSE_STATUS_CODE]: row.status_code,
    ...(operation === undefined ? {} : { [ATTR_GEN_AI_OPERATION_NAME]: operation }),
    ...(row.model === "" ? {} : { [ATTR_GEN_AI_REQUEST_MODEL]: row.model }),
    [ATTR_GEN_AI_USAGE_INPUT_TOKENS]: row.input_tokens,
    [ATTR_GEN_AI_USAGE_OUTPUT_TOKENS]: row.output_tokens,
    ...(row.status_code >= 400 ? { [ATTR_ERROR_TYPE]: String(row.status_code) } : {}),
  };
}

/** The span's own attributes, prefixed `gateway.`, without those that have a conventional name. */
function ownAttributes(span: SpanRecord, { row }: FinishedCall): Attributes {
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(span.attributes)) {
    if (value === null || name === "session_id") continue;
    const known = name === "path" ? ATTR_URL_PATH : `gateway.${name}`;
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
