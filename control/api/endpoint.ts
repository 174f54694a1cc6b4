/**
 * One route: its place in the OpenAPI document and its handler, declared together. Handlers get the raw body; the verb
 * parses it with the same schema that the document shows. Bytes that are no UTF-8 are refused, never replaced.
 */
import type { Context } from "hono";
import type { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import type { Written } from "../kernel/context.ts";
import { runOnce } from "../kernel/idempotency.ts";
import { errorBodySchema } from "./error-schema.ts";
import type { Api, ApiTypes } from "./types.ts";

export type RouteContext = Context<ApiTypes>;

interface Endpoint {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** With `{name}` for path parameters. */
  readonly path: string;
  readonly summary: string;
  /** More than the summary says; the rules of all routes are added to the document by themselves. */
  readonly description?: string;
  readonly tag: string;
  readonly body?: z.ZodType;
  readonly query?: z.ZodObject;
  readonly answer?: z.ZodType;
  /** Answered by {@link create}: the Idempotency-Key is honoured. */
  readonly creates?: true;
  /** Answers 502 when this cannot be reached. */
  readonly reaches?: "cell" | "job scheduler";
  readonly handler: (c: RouteContext) => Promise<Response>;
}

const ACTOR_HEADER = {
  name: "x-gateway-audit-actor",
  in: "header" as const,
  required: false,
  description: "Who the audit log names for this change, default `admin`.",
  schema: { type: "string" as const, maxLength: 256 },
  example: "deploy-pipeline",
};

const IDEMPOTENCY_HEADER = {
  name: "idempotency-key",
  in: "header" as const,
  required: false,
  description: "For 24 hours, the same request under the same key is done once and answered the same.",
  schema: { type: "string" as const, minLength: 1, maxLength: 255 },
  example: "create-research-1",
};

/** Adds a route to the application and to its document. */
export function endpoint(app: Api, route: Endpoint): void {
  const bodyIsOptional = route.method === "post" && route.body?.safeParse({}).success === true;
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
  app.openAPIRegistry.registerPath({
    method: route.method,
    path: route.path,
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    operationId: `${route.method}${route.path.replace("/api/v1", "").replace(/[/{}-]+(\w?)/g, (_, next: string) => next.toUpperCase())}`,
    parameters: [
      ...names.map((name) => ({
        name,
        in: "path" as const,
        required: true,
        schema: { type: "string" as const },
      })),
      ...(route.method === "get" ? [] : [ACTOR_HEADER]),
      ...(route.creates ? [IDEMPOTENCY_HEADER] : []),
    ],
    request: {
      ...(route.query === undefined ? {} : { query: route.query }),
      ...(route.body === undefined
        ? {}
        : { body: { required: !bodyIsOptional, content: { "application/json": { schema: route.body } } } }),
    },
    responses: {
      ...(route.answer === undefined
        ? { 204: { description: "Done." } }
        : { 200: { description: "Done.", content: { "application/json": { schema: route.answer } } } }),
      ...errorAnswers(route, names.length > 0),
    },
  });
  app.on(route.method.toUpperCase(), route.path.replace(/\{(\w+)\}/g, ":$1"), async (c) => {
    c.set("bodyIsOptional", bodyIsOptional);
    return await route.handler(c);
  });
}

function errorAnswers({ body, query, creates, reaches, method }: Endpoint, named: boolean): Record<number, object> {
  const descriptions: Readonly<Record<number, string | false | undefined>> = {
    400:
      (body !== undefined || query !== undefined || method === "post") &&
      "A field is missing or malformed; `error.details` names each one.",
    401: "The admin token is missing or wrong.",
    404: (named || (query !== undefined && "cell" in query.shape)) && "There is no such resource.",
    409:
      (body !== undefined || creates) &&
      `Another resource has this value${creates ? ", or the idempotency key is in use" : ""}.`,
    413: body !== undefined && "The body is too large.",
    502: reaches !== undefined && `The ${reaches} does not answer.`,
    503: "A store cannot be reached.",
  };
  const content = { "application/json": { schema: errorBodySchema } };
  return Object.fromEntries(
    Object.entries(descriptions)
      .filter(([, description]) => typeof description === "string")
      .map(([status, description]) => [status, { description, content }]),
  );
}

/** The JSON body; `{}` for none on a POST whose fields are all optional (decisions §43.5). Throws 400 `invalid_json`. */
export async function jsonBody(c: RouteContext): Promise<unknown> {
  return (await readBody(c)).input;
}

/** Answers a write: the record, and whether some cell has not confirmed it yet. */
export function written<T>(c: RouteContext, { record, sync }: Written<T>): Response {
  if (sync === "pending") c.header("x-gateway-sync", "pending");
  return record === null ? c.body(null, 204) : c.json(record as object, 200);
}

/** Answers a create, once per Idempotency-Key (decisions §2.5). `verb` takes its context from `c` when it is called. */
export async function create<T>(c: RouteContext, verb: (input: unknown) => Promise<Written<T>>): Promise<Response> {
  const { text, input } = await readBody(c);
  const key = c.req.header("idempotency-key");
  if (key === undefined) return written(c, await verb(input));
  const scope = `${c.req.method} ${c.req.path}`;
  const answer = await runOnce(c.var.ctx, key, scope, text, async (ctx) => {
    c.set("ctx", ctx);
    return await verb(input);
  });
  if (answer.sync === "pending") c.header("x-gateway-sync", "pending");
  if (answer.replayed) c.header("idempotency-replayed", "true");
  return c.body(answer.body, 200, { "content-type": "application/json" });
}

/** Answers one page of a list, with a link to the next (decisions §2.4). */
export function paged(
  c: RouteContext,
  page: { readonly rows: readonly unknown[]; readonly next: string | null },
): Response {
  if (page.next !== null) {
    const query = new URLSearchParams(c.req.query());
    query.set("cursor", page.next);
    c.header("link", `<${c.req.path}?${query.toString()}>; rel="next"`);
  }
  return c.json(page.rows as object[], 200);
}

async function readBody(c: RouteContext): Promise<{ readonly text: string; readonly input: unknown }> {
  const bytes = await c.req.arrayBuffer();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text, input: c.var.bodyIsOptional && text.trim() === "" ? {} : JSON.parse(text) };
  } catch {
    throw new GatewayError("invalid_json");
  }
}
