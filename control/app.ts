/**
 * The Management API: guards, routes and one error handler. An unknown path under /api/v1 needs the token first, then it is
 * 404; elsewhere it is 404 at once (docs/rules/internal-traffic.md#internal-routes,
 * docs/rules/management-api.md#token-and-actor). A known path with another method is 405
 * (docs/rules/errors.md#management-codes).
 */
import { OpenAPIHono } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { GatewayError } from "../shared/errors.ts";
import { rootCause } from "../shared/text/root-cause.ts";
import { alertRoutes, channelRoutes } from "./alerts/alert-routes.ts";
import { type LiveRoute, liveRoutesOf } from "./api/access.ts";
import { authenticate, limitBody } from "./api/guard.ts";
import { publicRoutes } from "./api/public.ts";
import type { Api, ApiDeps, ApiTypes } from "./api/types.ts";
import { assistantRoutes } from "./assistant/assistant-routes.ts";
import { operationRoutes } from "./audit/operation-routes.ts";
import { backupRoutes } from "./backup/backup-routes.ts";
import { batchRoutes } from "./batches/batch-routes.ts";
import { fairshareRoutes } from "./fairshare/fairshare-routes.ts";
import { loadRoutes } from "./fairshare/load-routes.ts";
import { guardrailsRoutes } from "./guardrails/guardrails-routes.ts";
import type { Prober } from "./health/prober.ts";
import { TrafficHealth } from "./health/shown-health.ts";
import { failureLevel } from "./kernel/store-watch.ts";
import { internalRoutes } from "./keys/internal-routes.ts";
import { keyRoutes } from "./keys/key-routes.ts";
import { mcpServerRoutes } from "./mcp/mcp-server-routes.ts";
import { autotuneRoutes } from "./models/autotune/autotune-routes.ts";
import { benchmarkRoutes } from "./models/benchmarks/benchmark-routes.ts";
import type { BenchmarkRuns } from "./models/benchmarks/benchmark-runs.ts";
import { modelEndpointRoutes } from "./models/endpoints/endpoint-routes.ts";
import { modelHealthRoutes } from "./models/health-routes.ts";
import { modelRoutes } from "./models/model-routes.ts";
import type { ProvisionerCounters } from "./provisioner/jobsched/provisioner-counters.ts";
import { managedModelRoutes } from "./provisioner/managed/managed-model-routes.ts";
import { recipeRoutes } from "./provisioner/recipes/recipe-routes.ts";
import { infrastructureSettingsRoutes, settingsRoutes } from "./settings/setting-routes.ts";
import { budgetRoutes } from "./tenants/budget-routes.ts";
import { tenantRoutes } from "./tenants/tenant-routes.ts";
import type { AnalyticsStore } from "./usage/analytics/store.ts";
import { usageRoutes } from "./usage/usage-routes.ts";
import { accessRoutes } from "./users/access-routes.ts";
import { userRoutes } from "./users/user-routes.ts";

/** What the routes need, of the kernel and of single capabilities. */
export interface AppDeps extends ApiDeps {
  readonly analytics: AnalyticsStore;
  readonly prober: Pick<Prober, "check">;
  readonly benchmarks: Pick<BenchmarkRuns, "start">;
  /** What the metrics count of the provisioner. */
  readonly provisioner: ProvisionerCounters;
}

/** The application; call it with `app.request()` or serve it. */
export function createApp(deps: AppDeps): Api {
  const app: Api = new OpenAPIHono<ApiTypes>();
  app.openAPIRegistry.registerComponent("securitySchemes", "adminToken", { type: "http", scheme: "bearer" });
  publicRoutes(app, deps);
  internalRoutes(app, deps);
  app.use("/api/v1/*", authenticate(deps), limitBody, ownMethods(app));
  tenantRoutes(app);
  keyRoutes(app);
  const trafficHealth = new TrafficHealth(deps.analytics);
  modelHealthRoutes(app, { ...deps, trafficHealth });
  modelRoutes(app, { ...deps, trafficHealth });
  autotuneRoutes(app, deps);
  modelEndpointRoutes(app);
  managedModelRoutes(app, deps);
  recipeRoutes(app, deps);
  mcpServerRoutes(app);
  fairshareRoutes(app);
  guardrailsRoutes(app);
  usageRoutes(app, deps);
  loadRoutes(app, deps);
  benchmarkRoutes(app, deps);
  batchRoutes(app);
  budgetRoutes(app, deps);
  operationRoutes(app, deps);
  alertRoutes(app);
  channelRoutes(app, deps);
  assistantRoutes(app);
  settingsRoutes(app, deps);
  infrastructureSettingsRoutes(app, deps);
  backupRoutes(app, deps);
  userRoutes(app);
  accessRoutes(app, deps);
  app.notFound((c) => {
    const methods = methodsOf(app, c.req.path);
    const error = methods.length === 0 ? new GatewayError("not_found") : notAllowed(methods);
    return Response.json(error.body, { status: error.status, headers: error.headers });
  });
  app.onError((error) => {
    const known = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
    if (known.status >= 500) {
      const level = failureLevel(known) === "debug" ? "debug" : "error";
      deps.log[level]({ event: "request_failed", code: known.code, reason: rootCause(known) });
    }
    return Response.json(known.body, { status: known.status, headers: known.headers });
  });
  return app;
}

/** The routes for browsers, for a console before a Management API in another process. None is called, so none needs anything. */
export function managementLiveRoutes(): readonly LiveRoute[] {
  return liveRoutesOf(createApp({} as AppDeps));
}

/**
 * A path without parameters answers its own methods only, also where it looks like a path with parameters:
 * `/models/health` is no model.
 */
function ownMethods(app: Api): MiddlewareHandler<ApiTypes> {
  let literal: ReadonlyMap<string, readonly string[]> | undefined;
  return async (c, next) => {
    const routes = app.routes.filter(({ method, path }) => method !== "ALL" && !path.includes(":"));
    literal ??= new Map(routes.map(({ path }) => [path, methodsOf({ routes }, path)]));
    const methods = literal.get(c.req.path);
    const method = c.req.method === "HEAD" ? "GET" : c.req.method;
    if (methods !== undefined && !methods.includes(method)) throw notAllowed(methods);
    await next();
  };
}

function notAllowed(methods: readonly string[]): GatewayError {
  return new GatewayError("method_not_allowed", { headers: { allow: methods.join(", ") } });
}

/** Methods that a path answers, sorted. */
function methodsOf(app: Pick<Api, "routes">, path: string): readonly string[] {
  const matching = app.routes
    .filter((route) => route.method !== "ALL" && patternOf(route.path).test(path))
    .map((route) => route.method);
  return [...new Set(matching)].sort();
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/:\w+/g, "[^/]+")}$`);
}
