/**
 * One route: its place in the OpenAPI document, its handler and its answer, declared together. The handler returns the
 * value that the answer's schema describes, and this file makes the response from it. Fields that the schema does not know
 * are refused here; the verb parses the body with the same schema that the document shows. Bytes that are not UTF-8 are
 * refused, never replaced.
 */
import type { Context } from "hono";
import { z } from "zod";
import { CSV_TYPE } from "../../shared/text/csv.ts";
import type { Page, VerbContext, Written } from "../kernel/context.ts";
import { FORMATS } from "../kernel/csv.ts";
import { runOnce } from "../kernel/idempotency.ts";
import { refuseRepeated } from "../kernel/parse.ts";
import { type Access, declareAccess, scopeOf } from "./access.ts";
import { csvAnswer, listPages, wantsCsv, wholeList } from "./csv-answer.ts";
import { allOf, etagOf, PRECONDITION, preconditionOf, presentSchema, type Takes, takenBy } from "./precondition.ts";
import { readBody } from "./read-body.ts";
import { type StrictBodies, strictBodies } from "./strict-body.ts";
import type { Api, ApiTypes } from "./types.ts";

type RouteContext = Context<ApiTypes>;

/**
 * How a handler's value becomes a response. `read`: the value. `page`: one page of a list, with a `link` header to the next
 * page; the query of every paged list is added to the route's own. `write`: the record that was written, with
 * `x-gateway-sync`; 204 when the answer has no schema. `create`: like `write`, once per Idempotency-Key. `file`: a JSON
 * file to save.
 */
type Kind = "read" | "page" | "write" | "create" | "file";

/** A file of JSON text, in pieces, and the file's name. */
interface JsonFile {
  readonly filename: string;
  readonly pieces: readonly string[];
}

/** The value that a schema describes; lists in it may be read-only. */
type ValueOf<Answer extends z.ZodType> =
  z.output<Answer> extends readonly (infer Row)[] ? readonly Row[] : z.output<Answer>;

type RowOf<Value> = Value extends readonly (infer Row)[] ? Row : never;

/** What a handler of this kind returns. */
export type HandlerResult<K extends Kind, Answer extends z.ZodType> = {
  read: ValueOf<Answer>;
  page: Page<RowOf<ValueOf<Answer>>>;
  write: Written<ValueOf<Answer>>;
  create: Written<ValueOf<Answer>>;
  file: JsonFile;
}[K];

/** The record in a result: of a page or list, one row. */
type RecordOf<R> = R extends { readonly record: infer T }
  ? T
  : R extends { readonly rows: infer Rows }
    ? RowOf<Rows>
    : R extends readonly (infer Row)[]
      ? Row
      : R;

/**
 * Refuses a record that has a field which the answer's schema does not name, because the field would be sent. A schema
 * without known fields names every field.
 */
export type NoOtherField<R, Wanted> =
  unknown extends RecordOf<Wanted>
    ? unknown
    : [Exclude<keyof RecordOf<R>, keyof RecordOf<Wanted>>] extends [never]
      ? unknown
      : { readonly fieldsThatTheAnswerDoesNotName: Exclude<keyof RecordOf<R>, keyof RecordOf<Wanted>> };

/** The names in braces of a path. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** What a handler works with. */
interface Call<Path extends string, Query extends z.ZodObject> {
  readonly ctx: VerbContext;
  /** The parameters of the path. */
  readonly path: Readonly<Record<NamesIn<Path>, string>>;
  /** The query as the client sent it; the verb parses it. */
  readonly query: { readonly [Name in keyof z.output<Query>]?: string };
  /** The JSON body, without unknown fields (strict-body.ts); undefined for a route without a body. */
  readonly body: unknown;
  /** Aborted when the caller leaves. */
  readonly signal: AbortSignal;
}

interface Endpoint<K extends Kind, Path extends string, Query extends z.ZodObject, Answer extends z.ZodType, R> {
  readonly kind: K;
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** With `{name}` for path parameters. */
  readonly path: Path;
  readonly summary: string;
  /** More than the summary says. The rules of all routes are added to the document automatically. */
  readonly description?: string | undefined;
  readonly tag: string;
  /** Who may call the route from a browser. Absent: admins. */
  readonly access?: Access | undefined;
  readonly body?: z.ZodType;
  /** The body is a file: its verb refuses unknown fields itself, after it has checked the file's kind. */
  readonly isFile?: true;
  readonly query?: Query;
  readonly answer?: Answer;
  /** A `write` that also creates the record where there is none. */
  readonly mayCreate?: true;
  /** A `create` that changes the record of its path, such as the rotation of a key. */
  readonly changesRecord?: true;
  /** The part behind the gateway that the answer needs; the route answers 502 when it cannot be reached. */
  readonly reaches?: "cell" | "job scheduler";
  /** When the route answers 403; it never does without this. */
  readonly forbids?: string;
  /** The list can be had as CSV, page by page; `filename` is without its ending. A route of the kind `page` always can. */
  readonly csv?: {
    readonly filename: string;
    readonly pages: (call: Call<Path, Query>) => AsyncIterable<ValueOf<Answer>>;
  };
  /** The answer holds a secret, so caches on the way must not store it. */
  readonly noStore?: true;
  readonly handler: (call: Call<Path, Query>) => Promise<R>;
}

/** A route of any kind, once the compiler has checked it. */
type AnyEndpoint = Omit<Endpoint<Kind, string, z.ZodObject, z.ZodType, unknown>, "handler" | "csv"> & {
  readonly handler: (call: Call<string, z.ZodObject>) => Promise<unknown>;
  readonly csv?: {
    readonly filename: string;
    readonly pages: (call: Call<string, z.ZodObject>) => AsyncIterable<readonly object[]>;
  };
};

const errorBodySchema = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      code: z.string().nullable(),
      param: z.string().nullable(),
      details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
      present: presentSchema,
    }),
  })
  .meta({ id: "Error" });

/** The query of every paged list, as the document shows it; the verb validates. */
const pageQuerySchema = z.object({
  limit: z
    .string()
    .regex(/^[1-9]\d*$/)
    .optional()
    .meta({ description: "1 to 1000, default 100; larger values count as 1000" }),
  cursor: z.string().optional().meta({ description: "Position of the page, from the link header of the previous one" }),
});

/** The query of every list that can be had as CSV, as the document shows it. */
const formatQuerySchema = z.object({
  format: z.enum(FORMATS).optional().meta({ description: "`csv` for a CSV file, like the header Accept: text/csv" }),
});

const ACTOR_HEADER = {
  name: "x-gateway-audit-actor",
  in: "header" as const,
  required: false,
  description: "Who made this change, for the audit log. Default: `admin`.",
  schema: { type: "string" as const, maxLength: 256 },
  example: "deploy-pipeline",
};

const IDEMPOTENCY_HEADER = {
  name: "idempotency-key",
  in: "header" as const,
  required: false,
  description: "For 24 hours, a repeated request with the same key runs only once and gets the same response.",
  schema: { type: "string" as const, minLength: 1, maxLength: 255 },
  example: "create-research-1",
};

/**
 * Adds a route to the application and to its document. A handler does not compile when its value is not what `answer`
 * describes, or when it uses a path or query parameter that is not declared.
 */
export function endpoint<
  const K extends Kind,
  const Path extends string,
  R extends HandlerResult<K, Answer>,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Answer extends z.ZodType = z.ZodNull,
>(app: Api, route: Endpoint<K, Path, Query, Answer, R> & NoOtherField<R, HandlerResult<K, Answer>>): void {
  const given = route as unknown as AnyEndpoint;
  const checked = given.kind === "page" ? { ...given, csv: csvOfPages(given) } : given;
  const ofKind = checked.kind === "page" ? pageQuerySchema.extend(checked.query?.shape ?? {}) : checked.query;
  const query = checked.csv === undefined ? ofKind : formatQuerySchema.extend(ofKind?.shape ?? {});
  const declared: AnyEndpoint = query === undefined ? checked : { ...checked, query };
  const bodyIsOptional = isBodyOptional(declared);
  const parameters = Object.keys(query?.shape ?? {});
  const taken = takenBy(app, declared);
  addToDocument(app, declared, { bodyIsOptional, taken });
  declareAccess(app, declared);
  const strict: StrictBodies = route.isFile ? (body) => ({ body }) : strictBodies(app, declared);
  app.on(route.method.toUpperCase(), route.path.replace(/\{(\w+)\}/g, ":$1"), async (c) => {
    const scope = await scopeOf(c, declared);
    refuseRepeated({ getAll: (name) => [...scope.valuesOf(name)] }, parameters);
    const { text, input } = route.body === undefined ? NO_BODY : await readBody(c, bodyIsOptional);
    scope.checkBody(input);
    const precondition = preconditionOf((name) => c.req.header(name), taken);
    const { body, check: strictCheck } = strict(input);
    const checkRecord = allOf([precondition, strictCheck]);
    const callOf = (ctx: VerbContext): Call<string, z.ZodObject> => ({
      ctx: checkRecord === undefined ? ctx : { ...ctx, checkRecord },
      path: c.req.param() as Record<string, string>,
      query: scope.query,
      body,
      signal: c.req.raw.signal,
    });
    const handle = async (ctx: VerbContext): Promise<unknown> => scope.shown(await declared.handler(callOf(ctx)));
    const { csv } = declared;
    const columns = (): readonly string[] => scope.columns(columnsOf(declared));
    if (scope.list !== undefined) return await wholeList(c, csv?.filename ?? "", columns(), await scope.list());
    if (csv !== undefined) c.header("vary", "accept");
    if (csv !== undefined && wantsCsv(c))
      return await csvAnswer(c, csv.filename, columns(), csv.pages(callOf(c.var.ctx)));
    if (route.noStore) c.header("cache-control", "no-store");
    return await ANSWERS[route.kind](c, handle, text, scope.query);
  });
}

/** The CSV of a paged list, from the pages that its handler gives. The file has the name of the list. */
function csvOfPages({ path, handler }: AnyEndpoint): NonNullable<AnyEndpoint["csv"]> {
  return {
    filename: path.slice(path.lastIndexOf("/") + 1),
    pages: (call) =>
      listPages(call.query, async (query) => (await handler({ ...call, query })) as unknown as Page<object>),
  };
}

/** `warnings` are in answers to writes only. `rev` would shift the columns that readers count. */
const NOT_IN_CSV = ["warnings", "rev"];

/** The fields of the rows of a list. */
function columnsOf({ answer }: AnyEndpoint): readonly string[] {
  const row = answer instanceof z.ZodArray ? answer.element : null;
  return row instanceof z.ZodObject ? Object.keys(row.shape).filter((name) => !NOT_IN_CSV.includes(name)) : [];
}

const NO_BODY = { text: "", input: undefined };

/** A POST whose fields are all optional may come without a body (docs/rules/management-api.md#bodies). */
function isBodyOptional({ method, body }: AnyEndpoint): boolean {
  return method === "post" && body?.safeParse({}).success === true;
}

function addToDocument(
  app: Api,
  route: AnyEndpoint,
  { bodyIsOptional, taken }: { readonly bodyIsOptional: boolean; readonly taken: Takes },
): void {
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
      ...(route.kind === "create" ? [IDEMPOTENCY_HEADER] : []),
      ...(taken.hasRevision ? [PRECONDITION.parameter] : []),
      ...(taken.mayCreate ? [PRECONDITION.creation] : []),
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
        : {
            200: {
              description: "Done.",
              content: {
                "application/json": { schema: route.answer },
                ...(route.csv === undefined ? {} : { [CSV_TYPE]: { schema: z.string() } }),
              },
            },
          }),
      ...errorAnswers(route, { isNamed: names.length > 0, hasRevision: taken.hasRevision }),
    },
  });
}

function errorAnswers(
  { body, query, kind, reaches, forbids, method }: AnyEndpoint,
  { isNamed, hasRevision }: { readonly isNamed: boolean; readonly hasRevision: boolean },
): Record<number, object> {
  const creates = kind === "create";
  const descriptions: Readonly<Record<number, string | false | undefined>> = {
    400:
      (reaches === "job scheduler" && "No job scheduler is configured.") ||
      ((body !== undefined || query !== undefined || method === "post") &&
        "A field is missing or malformed; `error.details` names each one."),
    401: "The admin token is missing or wrong.",
    403: forbids,
    404: (isNamed || (query !== undefined && "cell" in query.shape)) && "The resource does not exist.",
    409:
      (body !== undefined || creates) &&
      `Another resource has this value${creates ? ", or the idempotency key is in use" : ""}.`,
    412: hasRevision && PRECONDITION.refusal,
    413: body !== undefined && "The body is too large.",
    415: body !== undefined && "The body is compressed.",
    502: reaches !== undefined && `The ${reaches} does not respond.`,
    503: "A store cannot be reached.",
  };
  const content = { "application/json": { schema: errorBodySchema } };
  return Object.fromEntries(
    Object.entries(descriptions)
      .filter(([, description]) => typeof description === "string")
      .map(([status, description]) => [status, { description, content }]),
  );
}

type Query = Readonly<Record<string, string>>;
type Handle = (ctx: VerbContext) => Promise<unknown>;

/** How each kind is answered; `text` is the text of the body, `handle` runs the handler in the given context. */
const ANSWERS: Readonly<
  Record<Kind, (c: RouteContext, handle: Handle, text: string, query: Query) => Promise<Response>>
> = {
  read: async (c, handle) => withEtag(c, (await handle(c.var.ctx)) as object),
  page: async (c, handle, _, query) => paged(c, (await handle(c.var.ctx)) as Page<unknown>, query),
  write: async (c, handle) => written(c, (await handle(c.var.ctx)) as Written<unknown>),
  create: async (c, handle, text) => await created(c, async (ctx) => (await handle(ctx)) as Written<unknown>, text),
  file: async (c, handle) => await saved(c, (await handle(c.var.ctx)) as JsonFile),
};

/** Answers a write: the record, and whether a cell has not confirmed it yet. */
function written(c: RouteContext, { record, sync }: Written<unknown>): Response {
  if (sync === "pending") c.header("x-gateway-sync", "pending");
  return record === null ? c.body(null, 204) : withEtag(c, record as object);
}

function withEtag(c: RouteContext, answer: object): Response {
  const etag = etagOf(answer);
  if (etag !== null) c.header("etag", etag);
  return c.json(answer, 200);
}

/** Answers a create, once per Idempotency-Key (docs/rules/management-api.md#idempotency). */
async function created(
  c: RouteContext,
  verb: (ctx: VerbContext) => Promise<Written<unknown>>,
  text: string,
): Promise<Response> {
  const key = c.req.header("idempotency-key");
  if (key === undefined) return written(c, await verb(c.var.ctx));
  const { actor, personId, isForUser } = c.var.ctx;
  // An answer may have a secret, which is for who has made it alone.
  const scope = `${c.req.method} ${c.req.path} ${isForUser === true ? "user" : "admin"} ${personId ?? actor}`;
  const answer = await runOnce(c.var.ctx, key, scope, text, verb);
  if (answer.sync === "pending") c.header("x-gateway-sync", "pending");
  if (answer.replayed) c.header("idempotency-replayed", "true");
  const etag = etagOf(JSON.parse(answer.body));
  if (etag !== null) c.header("etag", etag);
  return c.body(answer.body, 200, { "content-type": "application/json" });
}

/** Answers one page of a list, with a link to the next (docs/rules/management-api.md#lists). */
function paged(c: RouteContext, page: Page<unknown>, asked: Query): Response {
  if (page.next !== null) {
    const query = new URLSearchParams(asked);
    query.set("cursor", page.next);
    c.header("link", `<${c.req.path}?${query.toString()}>; rel="next"`);
  }
  return c.json(page.rows as object[], 200);
}

async function saved(c: RouteContext, { filename, pieces }: JsonFile): Promise<Response> {
  c.header("content-type", "application/json");
  c.header("content-disposition", `attachment; filename="${filename}"`);
  return c.body(await new Blob([...pieces]).arrayBuffer());
}
