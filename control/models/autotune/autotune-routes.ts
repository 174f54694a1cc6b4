/** Routes of capacity auto-tune: a probe that recommends a capacity, and the route that applies the recommendation. */
import { autotuneReportSchema, autotuneSchema } from "../../../shared/schema/autotune.ts";
import { modelSchema } from "../../../shared/schema/model.ts";
import { endpoint } from "../../api/endpoint.ts";
import type { Api, ApiDeps } from "../../api/types.ts";
import { applyAutotune, autotuneModel } from "./autotune-model.ts";

const tag = "Models";
const at = "/api/v1/models/{id}/autotune";

export function autotuneRoutes(app: Api, { upstreamBaseUrl, ending }: ApiDeps): void {
  endpoint(app, {
    kind: "write",
    method: "post",
    path: at,
    summary: "Find a model's best concurrency with real load on its upstream; changes nothing",
    description:
      "Chat and embedding models only. Sends up to 20,000 requests in up to 60 seconds directly to the upstream, which uses tokens there: concurrency 1, 2, 4 ... up to `max_concurrency`, 2.5 seconds each, until p99 exceeds `target_p99_ms`, a tenth of the requests fail, throughput gains less than 7%, or the maximum is reached. Stops if the caller disconnects or the service stops. One run per model at a time: a second one gets 409 `autotune_running`.",
    tag,
    body: autotuneSchema,
    answer: autotuneReportSchema,
    handler: async ({ ctx, path, body, signal }) => {
      const caller = AbortSignal.any([signal, ending]);
      return await autotuneModel(ctx, path.id, body, { upstreamBaseUrl, caller });
    },
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: `${at}/apply`,
    summary: "Set a model's capacity to the value that auto-tune recommended",
    tag,
    body: applyAutotune.body,
    answer: modelSchema,
    handler: async ({ ctx, path, body }) => await applyAutotune.apply(ctx, path.id, body),
  });
}
