/**
 * The Worker's routes, and its handler for errors that no route handled. Everything but the probes and the internal
 * routes is a data-plane call. The model routes, which take nearly all of the traffic, are found by one lookup in a
 * set; the router handles the rest.
 */
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import { GatewayError } from "../shared/errors.ts";
import { rootCause } from "../shared/text/root-cause.ts";
import { INTERNAL_PATHS } from "../shared/wire/internal.ts";
import { WORKER_VERSION_HEADER } from "../shared/wire/worker-version.ts";
import { consoleLog } from "./adapters/console-log.ts";
import type { Bindings } from "./bindings.ts";
import { type Deps, depsOf } from "./deps.ts";
import { requestTargetOf } from "./domain/request/request-target.ts";
import { MODEL_ROUTES } from "./domain/request/route-class.ts";
import { errorDocument } from "./domain/wire/error-form.ts";
import { batchLine } from "./routes/batch-lines.ts";
import { allowedOrigin, allowOrigin, isPreflight, preflightAnswer } from "./routes/cors.ts";
import {
  countedTokens,
  files,
  limits,
  mcp,
  modelDetail,
  modelRoute,
  models,
  otherRoute,
  realtime,
  responsesSocket,
  storedAnswer,
} from "./routes/data-plane.ts";
import { internal } from "./routes/internal.ts";
import { openApiDocument } from "./routes/openapi.ts";
import { WELL_KNOWN, wellKnown } from "./routes/resource-metadata.ts";

interface Types {
  Bindings: Bindings;
  Variables: { deps: Deps };
}

// These few routes need no router that is faster with many; the usual class brings three.
const app = new HonoBase<Types>({ getPath, router: new TrieRouter() });
/** They only report that the Worker runs, and check nothing else. */
const LIVE_PATHS: readonly string[] = ["/health", "/livez"];
/** The document changes with the version of the Worker alone. */
const OPENAPI_HEADERS = { "content-type": "application/json", "cache-control": "public, max-age=300" };
const modelRoutes: ReadonlySet<string> = new Set(MODEL_ROUTES);

/** The data plane as a fetch handler. */
export async function serve(request: Request, bindings: Bindings, context: ExecutionContext): Promise<Response> {
  const origin = allowedOriginOf(request, bindings);
  const asks = origin !== null && isPreflight(request);
  const response = asks ? preflightAnswer(request, requestIds()) : await answer(request, bindings, context);
  const { VERSION } = bindings;
  const version = request.headers.has(WORKER_VERSION_HEADER) ? VERSION?.id : undefined;
  if (version === undefined && origin === null) return response;
  const told = new Response(response.body, response);
  if (version !== undefined) told.headers.set(WORKER_VERSION_HEADER, version);
  if (origin !== null) allowOrigin(told.headers, origin);
  return told;
}

/** The origin whose pages may read the answer; null: none (docs/rules/headers.md#from-a-browser). */
function allowedOriginOf(request: Request, bindings: Bindings): string | null {
  if (!request.headers.has("origin")) return null;
  try {
    return allowedOrigin(depsOf(bindings, request).env.corsOrigins, request);
  } catch {
    return null;
  }
}

async function answer(request: Request, bindings: Bindings, context: ExecutionContext): Promise<Response> {
  const target = request.method === "POST" ? requestTargetOf(request.url) : null;
  if (target === null || !modelRoutes.has(target.path)) return await app.fetch(request, bindings, context);
  try {
    return await modelRoute(depsOf(bindings, request), request, context, target);
  } catch (error) {
    return crashed(error, request);
  }
}

for (const path of ["/ready", "/readyz"])
  app.get(path, async (c) => {
    const missing = await missingPart(c.env, c.req.raw);
    return c.text(missing ?? "ready", missing === null ? 200 : 503, requestIds());
  });
app.use(async (c, next) => {
  if (!URL.canParse(c.req.url)) throw new GatewayError("invalid_path");
  const deps = depsOf(c.env, c.req.raw);
  c.set("deps", deps);
  return await next();
});
for (const path of LIVE_PATHS) app.get(path, (c) => c.text("ok", 200, requestIds()));
app.post(INTERNAL_PATHS.stop, async (c) => await internal(c.var.deps, c.req.raw));
app.all(INTERNAL_PATHS.lines, async (c) => await batchLine(c.var.deps, c.req.raw, c.executionCtx as ExecutionContext));
app.all("/internal/*", async (c) => await (c.env.OBJECTS?.fetch(c.req.raw) ?? internal(c.var.deps, c.req.raw)));
app.get("/v1/openapi.json", (c) => c.body(openApiDocument(), 200, { ...requestIds(), ...OPENAPI_HEADERS }));
app.post(
  "/v1/messages/count_tokens",
  async (c) => await countedTokens(c.var.deps, c.req.raw, c.executionCtx as ExecutionContext),
);
app.get("/v1/models", async (c) => await models(c.var.deps, c.req.raw, c.executionCtx as ExecutionContext));
app.get("/v1/limits", async (c) => await limits(c.var.deps, c.req.raw, c.executionCtx as ExecutionContext));
for (const path of ["/v1/files", "/v1/files/*", "/v1/batches", "/v1/batches/*"])
  app.all(path, async (c) => await files(c.var.deps, c.req.raw, c.executionCtx as ExecutionContext));
app.get("/v1/realtime", async (c) => await realtime(c.var.deps, c.req.raw, c.executionCtx as ExecutionContext));
app.get("/v1/responses", async (c) => await responsesSocket(c.var.deps, c.req.raw, c.executionCtx as ExecutionContext));
app.get("/v1/models/*", async (c) => await modelDetail(c.var.deps, c.req.raw, c.executionCtx as ExecutionContext));
app.all(`${WELL_KNOWN}*`, (c) => wellKnown(c.var.deps, c.req.raw, c.req.path));
app.all("/v1/responses/*", async (c) => await storedAnswer(c.var.deps, c.req.raw, c.executionCtx as ExecutionContext));
app.all("/mcp/*", async (c) => await mcp(c.var.deps, c.req.raw, c.executionCtx as ExecutionContext));
app.notFound(async (c) => {
  const deps = depsOf(c.env, c.req.raw);
  return await otherRoute(deps, c.req.raw, c.executionCtx as ExecutionContext);
});
app.onError((error, c) => crashed(error, c.req.raw));

/** The part that the Worker waits for, in words; null: it can serve (docs/rules/routes.md#probes). */
async function missingPart(bindings: Bindings, request: Request): Promise<string | null> {
  try {
    return await depsOf(bindings, request).missingPart();
  } catch {
    return "the configuration is invalid";
  }
}

/** The answer when no call could answer: the configuration cannot be read, or the URL cannot be parsed. */
function crashed(error: unknown, asked: Request): Response {
  const known = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
  const headers = requestIds();
  const { status, code } = known;
  const requestId = headers["x-request-id"];
  const request = {
    request_id: requestId,
    method: asked.method,
    status,
    error: code,
    reason: rootCause(error),
  };
  consoleLog.event("request", request, status >= 500 ? "error" : "info");
  return Response.json(errorDocument(known.body, { path: getPath(asked), requestId }), { status, headers });
}

/** The path that is routed is the path that is forwarded: as the client wrote it, without decoding. */
function getPath(request: Request): string {
  return requestTargetOf(request.url)?.path ?? "/";
}

/** The headers of an answer that was made without a call (docs/rules/headers.md#response-headers: every response). */
function requestIds(): { readonly "x-request-id": string } & Record<string, string> {
  const id = crypto.randomUUID();
  return { "x-gateway-request-id": id, "x-request-id": id, "x-gateway-overhead-ms": "0" };
}
