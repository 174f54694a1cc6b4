/**
 * Routes of the settings that lead to parts of the operator's own infrastructure: metrics server, job scheduler, compression
 * sidecar. Their tests really call what they test.
 */
import { compressorSchema } from "../../shared/schema/settings/compressor.ts";
import {
  energyBodySchema,
  energySchema,
  energyTestBodySchema,
  powerReadingSchema,
} from "../../shared/schema/settings/energy.ts";
import {
  jobschedBodySchema,
  jobschedResolvedQuerySchema,
  jobschedResolvedSchema,
  jobschedSchema,
  jobschedTestSchema,
} from "../../shared/schema/settings/jobsched.ts";
import { getEnergy } from "../energy/get-energy.ts";
import { setEnergy } from "../energy/set-energy.ts";
import { testEnergy } from "../energy/try-power-query.ts";
import { getJobsched } from "../jobsched/get-jobsched.ts";
import { testJobsched } from "../jobsched/ping-jobsched.ts";
import { resolveJobsched } from "../jobsched/resolve-jobsched.ts";
import { setJobsched } from "../jobsched/set-jobsched.ts";
import { probeCompressor } from "../outbound/compressor-probe.ts";
import { endpoint, jsonBody, written } from "./endpoint.ts";
import type { Api, ApiDeps } from "./types.ts";

const tag = "Settings";
const at = "/api/v1/settings";

export function infrastructureSettingsRoutes(app: Api, { store, compressor }: ApiDeps): void {
  endpoint(app, {
    method: "get",
    path: `${at}/energy`,
    summary: "Read the energy settings, with the last reading",
    tag,
    answer: energySchema,
    handler: async (c) => c.json(await getEnergy(c.var.ctx, store)),
  });
  endpoint(app, {
    method: "put",
    path: `${at}/energy`,
    summary: "Change the energy settings",
    description:
      "While `enabled`, `prometheus_url` and `power_query` are required. 0 for the interval keeps the stored one. A model takes part with `energy_slots_per_node` above 0.",
    tag,
    body: energyBodySchema,
    answer: energySchema,
    handler: async (c) => written(c, await setEnergy(c.var.ctx, store, await jsonBody(c))),
  });
  endpoint(app, {
    method: "post",
    path: `${at}/energy/test`,
    summary: "Run the power query once, stored or given",
    description:
      "Asks for `sum(<power_query>)` and `count(<power_query>)` and saves nothing. What is omitted is what is stored.",
    tag,
    body: energyTestBodySchema,
    answer: powerReadingSchema,
    handler: async (c) => c.json(await testEnergy(c.var.ctx, await jsonBody(c))),
  });
  endpoint(app, {
    method: "get",
    path: `${at}/jobsched`,
    summary: "Read the job scheduler's settings, the token masked",
    description: "The provisioner counts as running for 60 seconds after it has read its settings.",
    tag,
    answer: jobschedSchema,
    handler: async (c) => c.json(await getJobsched(c.var.ctx, store)),
  });
  endpoint(app, {
    method: "put",
    path: `${at}/jobsched`,
    summary: "Change the job scheduler's settings",
    description:
      "While `enabled`, `url` and `user` are required. An omitted or blank token is kept, `clear_token` removes it. The provisioner's next tick goes by it.",
    tag,
    body: jobschedBodySchema,
    answer: jobschedSchema,
    handler: async (c) => written(c, await setJobsched(c.var.ctx, store, await jsonBody(c))),
  });
  endpoint(app, {
    method: "post",
    path: `${at}/jobsched/test`,
    summary: "Test the connection to the job scheduler: token expiry and one ping",
    description:
      "The token's expiry is read from it, not verified. A scheduler that does not answer is `ping.ok: false` with the reason.",
    tag,
    answer: jobschedTestSchema,
    handler: async (c) => c.json(await testJobsched(c.var.ctx)),
  });
  endpoint(app, {
    method: "get",
    path: `${at}/jobsched/resolved`,
    summary: "The provisioner's own read, with the token in clear",
    description:
      "The read is the provisioner's heartbeat and says how its previous tick went. Only for the provisioner: it is the one read that answers a secret.",
    tag,
    query: jobschedResolvedQuerySchema,
    answer: jobschedResolvedSchema,
    handler: async (c) => {
      c.header("cache-control", "no-store");
      return c.json(await resolveJobsched(c.var.ctx, store, c.req.query()));
    },
  });
  endpoint(app, {
    method: "get",
    path: `${at}/compressor`,
    summary: "Probe the compression sidecar",
    description: "Never an error: what is wrong stands in `error`.",
    tag,
    answer: compressorSchema,
    handler: async (c) => c.json(await probeCompressor(compressor.url, compressor.timeoutMs)),
  });
}
