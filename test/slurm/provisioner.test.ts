/**
 * The provisioner on a real Slurm (docs/rules/provisioner.md): from a spec to an answer through the gateway, and what happens
 * to jobs that end, are refused, wait, or cannot be seen. Every test has models of its own and leaves no job behind.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { ManagedModel } from "../../shared/schema/managed-model.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { ModelReplica } from "../../shared/schema/model-replica.ts";
import type { Jobsched } from "../../shared/schema/settings/jobsched.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { dataOf, useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";
import { JOB_FILES, SlurmCluster } from "./cluster.ts";

const cluster = new SlurmCluster();
const { gateway } = useGateway();
const DEADLINE_MS = 60_000;
let serial = 0;
const made: string[] = [];

const connect = async (settings: Readonly<Record<string, unknown>> = {}): Promise<void> => {
  const { url, user } = cluster;
  const own = { enabled: true, url, user, api_version: "v0.0.40", token: cluster.token(), ...settings };
  await gateway.must<Jobsched>("PUT", "/settings/jobsched", own);
};

/** A model with a spec whose job is the small server. */
async function manage(spec: Readonly<Record<string, unknown>> = {}): Promise<Model> {
  serial += 1;
  const model = await gateway.must<Model>("POST", "/models", { model_name: `managed-${process.pid}-${serial}` });
  made.push(model.id);
  await put(model, spec);
  return model;
}

const put = async (model: Model, spec: Readonly<Record<string, unknown>>): Promise<ManagedModel> =>
  await gateway.must<ManagedModel>("PUT", `/models/${model.id}/managed`, {
    partition: "gpu",
    launch_command: `exec ${JOB_FILES}/node ${JOB_FILES}/model-server.mjs`,
    serving_port: 18_500,
    target_replicas: 1,
    ...spec,
  });

const replicas = async ({ id }: Model): Promise<readonly ModelReplica[]> =>
  await gateway.must<readonly ModelReplica[]>("GET", `/replicas?model_id=${id}`);

const endpoints = async ({ id }: Model): Promise<readonly ModelEndpoint[]> =>
  await gateway.must<readonly ModelEndpoint[]>("GET", `/models/${id}/endpoints`);

const until = async (
  model: Model,
  holds: (rows: readonly ModelReplica[]) => boolean,
): Promise<readonly ModelReplica[]> => await waitFor(async () => await replicas(model), holds, DEADLINE_MS);

const inState = (rows: readonly ModelReplica[], state: string): readonly ModelReplica[] =>
  rows.filter((row) => row.state === state);

const healthy = async (model: Model, count: number): Promise<readonly ModelReplica[]> =>
  inState(await until(model, (rows) => inState(rows, "healthy").length === count), "healthy");

/** Numbers of the live jobs of a model. */
const live = ({ model_name }: Model): readonly string[] =>
  cluster
    .run("squeue", "-h", "-o", "%i", `--name=gateway-${model_name}`)
    .stdout.split("\n")
    .filter((id) => id !== "");

/** What the model's server says: the number of its job. */
async function ask(model: Model, stream = false): Promise<string> {
  const tenant = await gateway.must<Tenant>("POST", "/tenants", { name: `tenant of ${model.model_name} ${serial++}` });
  const { secret } = await gateway.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: "key" });
  const response = await fetch(`${gateway.proxyUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: model.model_name, messages: [{ role: "user", content: "hi" }], stream }),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  if (!stream)
    return (JSON.parse(text) as { choices: { message: { content: string } }[] }).choices[0]?.message.content ?? "";
  const deltas = dataOf(text).filter((data) => data !== "[DONE]");
  return deltas
    .map((data) => (JSON.parse(data) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content ?? "")
    .join("");
}

const tickOutcome = async (): Promise<Jobsched> => await gateway.must<Jobsched>("GET", "/settings/jobsched");

afterEach(async () => {
  await connect();
  const ids = made.splice(0);
  for (const id of ids) await gateway.must("DELETE", `/models/${id}`);
  await waitFor(
    async () => (await gateway.must<readonly ModelReplica[]>("GET", "/replicas")).length,
    (count) => count === 0,
    DEADLINE_MS,
  );
  expect(cluster.run("squeue", "-h", "-t", "PENDING,RUNNING").stdout).toBe("");
});

describe("a managed model", () => {
  it.each(["v0.0.40", "v0.0.41", "v0.0.42"])(
    "is served from a spec to a streamed answer, with API %s",
    async (version) => {
      await connect({ api_version: version });
      const model = await manage({ gres: "gpu:1", time_limit: 30, mem: 100, cpus_per_task: 1, log_output_dir: "/tmp" });
      const [row] = await healthy(model, 1);
      expect(row).toMatchObject({ nodes: cluster.host, port_base: 18_500 });
      expect(await endpoints(model)).toMatchObject([{ api_base: `http://${cluster.host}:18500/v1` }]);
      expect(await ask(model, true)).toBe(`job ${row?.job_id}`);
      expect(live(model)).toEqual([row?.job_id]);
      const job = cluster.run("scontrol", "show", "job", String(row?.job_id)).stdout;
      expect(job).toMatch(/Comment=gateway:[0-9a-f-]{36}:[0-9a-f-]{36}/);
      expect(job).toContain("TimeLimit=00:30:00");
      expect(job).toContain("Requeue=0");
    },
  );

  it("has its lost jobs replaced: one that fails, one that is cancelled behind its back", async () => {
    await connect();
    const model = await manage();
    const [first] = await healthy(model, 1);
    cluster.run("scancel", "--signal=KILL", "--full", String(first?.job_id));
    const second = (
      await until(model, (rows) => inState(rows, "lost").length === 1 && inState(rows, "healthy").length === 1)
    ).find(({ state }) => state === "healthy");
    expect(second?.job_id).not.toBe(first?.job_id);
    expect(await ask(model)).toBe(`job ${second?.job_id}`);
    cluster.run("scancel", String(second?.job_id));
    const rows = await until(model, (all) => inState(all, "lost").length === 2 && inState(all, "healthy").length === 1);
    expect(inState(rows, "lost").map(({ last_message }) => last_message)).toEqual([
      expect.stringMatching(/^job \d+ ended: /),
      expect.stringMatching(/^job \d+ ended: CANCELLED/),
    ]);
    expect(await endpoints(model)).toHaveLength(1);
  });

  it("runs beside another one on the same node, each on a window of its own", async () => {
    await connect();
    const models = [await manage(), await manage()];
    const rows = [];
    for (const model of models) rows.push(...(await healthy(model, 1)));
    expect(new Set(rows.map(({ port_base }) => port_base)).size).toBe(2);
    for (const [index, model] of models.entries()) expect(await ask(model)).toBe(`job ${rows[index]?.job_id}`);
  });

  it("is scaled up and down, and a port that something else has is passed over", async () => {
    await connect();
    const model = await manage({
      script_body: `#!/bin/bash\n${JOB_FILES}/node -e 'require("net").createServer().listen(${"$"}{GATEWAY_SERVING_PORT})' &\nsleep 1; export GATEWAY_SERVING_PORT=$((GATEWAY_SERVING_PORT + 1))\nexec ${JOB_FILES}/node ${JOB_FILES}/model-server.mjs\n`,
    });
    await healthy(model, 1);
    expect(await endpoints(model)).toMatchObject([{ api_base: `http://${cluster.host}:18501/v1` }]);
    await put(model, { target_replicas: 3 });
    expect((await healthy(model, 3)).map(({ port_base }) => port_base)).toEqual(
      expect.arrayContaining([18_500, 18_503, 18_506]),
    );
    await put(model, { target_replicas: 1 });
    await until(model, (rows) => rows.length === 1);
    expect(live(model)).toHaveLength(1);
    expect(await endpoints(model)).toHaveLength(1);
    await gateway.must("DELETE", `/models/${model.id}/managed`);
    await until(model, (rows) => rows.length === 0);
    expect([live(model), await endpoints(model)]).toEqual([[], []]);
  });

  it("waits for resources, and for a node that is drained, with the scheduler's reason", async () => {
    await connect();
    const model = await manage({ gres: "gpu:4", target_replicas: 2 });
    const rows = await until(
      model,
      (all) =>
        inState(all, "healthy").length === 1 &&
        all.some(({ last_message }) => /Resources|Priority/.test(last_message ?? "")),
    );
    expect(inState(rows, "pending")).toHaveLength(1);
    cluster.run("scontrol", "update", `NodeName=${cluster.host}`, "State=DRAIN", "Reason=test");
    const running = inState(rows, "healthy")[0]?.job_id;
    cluster.run("scancel", String(running));
    await until(model, (all) => all.length === 3 && inState(all, "pending").length === 2);
    cluster.run("scontrol", "update", `NodeName=${cluster.host}`, "State=RESUME");
    await healthy(model, 1);
  });

  it("is not started again and again after as many failures as its spec allows", async () => {
    await connect();
    const model = await manage({ launch_command: "exit 3", max_job_failures: 2 });
    const read = async (): Promise<ManagedModel> =>
      await gateway.must<ManagedModel>("GET", `/models/${model.id}/managed`);
    const spec = await waitFor(read, ({ provision_error }) => provision_error !== null, DEADLINE_MS);
    expect(spec.provision_error).toBe("job failed 2 times; clear lost replicas to retry");
    await put(model, { max_job_failures: 2 });
    await gateway.must("POST", `/models/${model.id}/replicas/clear-lost`);
    await healthy(model, 1);
    expect((await read()).provision_error).toBeNull();
  });

  it("shows what the scheduler refuses, and starts once it does not", async () => {
    await connect();
    const model = await manage({ partition: "short", time_limit: 60 });
    const read = async (): Promise<ManagedModel> =>
      await gateway.must<ManagedModel>("GET", `/models/${model.id}/managed`);
    const spec = await waitFor(read, ({ provision_error }) => provision_error !== null, DEADLINE_MS);
    expect(spec.provision_error).toContain("Requested time limit is invalid");
    await put(model, { partition: "short", time_limit: 10 });
    await healthy(model, 1);
    expect((await read()).provision_error).toBeNull();
  });

  it("loses a job at its time limit and gets another", { timeout: 240_000 }, async () => {
    await connect();
    const model = await manage({ time_limit: 1 });
    const [first] = await healthy(model, 1);
    const rows = await waitFor(
      async () => await replicas(model),
      (all) => inState(all, "lost").length === 1 && inState(all, "healthy").length === 1,
      200_000,
    );
    expect(inState(rows, "lost")[0]).toMatchObject({
      job_id: first?.job_id,
      last_message: expect.stringContaining("TIMEOUT") as string,
    });
  });

  it("is restarted when its server answers no more while its job runs", async () => {
    await connect();
    const model = await manage();
    const [first] = await healthy(model, 1);
    cluster.run("pkill", "-STOP", "-f", `model-server.mjs`);
    cluster.run("scancel", "--signal=STOP", "--full", String(first?.job_id));
    const [second] = await waitFor(
      async () => inState(await replicas(model), "healthy").filter(({ job_id }) => job_id !== first?.job_id),
      (rows) => rows.length === 1,
      120_000,
    );
    expect(await ask(model)).toBe(`job ${second?.job_id}`);
  });
});

describe("a scheduler that cannot be asked", () => {
  it("changes nothing while it is stopped, and goes on when it is back", async () => {
    await connect();
    const model = await manage();
    const [before] = await healthy(model, 1);
    cluster.stop("slurmctld");
    await put(model, { target_replicas: 2 });
    const held = await waitFor(tickOutcome, ({ last_outcome }) => last_outcome === "error", DEADLINE_MS);
    expect(held.last_error).toMatch(/^scheduler: /);
    expect(await replicas(model)).toEqual([before]);
    expect(await ask(model)).toBe(`job ${before?.job_id}`);
    await cluster.start("slurmctld");
    await healthy(model, 2);
    expect(
      (await waitFor(tickOutcome, ({ last_outcome }) => last_outcome === "ok", DEADLINE_MS)).last_error,
    ).toBeNull();
  });

  it("holds the tick for a wrong token and for one that has ended", async () => {
    await connect();
    const model = await manage();
    const [before] = await healthy(model, 1);
    const short = cluster.token(1);
    for (const token of ["wrong", short]) {
      await connect({ token });
      const held = await waitFor(tickOutcome, ({ last_outcome }) => last_outcome === "error", DEADLINE_MS);
      expect(held.last_error).toMatch(/authentication/i);
      expect(JSON.stringify(held)).not.toContain(token);
      expect(await replicas(model)).toMatchObject([{ id: before?.id, state: "healthy" }]);
      await connect();
      await waitFor(tickOutcome, ({ last_outcome }) => last_outcome === "ok", DEADLINE_MS);
    }
  });
});
