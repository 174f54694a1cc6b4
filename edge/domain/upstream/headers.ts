/**
 * Which request headers are sent to a model's upstream, and which of the upstream's answer are returned to the client
 * (docs/rules/headers.md#request-headers, docs/rules/headers.md#response-headers). The client's credentials are never
 * sent on, and the upstream's own are never returned. A client's header cannot change which path, method or address the
 * upstream sees, or which model, server and account it uses.
 */

import { accessHeaders, type UpstreamAccess } from "../../../shared/network/upstream-access.ts";
import { subprotocolsOf } from "../request/credential.ts";

/** Choices that the operator makes with the endpoint, as a word in the name of a header: a model, who pays, a place. */
const WORDS =
  "models?|account|workspace|deployment|project|organi[sz]ation|orgs?|team|compartment|conversation-?store|billing|tenant|user(?!-agent$)|role|policy|provider|upstream|backend|endpoint|region|url|uri|base|host(?:name)?|server|cluster|namespace|database|warehouse|cloud-?id";
const DROPPED = new Set(
  `host content-length authorization cookie ocp-apim-subscription-key accept-encoding connection keep-alive te trailer
   transfer-encoding upgrade via forwarded x-forwarded x-host x-http-method x-http-method-override x-method-override
   x-request-id x-userinfo routing-strategy external-filter function-id target-pod ai-resource-group`.split(/\s+/),
);
const DROPPED_PATTERN = new RegExp(
  [
    // about the connection, the caller and this gateway; a router of inference takes an address from `x-gateway-*`
    "^(?:proxy|cf|sec-websocket|x-forwarded|x-gateway|x-envoy|x-original|x-rewrite|x-real|(?:x-)?remote)-",
    "^x-(?:auth|authentik|webauth|consumer|ssl-client)-|^x-ms-client-principal|^x-amzn-oidc-|(?:^|-)client-(?:ip$|cert)",
    // Upstreams keep an answer by this key, and all tenants have one credential there: one would get the answer of another.
    "(?:^|-)idempotency-?key$",
    // credentials of any server
    "(?:^|-)(?:(?:api|access|account|subscription|virtual|modal)-?key|jwt-assertion|authorization|auth|token|secret|credentials?)$",
    // these name choices that a request must not make, for any reader: a model, an account, a place
    `^x-(?:.+-)?(?:${WORDS})(?:-|$)|(?:^|-)(?:${WORDS})(?:-?id|-name)?$`,
    // of one kind of server each: Google, Azure, Amazon, KubeAI, Envoy AI Gateway, NVIDIA, Hugging Face
    "^x-vertex-ai-|^azureml-|^x-amz-|^x-amzn-(?:sagemaker|bedrock)-|^x-label-selector$|^x-ai-eg-|^nvcf-|^x-hf-bill-",
    // choose the model server, a rank of it, how soon it answers, or another server to which it connects: llm-d, vLLM, SGLang, Dynamo
    "^x-(?:prefill(?:er)?|encoder|decoder?|worker|data-parallel|dp|kv-cache|llm-d|epp|slo|prediction|smg|sgl)-|^x-dynamo-(?!.*session)",
    "^x-.+-priority$",
    // choose provider, address, credential or cache in another gateway: LiteLLM, Portkey, Helicone, OpenRouter, Braintrust,
    // Bifrost, TrueFoundry, Higress, vLLM Semantic Router, Moonshot
    "^x-(?:litellm|pass|portkey|openrouter|bt|bf|tfy|higress|vsr|msh)-|^helicone-",
  ].join("|"),
);
/** What choose a version of Anthropic's API. */
const ANTHROPIC_ONLY = ["anthropic-version", "anthropic-beta"];
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;\s*charset="?utf-8"?)?\s*$/i;

/** Whether a model's upstream gets the header. */
function isForModels(name: string): boolean {
  return !DROPPED.has(name) && !DROPPED_PATTERN.test(name);
}

/**
 * The client's headers that pass, in the form in which they are sent on, by lower-case names. Plain data, because a Headers object
 * needs one call per header, and fetch would then copy it.
 */
export function forwardedHeaders(client: Headers, passes = isForModels): Record<string, string> {
  // without a prototype, because a client may name its headers as it likes
  const headers = Object.create(null) as Record<string, string>;
  let connection = "";
  client.forEach((value, name) => {
    if (name === "connection") connection = value;
    // some servers read `_` as `-`, so such a name could mean any of those
    if (name.includes("_") || !passes(name)) return;
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  });
  // The headers that the client's connection header lists are for this hop only (RFC 9110 section 7.6.1).
  if (connection !== "") for (const name of connection.split(",")) delete headers[name.trim().toLowerCase()];
  return headers;
}

/** The same to a model's upstream, with the headers that its API requires, and the `credential` if there is one. */
export function upstreamHeaders(
  client: Headers,
  access: UpstreamAccess,
  credential: string | null,
): Record<string, string> {
  const headers = forwardedHeaders(client);
  if (access.api_dialect !== "anthropic") for (const name of ANTHROPIC_ONLY) delete headers[name];
  for (const [name, value] of Object.entries(accessHeaders(access, credential))) headers[name] ??= value;
  return headers;
}

/**
 * Headers of a body that was read as JSON, as they are sent upstream: an upstream that read it as something else (a form,
 * another charset, compressed) could find another model in it than the checked one. A JSON type in UTF-8 is kept.
 */
export function asJson(headers: Record<string, string>): Record<string, string> {
  if (!JSON_TYPE.test(headers["content-type"] ?? "")) headers["content-type"] = "application/json";
  return asPlain(headers);
}

/** Headers that ask for a WebSocket. A browser names the version of the API in a subprotocol only. */
export function asUpgrade(headers: Record<string, string>, client: Headers): void {
  headers["upgrade"] = "websocket";
  const version = subprotocolsOf(client).find((name) => /^openai-beta\.realtime-v\d$/.test(name));
  if (version !== undefined) headers["openai-beta"] ??= version.slice("openai-beta.".length).replace("-", "=");
}

/** Headers of a body that is sent as it was read, which is without its coding. */
export function asPlain(headers: Record<string, string>): Record<string, string> {
  delete headers["content-encoding"];
  return headers;
}

/**
 * An upstream's statements about its own limits and about the request, for clients and for people who ask it about a request.
 * The coding header is present if the body was not decoded. `metadata` is vLLM's description of embeddings that are sent as
 * bytes.
 */
const PASSED_ON =
  /^(?:content-encoding|metadata|retry-after(?:-ms)?|x-should-retry|request-id|openai-processing-ms|anthropic-ratelimit-.+)$/;
/** Of the headers that may have any name; with the others they are 32. */
const RATE_LIMITS_MAX = 24;
const VALUE_MAX = 256;
/** Values that are longer by design: one description for each embedding, and a token as the id of a session. */
const LONGER_MAX: Readonly<Record<string, number>> = { metadata: 8192, "mcp-session-id": 2048 };
const PRINTABLE = /^[\x20-\x7e]*$/;
/** Seconds, or a date (RFC 9110 section 10.2.3). */
const RETRY_AFTER = /^(?:\d{1,10}(?:\.\d+)?|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)$/;

/** Whether a client may get a header of an upstream, which may be hostile, with this value. */
export function isPassable(name: string, value: string): boolean {
  if (value.length > (LONGER_MAX[name] ?? VALUE_MAX) || !PRINTABLE.test(value)) return false;
  if (name === "retry-after") return RETRY_AFTER.test(value);
  return name !== "retry-after-ms" || /^\d{1,13}(?:\.\d+)?$/.test(value);
}

/** The upstream's headers that the client gets; `contentType` is one of them. */
export function clientHeaders(upstream: Headers, contentType: string | null): Record<string, string> {
  const headers: Record<string, string> = {};
  if (contentType !== null && isPassable("content-type", contentType)) headers["content-type"] = contentType;
  let rateLimits = 0;
  upstream.forEach((value, name) => {
    if (!PASSED_ON.test(name) || !isPassable(name, value)) return;
    if (name.startsWith("anthropic-")) rateLimits += 1;
    if (rateLimits <= RATE_LIMITS_MAX || !name.startsWith("anthropic-")) headers[name] = value;
  });
  return headers;
}
