/**
 * Routes of the health of models. They are registered before the routes of one model, so that `health` is not taken for an
 * id.
 */
import { z } from "zod";
import {
  healthConfigSchema,
  type ModelHealthSummary,
  modelHealthBulkSchema,
  modelHealthDetailSchema,
  modelHealthSummarySchema,
} from "../../shared/schema/model-health.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api } from "../api/types.ts";
import { checkAllHealth } from "../health/check-all-health.ts";
import { checkHealth } from "../health/check-health.ts";
import { getHealth } from "../health/get-health.ts";
import { listHealth } from "../health/list-health.ts";
import type { Prober } from "../health/prober.ts";
import type { TrafficHealth } from "../health/shown-health.ts";
import { setHealthConfig } from "./set-health-config.ts";

const tag = "Model health";

interface HealthDeps {
  readonly prober: Pick<Prober, "check">;
  readonly trafficHealth: TrafficHealth;
}

export function modelHealthRoutes(app: Api, { prober, trafficHealth }: HealthDeps): void {
  const shown = async <S extends Pick<ModelHealthSummary, "model_name" | "status">>(
    summaries: readonly S[],
    now: Date,
  ): Promise<S[]> => {
    const statusOf = await trafficHealth.statusOf(
      summaries.map(({ status }) => status),
      now.getTime(),
    );
    return summaries.map((one) => ({ ...one, status: statusOf(one.model_name, one.status) }));
  };
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/models/health",
    summary: "The latest health of every model",
    tag,
    answer: z.array(modelHealthSummarySchema),
    handler: async ({ ctx }) => await shown(await listHealth(ctx), ctx.now()),
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: "/api/v1/models/health",
    summary: "Check all models now that are enabled, have checks on and are not in maintenance",
    description:
      "Responds when all checks are done. A model that has served a request within its check interval is not called.",
    tag,
    answer: modelHealthBulkSchema,
    handler: async ({ ctx, signal }) => await checkAllHealth(ctx, prober, signal),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/models/{id}/health",
    summary: "The latest health of a model, and its recent checks",
    tag,
    answer: modelHealthDetailSchema,
    handler: async ({ ctx, path }) => {
      const { summary, ...detail } = await getHealth(ctx, path.id);
      const [one = summary] = await shown([summary], ctx.now());
      return { ...detail, summary: one };
    },
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: "/api/v1/models/{id}/health/check",
    summary: "Check a model and its endpoints now",
    description:
      "Works in maintenance and with checks off too; for a disabled model, only the status is updated. Responds when the check is done, after at most three attempts of `GATEWAY_MODEL_HEALTH_TIMEOUT_SECS` each.",
    tag,
    answer: modelHealthDetailSchema,
    handler: async ({ ctx, path }) => await checkHealth(ctx, prober, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "put",
    path: "/api/v1/models/{id}/health/config",
    summary: "Configure the health checks of a model; omitted fields keep their values",
    description:
      "The next check is due at once. Turning checks off resets the failure count. Turning checks or alerts off, or starting maintenance, ends an active alert silently.",
    tag,
    body: healthConfigSchema,
    answer: modelHealthSummarySchema,
    handler: async ({ ctx, path, body }) => await setHealthConfig(ctx, path.id, body),
  });
}
