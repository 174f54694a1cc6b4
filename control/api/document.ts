/**
 * The OpenAPI document: what the routes declare, and once for all of them what is the same everywhere (examples, headers,
 * the rules of lists, writes and creates). It is made only from the schemas that validate.
 */
import { sample } from "openapi-sampler";
import { type ErrorCode, type ErrorOptions, errorBody } from "../../shared/errors.ts";
import { exampleOf } from "./document-examples.ts";
import type { Api } from "./types.ts";

/** The chapters of the document, in the order in which a reader meets them. */
const TAGS: Readonly<Record<string, string>> = {
  Tenants: "Customers of the gateway: weights, quotas, budgets, access windows, policies.",
  "API keys": "Credentials of a tenant's clients. The secret is shown once, when the key is created or rotated.",
  Budgets: "How much of a budget is used.",
  Models: "Names that clients can request, and the upstream behind each one.",
  "Model endpoints": "Several upstreams behind one model: failover, shares, conversation affinity.",
  "Model health": "Health checks of upstreams and their results.",
  Fairshare: "Groups of tenants and their shares when the gateway is saturated.",
  Load: "Capacity of the cells (regions), and the current state of their schedulers.",
  Batches: "Files of requests that tenants have run on idle slots.",
  "MCP servers": "MCP servers that clients reach through the gateway.",
  Usage: "Usage and cost.",
  Users: "People who sign in to the console: approval, roles, tenants.",
  Settings: "Settings of the whole gateway. Changes apply without a restart.",
  Provisioning: "Models that the gateway starts and keeps running on a batch scheduler.",
  Backup: "The whole configuration as one file.",
  Audit: "Who changed what.",
  Alerts: "What is wrong now and was wrong lately, and where messages about it go.",
  Operations: "State of the gateway, and repair of data derived from the configuration.",
  Gateway: "The service itself. No token is needed.",
};

interface SchemaNode {
  type?: string | string[];
  properties?: Record<string, SchemaNode>;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  $ref?: string;
  [keyword: string]: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  description?: string;
  example?: unknown;
  schema: SchemaNode;
}

interface Answer {
  description: string;
  content?: Record<string, { schema: SchemaNode; example?: unknown }>;
  headers?: Record<string, object>;
}

interface Operation {
  readonly summary: string;
  description?: string;
  readonly tags: readonly string[];
  parameters?: Parameter[];
  requestBody?: Required<Pick<Answer, "content">>;
  responses: Record<string, Answer | { $ref: string }>;
}

/** The document of every route of the application. Throws when a route's tag has no chapter. */
export function buildDocument(app: Api, version: string): object {
  const document = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Gateway Management API",
      version,
      description:
        "Tenants, keys, models, budgets and usage of the gateway. All routes except those tagged Gateway need `Authorization: Bearer <GATEWAY_ADMIN_TOKEN>`. All errors have the same shape; `error.details` names every invalid field. Unknown fields are refused. PATCH merges: an omitted field keeps its value, null resets it to its default. On create, null means the default.",
      contact: { name: "The operator of this gateway" },
      // The type is of a version of OpenAPI that had no identifier.
      license: { name: "Apache-2.0", identifier: "Apache-2.0" } as { name: string },
    },
    servers: [{ url: "/", description: "This gateway's admin listener" }],
    security: [{ adminToken: [] }],
  }) as unknown as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, SchemaNode> };
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  nameExamples(document);
  giveFormats(document);
  for (const { method, operation } of operations) describeOperation(method, operation, document);
  const responses = shareErrors(operations.map(({ operation }) => operation));
  return {
    ...document,
    components: { ...document.components, responses },
    tags: chapters(operations.flatMap(({ operation }) => operation.tags)),
  };
}

function chapters(used: readonly string[]): readonly object[] {
  const unknown = used.find((tag) => !(tag in TAGS));
  if (unknown !== undefined) throw new Error(`the tag '${unknown}' needs a line in TAGS`);
  return Object.entries(TAGS)
    .filter(([name]) => used.includes(name))
    .map(([name, description]) => ({ name, description }));
}

/** Adds an example to every field whose schema does not imply one already. */
function nameExamples(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  if ("properties" in node) {
    for (const [field, schema] of Object.entries((node as SchemaNode).properties ?? {})) giveExample(field, schema);
  }
  for (const inner of Object.values(node)) nameExamples(inner);
}

function giveExample(field: string, schema: SchemaNode): void {
  if ([schema.enum, schema.const, schema.examples, schema.$ref].some((known) => known !== undefined)) return;
  const types = [schema.type ?? []].flat();
  const example = exampleOf(field, types);
  if (example !== undefined) schema.examples = [example];
  else if (types.includes("null") && !types.includes("object") && schema.default === undefined)
    schema.examples = [null];
}

/**
 * Says of every number how wide it is. Without that, generators take an integer for 32 bits, which no time fits, and a number for
 * one of single precision, which no price fits.
 */
function giveFormats(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node) {
    const schema = node as SchemaNode;
    const types = [schema.type ?? []].flat();
    const isWhole = schema.enum?.every((value) => value === null || Number.isInteger(value)) === true;
    if (types.includes("number") && isWhole) {
      const whole = types.map((type) => (type === "number" ? "integer" : type));
      schema.type = whole.length === 1 ? "integer" : whole;
    }
    const width = types.includes("integer") || isWhole ? "int64" : "double";
    if (types.includes("integer") || types.includes("number")) schema["format"] ??= width;
  }
  for (const inner of Object.values(node)) giveFormats(inner);
}

const SYNC = {
  "x-gateway-sync": {
    description:
      "`pending`: a store or cell did not confirm the change within a second. The gateway retries until it does.",
    schema: { type: "string", enum: ["pending"] },
  },
};
const LINK = {
  link: { description: 'The next page, as `rel="next"`; absent on the last page.', schema: { type: "string" } },
};
const ETAG = {
  etag: { description: "The `rev` of the record in quotes, to send as `if-match`.", schema: { type: "string" } },
};
const REPLAYED = {
  "idempotency-replayed": {
    description: "`true` if this is the stored response to an earlier request.",
    schema: { type: "string", enum: ["true"] },
  },
};

const ERROR_EXAMPLES: Readonly<Record<string, readonly [ErrorCode, ErrorOptions]>> = {
  400: ["validation_failed", { details: [{ path: "name", message: "must not be blank" }] }],
  401: ["unauthorized", {}],
  403: ["builtin_recipe", {}],
  404: ["not_found", {}],
  409: ["already_exists", { value: "tenant 'research'", param: "name" }],
  412: ["changed_meanwhile", { present: { id: "5f9c2b1e-6a0d-4a52-9c0e-0d9a7b1f2c3d", rev: 43 } }],
  413: ["request_too_large", {}],
  502: ["cell_unreachable", { value: "local" }],
  503: ["database_unavailable", {}],
};

/** A query is text. A parameter whose text must be a number, or true or false, has that type. */
function typeOfQuery({ pattern, enum: values, default: initial, ...schema }: SchemaNode): SchemaNode {
  if (values?.join() === "true,false") return { ...schema, type: "boolean" };
  const least = typeof pattern === "string" ? /^\^(\\d|\[1-9\]\\d)(\*|\{[\d,]+\})\$$/.exec(pattern)?.[1] : undefined;
  if (least === undefined)
    return {
      ...schema,
      ...(pattern === undefined ? {} : { pattern }),
      ...(values === undefined ? {} : { enum: values }),
      ...(initial === undefined ? {} : { default: initial }),
    };
  const number = initial === undefined ? {} : { default: Number(initial) };
  return { ...schema, type: "integer", minimum: least === "\\d" ? 0 : 1, ...number };
}

function describeOperation(method: string, operation: Operation, document: object): void {
  const { parameters = [], responses } = operation;
  const names = parameters.map((parameter) => parameter.name);
  const [isPaged, isWrite, isCreate] = [names.includes("cursor"), method !== "get", names.includes("idempotency-key")];
  operation.description = [
    `${operation.description ?? operation.summary}.`.replace(/\.\.$/, "."),
    isPaged ? "Results are paged: follow the `link` header." : "",
    isWrite
      ? "Recorded in the audit log. Applied in every cell when the response arrives, unless `x-gateway-sync` is `pending`."
      : "",
    isCreate ? "Safe to retry with the same `idempotency-key`." : "",
  ]
    .filter((sentence) => sentence !== "")
    .join(" ");
  for (const parameter of parameters) {
    if (parameter.in === "query") parameter.schema = typeOfQuery(parameter.schema);
    const example = parameter.example ?? exampleOf(parameter.name, [parameter.schema.type ?? "string"].flat());
    if (example !== undefined && parameter.schema.enum === undefined) parameter.example = example;
  }
  for (const content of Object.values(operation.requestBody?.content ?? {}))
    content.example = sampleOf(content.schema, document);
  for (const [status, answer] of Object.entries(responses)) {
    if ("$ref" in answer) continue;
    const error = ERROR_EXAMPLES[status];
    for (const content of Object.values(answer.content ?? {}))
      content.example = error === undefined ? sampleOf(content.schema, document) : errorBody(...error);
    if (status.startsWith("2")) {
      const headers = {
        ...(isPaged ? LINK : {}),
        ...(isWrite ? SYNC : {}),
        ...(isCreate ? REPLAYED : {}),
        ...(hasRevision(answer, document) ? ETAG : {}),
      };
      if (Object.keys(headers).length > 0) answer.headers = headers;
    }
  }
}

function hasRevision({ content }: Answer, document: object): boolean {
  const schema = content?.["application/json"]?.schema;
  const { schemas } = (document as { readonly components: { readonly schemas: Record<string, SchemaNode> } })
    .components;
  const named = schema?.$ref === undefined ? schema : schemas[schema.$ref.split("/").at(-1) ?? ""];
  return named?.properties?.["rev"] !== undefined;
}

/** The package's type describes an older JSON Schema than the one that the package reads. */
function sampleOf(schema: SchemaNode, document: object): unknown {
  return sample(schema as Parameters<typeof sample>[0], { quiet: true }, document);
}

const ERROR_NAMES: Readonly<Record<string, string>> = {
  400: "Invalid",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  412: "ChangedMeanwhile",
  413: "TooLarge",
  502: "Unreachable",
  503: "Unavailable",
};

/** States each kind of error answer once, and makes the operations refer to it. */
function shareErrors(operations: readonly Operation[]): Readonly<Record<string, Answer>> {
  const shared: Record<string, Answer> = {};
  for (const { responses } of operations) {
    for (const [status, answer] of Object.entries(responses)) {
      const name = ERROR_NAMES[status];
      if (name === undefined || "$ref" in answer) continue;
      const alike = (held: Answer): boolean => held.description === answer.description;
      const known = Object.entries(shared).find(([held, value]) => held.startsWith(name) && alike(value))?.[0];
      const count = Object.keys(shared).filter((held) => held.startsWith(name)).length;
      const chosen = known ?? (count === 0 ? name : `${name}${count + 1}`);
      shared[chosen] = answer;
      responses[status] = { $ref: `#/components/responses/${chosen}` };
    }
  }
  return shared;
}
