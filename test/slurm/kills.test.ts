/**
 * A gateway that is killed at any moment while specs are edited leaves neither a job without a replica nor an endpoint without
 * a server (docs/rules/provisioner.md#laws), on a real Slurm.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { ModelReplica } from "../../shared/schema/model-replica.ts";
import { Gateway } from "../harness/gateway.ts";
import { launchReady } from "../harness/launched.ts";
import { waitFor } from "../harness/wait-for.ts";
import { JOB_FILES, SlurmCluster } from "./cluster.ts";
import { PROVISIONER_VARIABLES } from "./setup.ts";

const EDITS = 50;
const EDITS_PER_LIFE = 10;
const MODELS = 3;
const MOST_REPLICAS = 3;
const DEADLINE_MS = 120_000;
const SPEC = {
  partition: "gpu",
  launch_command: `exec ${JOB_FILES}/node ${JOB_FILES}/model-server.mjs`,
  serving_port: 19_500,
};

it("is in order after it was killed five times within 50 edits", { timeout: 600_000 }, async () => {
  const cluster = new SlurmCluster();
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-kills-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const settings = { enabled: true, url: cluster.url, user: cluster.user, token: cluster.token() };
  const targets = new Map<string, number>();
  let stack = await launchReady(dataDir, PROVISIONER_VARIABLES);
  await new Gateway(stack).must("PUT", "/settings/jobsched", settings);
  for (let model = 0; model < MODELS; model += 1) {
    const { id } = await new Gateway(stack).must<Model>("POST", "/models", {
      model_name: `killed-${process.pid}-${model}`,
    });
    targets.set(id, 0);
  }
  const ids = [...targets.keys()];
  for (let edit = 1; edit <= EDITS; edit += 1) {
    const id = ids[Math.floor(Math.random() * MODELS)] ?? "";
    const target = Math.floor(Math.random() * (MOST_REPLICAS + 1));
    await new Gateway(stack).must("PUT", `/models/${id}/managed`, { ...SPEC, target_replicas: target });
    targets.set(id, target);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 400));
    if (edit % EDITS_PER_LIFE !== 0) continue;
    await stack.end("SIGKILL");
    stack = await launchReady(dataDir, PROVISIONER_VARIABLES);
  }
  const gateway = new Gateway(stack);
  const wanted = [...targets.values()].reduce((sum, target) => sum + target, 0);
  const world = async (): Promise<object> => {
    const replicas = await gateway.must<readonly ModelReplica[]>("GET", "/replicas");
    const endpoints = [];
    for (const id of ids)
      endpoints.push(...(await gateway.must<readonly ModelEndpoint[]>("GET", `/models/${id}/endpoints`)));
    const jobs = cluster.run("squeue", "-h", "-t", "PENDING,RUNNING", "-o", "%i").stdout.split("\n").filter(Boolean);
    const healthy = replicas.filter(({ state }) => state === "healthy");
    const known = new Set(healthy.map(({ endpoint_id }) => endpoint_id));
    return {
      healthy: healthy.length,
      others: replicas.filter(({ state }) => state !== "healthy" && state !== "lost").length,
      endpoints: endpoints.filter(({ id }) => known.has(id)).length,
      deadEndpoints: endpoints.filter(({ id }) => !known.has(id)).length,
      jobs: jobs.filter((job) => healthy.some(({ job_id }) => job_id === job)).length,
      strayJobs: jobs.filter((job) => !healthy.some(({ job_id }) => job_id === job)).length,
    };
  };
  const order = { healthy: wanted, others: 0, endpoints: wanted, deadEndpoints: 0, jobs: wanted, strayJobs: 0 };
  await waitFor(world, (found) => JSON.stringify(found) === JSON.stringify(order), DEADLINE_MS);
  expect(await world()).toEqual(order);
});
