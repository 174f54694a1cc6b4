/** @module-tag check */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ManagedModel } from "../../../shared/schema/managed-model.ts";
import type { Model } from "../../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../../shared/schema/model-endpoint.ts";
import type { ModelReplica } from "../../../shared/schema/model-replica.ts";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { provisionerState } from "../../db/schema/managed-models.ts";

const SPEC = { partition: "gpu", serving_port: 8000, launch_command: "serve --port $GATEWAY_SERVING_PORT" };
const PLANTED = "hf_planted-secret";

let control: TestControl;
let nowMs = Date.parse("2026-11-22T08:00:00Z");

beforeAll(async () => {
  control = await startControl({ now: () => new Date(nowMs) });
});
afterAll(async () => {
  await control.close();
});

async function send<T>(method: string, path: string, body?: object, status = 200): Promise<T> {
  const response = await control.request(method, `/api/v1${path}`, body);
  const text = await response.text();
  expect({ method, path, status: response.status, problem: response.status === status ? "" : text }).toEqual({
    method,
    path,
    status,
    problem: "",
  });
  return (text === "" ? null : JSON.parse(text)) as T;
}

interface Refusal {
  readonly error: { readonly code: string; readonly param: string | null; readonly details?: { path: string }[] };
}

const refused = async (method: string, path: string, body: object, status = 400): Promise<Refusal["error"]> =>
  (await send<Refusal>(method, path, body, status)).error;

const model = async (): Promise<Model> => await send("POST", "/models", { model_name: `m-${randomUUID()}` });
const managed = async (spec: object = {}): Promise<Model> => {
  const made = await model();
  await send("PUT", `/models/${made.id}/managed`, { ...SPEC, ...spec });
  return made;
};
const replicaOf = async ({ id }: Model, body: object = {}): Promise<ModelReplica> =>
  await send("POST", `/models/${id}/replicas`, { job_id: randomUUID(), ...body });
const endpointOf = async ({ id }: Model): Promise<ModelEndpoint> =>
  await send("POST", `/models/${id}/endpoints`, { name: randomUUID(), api_base: "http://127.0.0.1:9/v1" });

const auditOf = async (entity: string): Promise<readonly { action: string; detail: Record<string, unknown> }[]> =>
  await send("GET", `/audit?entity_id=${entity}`);

describe("the spec of a managed model", () => {
  it("has defaults, is replaced as a whole, and is removed", async () => {
    const { id, model_name, upstream_model } = await model();
    await send("GET", `/models/${id}/managed`, undefined, 404);
    const made = await send<ManagedModel>("PUT", `/models/${id}/managed`, { ...SPEC, gres: " gpu:2 ", qos: "" });
    expect(made).toEqual({
      model_id: id,
      model_name,
      upstream_model,
      model_type: "chat",
      enabled: true,
      partition: "gpu",
      gres: "gpu:2",
      nodes: 1,
      constraints: null,
      exclude: null,
      account: null,
      qos: null,
      time_limit: null,
      cpus_per_task: null,
      mem: null,
      image: "",
      preamble: "",
      log_output_dir: "",
      launch_command: SPEC.launch_command,
      script_body: "",
      serving_port: 8000,
      health_path: "/health",
      target_replicas: 2,
      min_replicas: 1,
      max_job_failures: 0,
      launcher_spec: {},
      provision_error: null,
      replicas: { pending: 0, starting: 0, healthy: 0, draining: 0, lost: 0 },
      created_at: "2026-11-22T08:00:00.000Z",
      updated_at: "2026-11-22T08:00:00.000Z",
      rev: made.rev,
    });
    nowMs += 1000;
    const body = { ...SPEC, target_replicas: 0, launcher_spec: { engine: "vllm" } };
    const replaced = await send<ManagedModel>("PUT", `/models/${id}/managed`, body);
    expect(replaced).toMatchObject({ gres: "", target_replicas: 0, launcher_spec: { engine: "vllm" } });
    expect(replaced).toMatchObject({ created_at: made.created_at, updated_at: "2026-11-22T08:00:01.000Z" });
    expect(await send("GET", `/models/${id}/managed`)).toEqual(replaced);
    await send("DELETE", `/models/${id}/managed`, undefined, 204);
    await send("DELETE", `/models/${id}/managed`, undefined, 404);
    expect((await auditOf(id)).map(({ action }) => action).slice(0, 3)).toEqual([
      "delete_managed_model",
      "put_managed_model",
      "put_managed_model",
    ]);
  });

  it("is changed by a PATCH that merges, also within launcher_spec", async () => {
    const launcher_spec = { engine: "vllm", ports: { first: 8000, last: 8003 } };
    const made = await managed({ gres: "gpu:2", qos: "normal", target_replicas: 3, launcher_spec });
    const path = `/models/${made.id}/managed`;
    const before = await send<ManagedModel>("GET", path);
    const scaled = await send<ManagedModel>("PATCH", path, { target_replicas: 5 });
    expect(scaled).toEqual({ ...before, target_replicas: 5, rev: scaled.rev, updated_at: scaled.updated_at });
    const changed = await send<ManagedModel>("PATCH", path, {
      gres: null,
      qos: null,
      target_replicas: null,
      launcher_spec: { engine: null, ports: { last: 8001 } },
    });
    expect(changed).toMatchObject({ gres: "", qos: null, target_replicas: 2 });
    expect(changed.launcher_spec).toEqual({ ports: { first: 8000, last: 8001 } });
    expect(changed.rev).toBeGreaterThan(scaled.rev);
    expect((await auditOf(made.id))[0]?.detail["changed"]).toMatchObject({ target_replicas: [5, 2] });
  });

  it("is refused by a PATCH that would leave none, or finds none", async () => {
    const { id } = await managed();
    const { details } = await refused("PATCH", `/models/${id}/managed`, { launch_command: null });
    expect(details?.map(({ path }) => path)).toEqual(["launch_command"]);
    expect((await refused("PATCH", `/models/${id}/managed`, { partition: null })).param).toBe("partition");
    expect(await send("GET", `/models/${id}/managed`)).toMatchObject(SPEC);
    await send("PATCH", `/models/${(await model()).id}/managed`, { nodes: 2 }, 404);
  });

  it("keeps its revision while the provisioner reports of it", async () => {
    const { id } = await managed();
    const { rev } = await send<ManagedModel>("GET", `/models/${id}/managed`);
    await send("PATCH", `/models/${id}/managed/provision-error`, { error: "no such partition" });
    await replicaOf(await send("GET", `/models/${id}`));
    expect((await send<ManagedModel>("GET", `/models/${id}/managed`)).rev).toBe(rev);
  });

  it.each<[string, object]>([
    ["partition", { partition: "" }],
    ["partition", { partition: "gpu; rm" }],
    ["gres", { gres: "gpu:2\n#SBATCH --uid=0" }],
    ["nodes", { nodes: 0 }],
    ["time_limit", { time_limit: 1e308 }],
    ["time_limit", { time_limit: "1:00:00" }],
    ["mem", { mem: -1 }],
    ["image", { image: "a\nb" }],
    ["preamble", { preamble: "export A=1\r\n" }],
    ["launch_command", { launch_command: "a\0b" }],
    ["launch_command", { launch_command: "a\ud800b" }],
    ["launch_command", { launch_command: " " }],
    ["script_body", { script_body: "echo no interpreter" }],
    ["script_body", { script_body: `#!/bin/sh\n${"x".repeat(100_000)}` }],
    ["log_output_dir", { log_output_dir: "relative" }],
    ["serving_port", { serving_port: 65_536 }],
    ["serving_port", { serving_port: null }],
    ["health_path", { health_path: "//other.example/health" }],
    ["health_path", { health_path: "health" }],
    ["target_replicas", { target_replicas: 1001 }],
    ["min_replicas", { min_replicas: 0.5 }],
    ["launcher_spec", { launcher_spec: [] }],
    ["launcher_spec", { launcher_spec: { text: "x".repeat(65_536) } }],
    ["launcher_spec", { launcher_spec: { text: "\0" } }],
  ])("is refused for its %s in %j", async (field, wrong) => {
    const { id } = await model();
    const { code, details } = await refused("PUT", `/models/${id}/managed`, { ...SPEC, ...wrong });
    expect({ code, paths: details?.map(({ path }) => path) }).toEqual({
      code: "validation_failed",
      paths: [field],
    });
    await send("GET", `/models/${id}/managed`, undefined, 404);
  });

  it("keeps scripts as they are, and out of the audit log", async () => {
    const script_body = `#!/bin/bash\n\n  export HF_TOKEN=${PLANTED}\n\n`;
    const { id } = await managed({ script_body, launch_command: "" });
    expect(await send("GET", `/models/${id}/managed`)).toMatchObject({ script_body });
    const entries = await auditOf(id);
    expect(entries[0]).toMatchObject({ detail: { changed: { script_body: "changed", partition: [null, "gpu"] } } });
    expect(JSON.stringify(entries)).not.toContain(PLANTED);
  });

  it("shows why no replica starts, in the scheduler's words, whatever they are", async () => {
    const { id, model_name } = await managed();
    const report = async (error: string | null): Promise<ManagedModel> =>
      await send("PATCH", `/models/${id}/managed/provision-error`, { error });
    const before = await send<ManagedModel>("GET", `/models/${id}/managed`);
    expect(await report("Invalid qos specification")).toEqual({
      ...before,
      provision_error: "Invalid qos specification",
    });
    const entry = { kind: "provision_failed", entity_id: id, name: model_name, severity: "warning" };
    expect(await send("GET", "/overview/attention")).toContainEqual(
      expect.objectContaining({ ...entry, detail: "Invalid qos specification" }),
    );
    expect((await report(`a\0b\ud800${"😀".repeat(5000)}`)).provision_error).toHaveLength(2 * 2000 - 4);
    expect(await report("")).toMatchObject({ provision_error: null });
    await refused("PATCH", `/models/${id}/managed/provision-error`, {});
    await send("PATCH", `/models/${(await model()).id}/managed/provision-error`, { error: null }, 404);
  });

  it("is listed with all others, page by page, with how many replicas there are in each state", async () => {
    const made = await Promise.all([managed(), managed(), managed()]);
    const [first] = made;
    if (first === undefined) throw new Error("no model");
    await replicaOf(first);
    await send("PATCH", `/replicas/${(await replicaOf(first)).id}`, { state: "healthy" });
    const rows: ManagedModel[] = [];
    let path: string | undefined = "/api/v1/managed?limit=2";
    while (path !== undefined) {
      const response = await control.request("GET", path);
      rows.push(...((await response.json()) as ManagedModel[]));
      path = /^<([^>]+)>/.exec(response.headers.get("link") ?? "")?.[1];
    }
    expect(rows.map(({ model_id }) => model_id)).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
    expect(new Set(rows.map(({ model_id }) => model_id)).size).toBe(rows.length);
    expect(rows.find(({ model_id }) => model_id === first.id)?.replicas).toMatchObject({ pending: 1, healthy: 1 });
  });
});

describe("a replica", () => {
  it("is there before its job, which it gets once", async () => {
    const owner = await managed();
    const intent_id = randomUUID();
    const made = await send<ModelReplica>("POST", `/models/${owner.id}/replicas`, { intent_id, port_base: 8008 });
    expect(made).toMatchObject({ intent_id, job_id: null, state: "pending", port_base: 8008, endpoint: null });
    expect(made).toMatchObject({ model_id: owner.id, model_name: owner.model_name, restart_count: 0, nodes: "" });
    expect((await refused("POST", `/models/${owner.id}/replicas`, { intent_id }, 409)).param).toBe("intent_id");
    const job_id = randomUUID();
    const before = await submits();
    expect(await send("PATCH", `/replicas/${made.id}`, { job_id })).toMatchObject({ job_id });
    expect(await send("PATCH", `/replicas/${made.id}`, { job_id })).toMatchObject({ job_id });
    expect((await submits()) - before).toBe(1);
    expect(await refused("PATCH", `/replicas/${made.id}`, { job_id: "other" })).toMatchObject({ param: "job_id" });
    expect((await refused("POST", `/models/${owner.id}/replicas`, { job_id }, 409)).param).toBe("job_id");
    const second = await send<ModelReplica>("POST", `/models/${owner.id}/replicas`, { intent_id: randomUUID() });
    expect((await refused("PATCH", `/replicas/${second.id}`, { job_id }, 409)).param).toBe("job_id");
    for (const body of [{}, { job_id: "../1" }, { intent_id: "4711" }, { job_id: "1", port_base: 0 }])
      expect((await refused("POST", `/models/${owner.id}/replicas`, body)).code).toBe("validation_failed");
  });

  it("can get the job ID of a lost replica, because a reset scheduler reuses IDs", async () => {
    const owner = await managed();
    const job_id = randomUUID();
    const first = await send<ModelReplica>("POST", `/models/${owner.id}/replicas`, { job_id });
    const second = await send<ModelReplica>("POST", `/models/${owner.id}/replicas`, { intent_id: randomUUID() });
    await send("PATCH", `/replicas/${first.id}`, { state: "lost" });
    expect(await send("PATCH", `/replicas/${second.id}`, { job_id })).toMatchObject({ job_id });
    expect((await refused("PATCH", `/replicas/${first.id}`, { state: "pending" }, 409)).param).toBe("job_id");
    expect((await refused("POST", `/models/${owner.id}/replicas`, { job_id }, 409)).param).toBe("job_id");
  });

  it("tells since when it is in its state, and is written only when something changes", async () => {
    const { id } = await replicaOf(await managed());
    nowMs += 5000;
    const running = { state: "starting", nodes: "n[01-02]", message: "waits for the first answer" };
    const started = await send<ModelReplica>("PATCH", `/replicas/${id}`, running);
    const at = new Date(nowMs).toISOString();
    expect(started).toMatchObject({
      state_since: at,
      updated_at: at,
      last_message: running.message,
      nodes: "n[01-02]",
    });
    nowMs += 5000;
    expect(await send("PATCH", `/replicas/${id}`, running)).toEqual(started);
    expect(await send("PATCH", `/replicas/${id}`, { probe_misses: 3 })).toMatchObject({
      state_since: at,
      probe_misses: 3,
    });
    expect((await auditOf(id)).map(({ action }) => action)).toEqual(["patch_replica", "create_replica"]);
    for (const body of [{ state: "gone" }, { nodes: "n 1" }, { probe_misses: -1 }, { restart_count: 1e308 }])
      expect((await refused("PATCH", `/replicas/${id}`, body)).code).toBe("validation_failed");
  });

  it("has an endpoint of its own model only, and shows its health", async () => {
    const [owner, other] = [await managed(), await managed()];
    const { id } = await replicaOf(owner);
    const endpoint = await endpointOf(owner);
    const foreign = await endpointOf(other);
    for (const endpoint_id of [foreign.id, randomUUID()])
      expect(await refused("PATCH", `/replicas/${id}`, { endpoint_id })).toMatchObject({ param: "endpoint_id" });
    expect(await send("PATCH", `/replicas/${id}`, { endpoint_id: endpoint.id })).toMatchObject({
      endpoint: { api_base: endpoint.api_base, enabled: true, health_status: "unknown", consecutive_failures: 0 },
    });
    await send("DELETE", `/models/${owner.id}/endpoints/${endpoint.id}`, undefined, 204);
    const [row] = await send<ModelReplica[]>("GET", `/models/${owner.id}/replicas`);
    expect(row).toMatchObject({ id, endpoint_id: null, endpoint: null });
  });

  it("is restarted by a wish that the provisioner fulfils, and counted when it says so", async () => {
    const { id } = await replicaOf(await managed());
    expect(await send("POST", `/replicas/${id}/restart`)).toMatchObject({ cancel_requested: true, state: "pending" });
    expect((await auditOf(id))[0]).toMatchObject({ action: "restart_replica" });
    const before = await counted("gateway_provisioner_restarts_total");
    await send("PATCH", `/replicas/${id}`, { restart_count: 2 });
    expect((await counted("gateway_provisioner_restarts_total")) - before).toBe(2);
  });

  it("takes its endpoint along when it is removed, and all lost ones do", async () => {
    const owner = await managed();
    const [kept, lost, gone] = [await replicaOf(owner), await replicaOf(owner), await replicaOf(owner)];
    for (const { id } of [kept, lost, gone])
      await send("PATCH", `/replicas/${id}`, { endpoint_id: (await endpointOf(owner)).id });
    await send("PATCH", `/replicas/${lost.id}`, { state: "lost", message: "NODE_FAIL" });
    expect(await send("GET", "/overview/attention")).toContainEqual(
      expect.objectContaining({ kind: "replicas_lost", name: owner.model_name, detail: "1 lost, last: NODE_FAIL" }),
    );
    expect(await send("POST", `/models/${owner.id}/replicas/clear-lost`)).toEqual({ removed: 1 });
    expect(await send("POST", `/models/${owner.id}/replicas/clear-lost`)).toEqual({ removed: 0 });
    await send("DELETE", `/replicas/${gone.id}`, undefined, 204);
    await send("DELETE", `/replicas/${gone.id}`, undefined, 404);
    const left = await send<ModelReplica[]>("GET", `/models/${owner.id}/replicas`);
    expect(left.map(({ id }) => id)).toEqual([kept.id]);
    const endpoints = await send<ModelEndpoint[]>("GET", `/models/${owner.id}/endpoints`);
    expect(endpoints.map(({ id }) => id)).toEqual(left.map(({ endpoint_id }) => endpoint_id));
  });

  it("outlives its model, so that its job can be cancelled, and no backup has it", async () => {
    const owner = await managed();
    const { id } = await replicaOf(owner);
    const endpoint = await endpointOf(owner);
    await send("PATCH", `/replicas/${id}`, { endpoint_id: endpoint.id, state: "healthy" });
    const plain = await endpointOf(owner);
    const { data } = await send<{ data: { model_endpoints: { id: string }[] } }>("GET", "/backup/export");
    const exported = data.model_endpoints.map((row) => row.id);
    expect({
      hasPlainEndpoint: exported.includes(plain.id),
      hasReplicaEndpoint: exported.includes(endpoint.id),
    }).toEqual({ hasPlainEndpoint: true, hasReplicaEndpoint: false });
    expect(Object.keys(data).filter((name) => /managed|replica|recipe|provisioner/.test(name))).toEqual([]);
    await send("DELETE", `/models/${owner.id}`, undefined, 204);
    const rows = await send<ModelReplica[]>("GET", "/replicas?state=healthy&limit=1000");
    const orphan = rows.find((row) => row.id === id);
    expect(orphan).toMatchObject({ model_id: null, model_name: owner.model_name, endpoint: null });
    expect(await refused("PATCH", `/replicas/${id}`, { endpoint_id: plain.id })).toMatchObject({
      param: "endpoint_id",
    });
    await send("DELETE", `/replicas/${id}`, undefined, 204);
  });

  it("is found by model and state", async () => {
    const owner = await managed();
    const first = await replicaOf(owner);
    // rows of one moment are in the order of their ids
    nowMs += 1;
    const second = await replicaOf(owner);
    await send("PATCH", `/replicas/${second.id}`, { state: "draining" });
    const ids = async (query: string): Promise<string[]> =>
      (await send<ModelReplica[]>("GET", `/replicas?${query}`)).map(({ id }) => id);
    expect(await ids(`model_id=${owner.id}`)).toEqual([first.id, second.id]);
    expect(await ids(`model_id=${owner.id.toUpperCase()}&state=draining`)).toEqual([second.id]);
    expect((await send<Refusal>("GET", "/replicas?state=odd&model_id=x", undefined, 400)).error.details).toHaveLength(
      2,
    );
  });
});

describe("several provisioners", () => {
  it("share one lease, so that one of them acts", async () => {
    const read = async (query: string): Promise<boolean> =>
      (await send<{ may_act: boolean }>("GET", `/settings/jobsched/resolved${query}`)).may_act;
    expect(await read("")).toBe(true);
    expect({
      one: await read("?holder=one"),
      two: await read("?holder=two"),
      nobody: await read(""),
      oneAgain: await read("?holder=one"),
    }).toEqual({ one: true, two: false, nobody: false, oneAgain: true });
  });

  it("count their ticks by outcome", async () => {
    const before = await counted("gateway_provisioner_ticks_total", "error");
    await send("GET", `/settings/jobsched/resolved?outcome=error&error=${"x".repeat(3000)}`);
    expect(await control.connection.db.select().from(provisionerState)).toMatchObject([
      { last_error: "x".repeat(500) },
    ]);
    await send("GET", "/settings/jobsched/resolved");
    expect((await counted("gateway_provisioner_ticks_total", "error")) - before).toBe(1);
  });
});

const submits = async (): Promise<number> => await counted("gateway_provisioner_submits_total");

async function counted(name: string, outcome?: string): Promise<number> {
  const metrics = await Promise.all(control.provisioner.all.map(async (metric) => await metric.get()));
  const values = metrics.filter((metric) => metric.name === name).flatMap(({ values }) => values);
  return values.find(({ labels }) => outcome === undefined || labels["outcome"] === outcome)?.value ?? Number.NaN;
}
