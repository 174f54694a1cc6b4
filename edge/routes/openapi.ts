/**
 * `GET /v1/openapi.json`: the OpenAPI document of the data plane (docs/rules/routes.md#openapi-document). It is made of the
 * tables that decide about requests: the classes of routes, the fields that the gateway itself reads, and the errors. Other
 * members of a body or an answer belong to its provider, so these schemas are open.
 */
import { version } from "../../package.json";
import { DATA_PLANE_ERRORS, type ErrorCode, errorBody } from "../../shared/errors.ts";
import { CHECKED_NUMBERS, decidingFields } from "../domain/request/client-fields.ts";
import { type BilledBy, type MODEL_ROUTES, routeClassOf } from "../domain/request/route-class.ts";
import { errorDocument } from "../domain/wire/error-form.ts";

type Node = Readonly<Record<string, unknown>>;

const OPENAI = "https://platform.openai.com/docs/api-reference/";
const ANTHROPIC = "https://docs.claude.com/en/api/";

/** The purpose of a route, and where its provider describes bodies and answers. */
type About = readonly [summary: string, reference?: string];

const MODEL_TEXTS: Readonly<Record<(typeof MODEL_ROUTES)[number], About>> = {
  "/v1/chat/completions": ["Answer a conversation", `${OPENAI}chat`],
  "/v1/completions": ["Continue a text", `${OPENAI}completions`],
  "/v1/responses": ["Make a response", `${OPENAI}responses`],
  "/v1/messages": ["Answer a conversation in Anthropic's form", `${ANTHROPIC}messages`],
  "/v1/embeddings": ["Embed texts", `${OPENAI}embeddings`],
  "/v1/audio/transcriptions": ["Transcribe speech", `${OPENAI}audio`],
  "/v1/audio/translations": ["Translate speech to English", `${OPENAI}audio`],
  "/v1/audio/speech": ["Speak a text", `${OPENAI}audio`],
  "/v1/images/generations": ["Make images", `${OPENAI}images`],
  "/v1/images/edits": ["Edit images", `${OPENAI}images`],
  "/v1/images/variations": ["Vary an image", `${OPENAI}images`],
};

/** The other routes: tag, method and path. */
const OTHERS: Readonly<Record<string, About>> = {
  "Inference post /v1/messages/count_tokens": [
    "Count the input tokens of a message",
    `${ANTHROPIC}messages-count-tokens`,
  ],
  "Inference post /v1/rerank": ["Order documents by a query", "https://docs.cohere.com/reference/rerank"],
  "Inference post /v1/moderations": ["Classify texts", `${OPENAI}moderations`],
  "Responses get /v1/responses/{id}": ["Read a stored response", `${OPENAI}responses`],
  "Responses delete /v1/responses/{id}": ["Delete a stored response", `${OPENAI}responses`],
  "Responses post /v1/responses/{id}/cancel": ["Cancel a response made in the background", `${OPENAI}responses`],
  "Responses get /v1/responses/{id}/input_items": ["List the input items of a stored response", `${OPENAI}responses`],
  "Realtime get /v1/responses": ["Send requests of `/v1/responses` over a WebSocket", `${OPENAI}responses`],
  "Realtime get /v1/realtime": ["Talk to a model over a WebSocket", `${OPENAI}realtime`],
  "Caller get /v1/models": ["List the models that the caller may use"],
  "Caller get /v1/models/{id}": ["Describe a model"],
  "Caller get /v1/limits": ["Show the caller's limits and the remaining amounts"],
  "Batches get /v1/files": ["List the tenant's files", `${OPENAI}files`],
  "Batches post /v1/files": ["Upload a file of requests", `${OPENAI}files`],
  "Batches get /v1/files/{id}": ["Describe a file", `${OPENAI}files`],
  "Batches delete /v1/files/{id}": ["Delete a file", `${OPENAI}files`],
  "Batches get /v1/files/{id}/content": ["Read a file", `${OPENAI}files`],
  "Batches get /v1/batches": ["List the tenant's batches", `${OPENAI}batch`],
  "Batches post /v1/batches": ["Run the requests of a file on idle slots", `${OPENAI}batch`],
  "Batches get /v1/batches/{id}": ["Describe a batch", `${OPENAI}batch`],
  "Batches post /v1/batches/{id}/cancel": ["Cancel a batch", `${OPENAI}batch`],
  "MCP post /mcp/{server}": ["Send a message to an MCP server", "https://modelcontextprotocol.io"],
  "MCP get /mcp/{server}": ["Listen to an MCP server", "https://modelcontextprotocol.io"],
  "MCP delete /mcp/{server}": ["End a session of an MCP server", "https://modelcontextprotocol.io"],
  "Service get /health": ["Say whether the process runs"],
  "Service get /livez": ["Say whether the process runs"],
  "Service get /ready": ["Say whether it can serve"],
  "Service get /readyz": ["Say whether it can serve"],
  "Service get /v1/openapi.json": ["Show this document"],
};

const TAGS = {
  Inference: "Requests to a model. Each is authenticated, limited, examined and billed.",
  Responses: "Responses that an upstream keeps. They belong to the tenant that was given their ids.",
  Batches: "Files of requests that run on otherwise unused slots. They belong to the tenant.",
  Realtime: "Sessions over a WebSocket. Each response is limited, examined and billed like a request.",
  Caller: "What the caller may use.",
  MCP: "MCP servers behind the gateway.",
  Service: "The service itself. No key is needed.",
};

const BILLED: Readonly<Record<BilledBy, string>> = {
  tokens: "by input and output tokens",
  "input-tokens": "by input tokens",
  images: "by images",
  characters: "by characters of `input`",
  seconds: "by seconds of audio",
  nothing: "nothing",
};

/** The gateway's use of the fields that it reads; numbers are in CHECKED_NUMBERS. */
const FIELDS: Readonly<Record<string, Node>> = {
  model: { type: "string", description: "A registered name. The upstream gets its own name of the model." },
  stream: { type: ["boolean", "null"], description: "The answer comes as events." },
  input: { description: "What the model gets." },
  previous_response_id: { type: ["string", "null"], description: "A response of the same tenant." },
  conversation: { description: "A conversation of the same tenant." },
  store: { type: ["boolean", "null"], description: "Without it, the ids of the answer are not remembered." },
  background: { type: ["boolean", "null"], description: "Billed at the estimate, and the rest at the first read." },
  user: { type: "string", description: "The end user, for budgets and reports; also `metadata.user_id`." },
};

const REQUEST_HEADERS: Readonly<Record<string, string>> = {
  "x-gateway-tags": "What the request is for, such as `team=search`: at most 8, for reports.",
  "x-gateway-session-id": "The conversation, for reports and for affinity to an endpoint.",
  "x-gateway-boons": "`off`: the model's add-ons do nothing.",
};

const ANSWER_HEADERS: Readonly<Record<string, string>> = {
  "x-gateway-request-id": "The id of the request: of its usage row and its log line.",
  "x-request-id": "The same.",
  "x-gateway-overhead-ms": "Time in the gateway, without the queue.",
  "x-gateway-upstream-status": "The upstream's status, if one was called.",
  "x-gateway-cache": "`hit` or `miss`, after a lookup in the response cache.",
  "x-gateway-model": "The model, when it is not the one that was asked for.",
  "x-gateway-boons": "The model's add-ons that were applied.",
  "x-gateway-boons-warning": "What they could not do.",
  "x-gateway-compression": "Tokens before and after.",
  ...Object.fromEntries(
    ["tokens", "requests"].flatMap((rate) =>
      ["limit", "remaining", "reset"].map((name) => [`x-ratelimit-${name}-${rate}`, `Of the ${rate} of a minute.`]),
    ),
  ),
};

const FORMS = { "": "/v1/chat/completions", Messages: "/v1/messages" };
const CODES = Object.keys(DATA_PLANE_ERRORS) as (keyof typeof DATA_PLANE_ERRORS)[];
const STATUSES = [...new Set(CODES.map((code) => DATA_PLANE_ERRORS[code].status))];
/** For a request without a body that goes to no upstream. */
const PLAIN_STATUSES: ReadonlySet<number> = new Set([400, 401, 403, 404, 500, 503]);

const ref = (kind: string, name: string): Node => ({ $ref: `#/components/${kind}/${name}` });
const text = (description: string): Node => ({ description, schema: { type: "string" } });
const content = (...types: readonly string[]): Node =>
  Object.fromEntries(
    types.map((type) => [type, { schema: type.endsWith("json") ? { type: "object" } : { type: "string" } }]),
  );

let made: string | null = null;

/** The document as JSON. */
export function openApiDocument(): string {
  made ??= JSON.stringify(build());
  return made;
}

function build(): Node {
  const paths: Record<string, Record<string, Node>> = {};
  const models = Object.entries(MODEL_TEXTS).map(([path, about]) => [`Inference post ${path}`, about] as const);
  for (const [route, about] of [...models, ...Object.entries(OTHERS)]) {
    const [tag = "", method = "", path = ""] = route.split(" ");
    paths[path] = { ...paths[path], [method]: operation(tag, method, path, about) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Gateway data plane",
      version,
      description:
        "Inference, models and tools behind the gateway. Bodies and answers are those of the provider whose API a route has; the schemas here name only what the gateway itself reads or adds.",
      contact: { name: "The operator of this gateway" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "This gateway" }],
    security: [{ bearer: [] }, { "x-api-key": [] }, { "api-key": [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        "x-api-key": { type: "apiKey", in: "header", name: "x-api-key" },
        "api-key": { type: "apiKey", in: "header", name: "api-key" },
      },
      parameters: Object.fromEntries(
        Object.entries(REQUEST_HEADERS).map(([name, about]) => [name, { name, in: "header", ...text(about) }]),
      ),
      headers: Object.fromEntries(Object.entries(ANSWER_HEADERS).map(([name, about]) => [name, text(about)])),
      responses: Object.fromEntries(
        Object.entries(FORMS).flatMap(([form, path]) =>
          STATUSES.map((status) => [`${form}Error${status}`, errorAnswer(path, status)]),
        ),
      ),
    },
  };
}

/** The refusals of a status, in the form of the route. */
function errorAnswer(path: string, status: number): Node {
  const codes = CODES.filter((code) => DATA_PLANE_ERRORS[code].status === status);
  const example = errorDocument(errorBody(codes[0] as ErrorCode), { path, requestId: "" });
  const schema = { type: "object", required: ["error"], properties: { error: { type: "object" } } };
  return {
    description: `\`error.code\` is ${codes.map((code) => `\`${code}\``).join(", ")}.`,
    content: { "application/json": { schema, example } },
  };
}

function operation(tag: string, method: string, path: string, [summary, reference]: About): Node {
  const route = routeClassOf(path);
  const isInference = tag === "Inference";
  const isService = tag === "Service";
  const form = path.startsWith(FORMS.Messages) ? "Messages" : "";
  const refused = isService ? [] : STATUSES.filter((status) => tag !== "Caller" || PLAIN_STATUSES.has(status));
  const billed = isInference ? ` Request type \`${route.requestType}\`; billed: ${BILLED[route.billedBy]}.` : "";
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const isSession = tag === "Realtime";
  const query =
    path === "/v1/realtime" ? [{ name: "model", in: "query", required: true, schema: { type: "string" } }] : [];
  const headers = isInference || isSession ? Object.keys(REQUEST_HEADERS).map((name) => ref("parameters", name)) : [];
  return {
    operationId: method + path.replace(/\W+(\w?)/g, (_, letter: string) => letter.toUpperCase()),
    tags: [tag],
    summary,
    description: `${summary}.${billed}`,
    ...(reference === undefined ? {} : { externalDocs: { url: reference, description: "Bodies and answers" } }),
    ...(isService ? { security: [] } : {}),
    parameters: [...ids, ...query, ...headers],
    ...(isInference ? { requestBody: { required: true, content: bodyOf(path) } } : {}),
    responses: {
      [isSession ? "101" : "200"]: {
        description: isSession ? "The session" : "The answer",
        headers: Object.fromEntries(Object.keys(ANSWER_HEADERS).map((name) => [name, ref("headers", name)])),
        ...(isSession ? {} : { content: content(...answerTypes(path, isService, isInference)) }),
      },
      ...Object.fromEntries(refused.map((status) => [status, ref("responses", `${form}Error${status}`)])),
      ...(/\/ready/.test(path)
        ? { "503": { description: "What is missing, in words", content: content("text/plain") } }
        : {}),
    },
  };
}

function bodyOf(path: string): Node {
  const route = routeClassOf(path);
  const names = [...decidingFields(route), "user"];
  const properties = Object.fromEntries(names.map((name) => [name, FIELDS[name] ?? numberField(name)]));
  const required = ["model"];
  return {
    [route.form ? "multipart/form-data" : "application/json"]: { schema: { type: "object", required, properties } },
  };
}

function numberField(name: string): Node {
  const { min: minimum, max: maximum } = CHECKED_NUMBERS.get(name) ?? { min: 0, max: 0 };
  const description = name === "n" ? "Answers. A budget reserves each." : "Most output tokens. A budget reserves them.";
  return { type: ["integer", "null"], minimum, maximum, description };
}

function answerTypes(path: string, isService: boolean, isInference: boolean): readonly string[] {
  if (isService && !path.endsWith(".json")) return ["text/plain"];
  const { billedBy } = routeClassOf(path);
  if (billedBy === "characters") return ["audio/mpeg", "text/event-stream"];
  const isStreamed = path.startsWith("/mcp/") || (isInference && ["tokens", "seconds", "images"].includes(billedBy));
  return isStreamed ? ["application/json", "text/event-stream"] : ["application/json"];
}
