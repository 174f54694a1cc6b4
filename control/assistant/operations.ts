/**
 * What the assistant can do, made from the document of the Management API (docs/rules/assistant.md#tools): an operation for
 * each route that the console's browser may reach as well. Pure. The document is our own; what is not in the list of the
 * console's routes cannot become an operation, whatever the document has.
 */
import type { JsonSchema } from "../kernel/json-schema.ts";

/** A route that an admin's browser may reach. */
export interface ReachableRoute {
  readonly method: string;
  /** Below /api/v1, with `{name}` for parameters. */
  readonly path: string;
}

/** One thing that the assistant can read, or propose to write. */
export interface AssistantOperation {
  /** Its name in the settings: method and path, such as `put_tenants_id_status`. */
  readonly name: string;
  readonly method: string;
  /** Below /api/v1, with `{name}` for parameters. */
  readonly path: string;
  /** What the route does, in a sentence of its document. */
  readonly summary: string;
  readonly writes: boolean;
  readonly pathNames: readonly string[];
  readonly query: Readonly<Record<string, JsonSchema>>;
  /** The schema of the body, references resolved; null: it takes none. */
  readonly body: JsonSchema | null;
}

const ONE_PART = "the routes of single parts say by their names what is about to change, and each can be switched off";

/** Routes that the assistant never gets, and why. */
const NOT_FOR_THE_ASSISTANT: Readonly<Record<string, string>> = {
  "GET /backup/export": "the whole configuration with its sealed credentials is no text for a model",
  "GET /usage/logs/{request_id}/capture": "what a tenant's client sent is no text for a model",
  "POST /backup/restore": "a file of the whole configuration does not fit into a conversation",
  "PATCH /tenants/{id}": ONE_PART,
  "PATCH /keys/{id}": ONE_PART,
  "PATCH /models/{id}": ONE_PART,
  "PATCH /mcp-servers/{id}": ONE_PART,
};

/** Left out of what a model is shown: it needs none of them to fill a field. */
const KEYWORDS = ["type", "enum", "const", "format", "minimum", "maximum", "required", "default"] as const;
const DESCRIPTION_MAX_CHARACTERS = 160;
const SCHEMA_DEPTH_MAX = 6;
/** Of a read, the file formats: the model reads JSON. */
const NOT_ASKED = ["format"];

interface DocumentedOperation {
  readonly summary?: unknown;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema?: unknown }[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: unknown }>> };
}

/** The name of an operation in settings and to the model: method and path. */
export function operationName(method: string, path: string): string {
  return `${method.toLowerCase()}${path.replace(/[{}]/g, "").replaceAll("/", "_")}`;
}

/** The operations of a document that are in `routes`, in the order of these. */
export function operationsOf(document: unknown, routes: readonly ReachableRoute[]): readonly AssistantOperation[] {
  const paths = fieldsOf(fieldsOf(document)["paths"]);
  return routes.flatMap(({ method, path }) => {
    if (`${method} ${path}` in NOT_FOR_THE_ASSISTANT) return [];
    const documented = fieldsOf(paths[`/api/v1${path}`])[method.toLowerCase()];
    return documented === undefined ? [] : [operationOf(document, method, path, documented as DocumentedOperation)];
  });
}

function operationOf(
  document: unknown,
  method: string,
  path: string,
  { summary, parameters = [], requestBody }: DocumentedOperation,
): AssistantOperation {
  const query = parameters
    .filter((parameter) => parameter.in === "query" && !NOT_ASKED.includes(parameter.name))
    .map(({ name, schema }) => [name, shownSchema(schema, document, 0)] as const);
  const body = requestBody?.content?.["application/json"]?.schema;
  return {
    name: operationName(method, path),
    method,
    path,
    summary: typeof summary === "string" ? summary : "",
    writes: method !== "GET",
    pathNames: [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ""),
    query: Object.fromEntries(query),
    body: body === undefined ? null : shownSchema(body, document, 0),
  };
}

/** A schema with its references resolved, and of each node what says how to fill it. */
function shownSchema(schema: unknown, document: unknown, depth: number): JsonSchema {
  const node = resolved(schema, document);
  // Nothing is taken where it is not known what would be.
  if (depth > SCHEMA_DEPTH_MAX) return { not: {} };
  const shown: Record<string, unknown> = {};
  for (const keyword of KEYWORDS) if (node[keyword] !== undefined) shown[keyword] = node[keyword];
  const { description, properties, items, additionalProperties, allOf, anyOf, oneOf } = node;
  if (typeof description === "string") shown["description"] = description.slice(0, DESCRIPTION_MAX_CHARACTERS);
  if (properties !== undefined)
    shown["properties"] = Object.fromEntries(
      Object.entries(fieldsOf(properties)).map(([name, inner]) => [name, shownSchema(inner, document, depth + 1)]),
    );
  if (items !== undefined) shown["items"] = shownSchema(items, document, depth + 1);
  if (additionalProperties === true) shown["additionalProperties"] = true;
  else if (typeof additionalProperties === "object")
    shown["additionalProperties"] = shownSchema(additionalProperties, document, depth + 1);
  if (Array.isArray(allOf)) shown["allOf"] = allOf.map((one) => shownSchema(one, document, depth + 1));
  const choices = anyOf ?? oneOf;
  if (Array.isArray(choices)) shown["anyOf"] = choices.map((one) => shownSchema(one, document, depth + 1));
  return shown;
}

function resolved(schema: unknown, document: unknown): Readonly<Record<string, unknown>> {
  let node = fieldsOf(schema);
  for (let steps = 0; typeof node["$ref"] === "string" && steps < SCHEMA_DEPTH_MAX; steps += 1) {
    let at = document;
    for (const part of node["$ref"].replace(/^#\//, "").split("/")) at = fieldsOf(at)[part];
    node = fieldsOf(at);
  }
  return node;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
