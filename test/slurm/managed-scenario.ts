/**
 * What a scenario on the real Slurm needs: models of its own, whose rows, endpoints and jobs it looks at and which are gone
 * when it ends. Nothing here sees another scenario's jobs, so that several run at once on one cluster.
 */
import type { TestContext } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { ManagedModel } from "../../shared/schema/managed-model.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { ModelReplica } from "../../shared/schema/model-replica.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { dataOf } from "../harness/fixture.ts";
import type { Gateway } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";
import { SlurmCluster } from "./cluster.ts";
import { JOB_FILES, NODES } from "./cluster-files.ts";

const DEADLINE_MS = 90_000;
const SERVER = `${JOB_FILES}/node ${JOB_FILES}/model-server.mjs`;

let serial = 0;

export const cluster: SlurmCluster = new SlurmCluster();

/** Settings that reach the cluster; its nodes are known to the gateway by their aliases alone. */
export const jobsched = (): Readonly<Record<string, unknown>> => ({
  enabled: true,
  url: cluster.url,
  user: cluster.user,
  api_version: "v0.0.40",
  token: cluster.token(),
  node_aliases: NODES.map((host) => ({ host, ip: "127.0.0.1" })),
});

export class ManagedScenario {
  readonly gateway: Gateway;
  readonly #made: Model[] = [];

  /** Its models are removed, and their jobs have left the cluster, when the test has ended. */
  constructor(gateway: Gateway, { onTestFinished }: Pick<TestContext, "onTestFinished">) {
    this.gateway = gateway;
    onTestFinished(async () => {
      for (const model of this.#made) await gateway.must("DELETE", `/models/${model.id}`);
      for (const model of this.#made)
        await waitFor(
          () => this.live(model),
          (jobs) => jobs.length === 0,
          DEADLINE_MS,
        );
    }, DEADLINE_MS);
  }

  /** A model with a spec whose job is the small server. */
  async manage(spec: Readonly<Record<string, unknown>> = {}): Promise<Model> {
    serial += 1;
    const model = await this.gateway.must<Model>("POST", "/models", { model_name: `m${serial}-${Date.now()}` });
    this.#made.push(model);
    await this.put(model, spec);
    return model;
  }

  async put(model: Model, spec: Readonly<Record<string, unknown>>): Promise<ManagedModel> {
    return await this.gateway.must<ManagedModel>("PUT", `/models/${model.id}/managed`, {
      partition: "gpu",
      launch_command: `exec ${SERVER}`,
      serving_port: 18_500,
      target_replicas: 1,
      ...spec,
    });
  }

  async spec(model: Model): Promise<ManagedModel> {
    return await this.gateway.must<ManagedModel>("GET", `/models/${model.id}/managed`);
  }

  /** The spec once the scheduler, or the provisioner, has said why no replica is started. */
  async refused(model: Model): Promise<ManagedModel> {
    return await waitFor(
      async () => await this.spec(model),
      ({ provision_error }) => provision_error !== null,
      DEADLINE_MS,
    );
  }

  async replicas({ id }: Model): Promise<readonly ModelReplica[]> {
    return await this.gateway.must<readonly ModelReplica[]>("GET", `/replicas?model_id=${id}`);
  }

  async endpoints({ id }: Model): Promise<readonly ModelEndpoint[]> {
    return await this.gateway.must<readonly ModelEndpoint[]>("GET", `/models/${id}/endpoints`);
  }

  /** The rows of a model once they are as they should be. */
  async until(
    model: Model,
    holds: (rows: readonly ModelReplica[]) => boolean,
    deadlineMs = DEADLINE_MS,
  ): Promise<readonly ModelReplica[]> {
    return await waitFor(async () => await this.replicas(model), holds, deadlineMs);
  }

  async healthy(model: Model, count: number, deadlineMs = DEADLINE_MS): Promise<readonly ModelReplica[]> {
    return inState(await this.until(model, (rows) => inState(rows, "healthy").length === count, deadlineMs), "healthy");
  }

  /** Numbers of the jobs of a model that wait or run. */
  live({ model_name }: Model): readonly string[] {
    const { stdout } = cluster.run("squeue", "-h", "-o", "%i", `--name=gateway-${model_name}`, "-t", "PENDING,RUNNING");
    return stdout.split("\n").filter((id) => id !== "");
  }

  /** What a job says it was submitted for: the intent of its replica. */
  intentOf(job: string): string | undefined {
    return /Comment=gateway:[0-9a-f-]{36}:([0-9a-f-]{36})/.exec(
      cluster.run("scontrol", "show", "job", job).stdout,
    )?.[1];
  }

  /** What the model's server says through the gateway: the number of its job. */
  async ask({ model_name }: Model, stream = false): Promise<string> {
    serial += 1;
    const tenant = await this.gateway.must<Tenant>("POST", "/tenants", { name: `tenant ${serial} of ${model_name}` });
    const { secret } = await this.gateway.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: "key" });
    const response = await this.gateway.chat({ secret, model: { model_name }, mark: "hi" }, { stream });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status}: ${text}`);
    if (!stream) return (JSON.parse(text) as Answer).choices[0]?.message?.content ?? "";
    const parts = dataOf(text).filter((data) => data !== "[DONE]");
    return parts.map((data) => (JSON.parse(data) as Answer).choices[0]?.delta?.content ?? "").join("");
  }
}

interface Answer {
  readonly choices: readonly { readonly message?: { content: string }; readonly delta?: { content?: string } }[];
}

export const inState = (rows: readonly ModelReplica[], state: string): readonly ModelReplica[] =>
  rows.filter((row) => row.state === state);
