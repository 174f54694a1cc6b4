/**
 * A gateway that is killed at any moment while specs are edited leaves neither a job without a replica nor an endpoint without
 * a server (docs/rules/provisioner.md#laws); and the provisioner in a process of its own, which may end and be followed by
 * another one.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import type { ModelReplica } from "../../shared/schema/model-replica.ts";
import { Gateway } from "../harness/gateway.ts";
import { type Launched, launchProvisioner, launchReady } from "../harness/launched.ts";
import { propertyRuns } from "../harness/property-runs.ts";
import { waitFor } from "../harness/wait-for.ts";
import { JOB_FILES } from "./cluster-files.ts";
import { cluster, inState, jobsched } from "./managed-scenario.ts";
import { PROVISIONER_VARIABLES } from "./setup.ts";

const EDITS = 50;
const MODELS = 3;
/** The lease of a provisioner that was killed has to end, 45 s; then there are ten ticks, and jobs that start. */
const DEADLINE_MS = 240_000;
const TEST_MS = 900_000;
const SPEC = {
  partition: "gpu",
  launch_command: `exec ${JOB_FILES}/node ${JOB_FILES}/model-server.mjs`,
  serving_port: 19_500,
};

const history = fc.record({
  edits: fc.array(
    fc.record({
      model: fc.nat(MODELS - 1),
      kind: fc.constantFrom("target", "target", "target", "disable", "remove", "restart", "forget"),
      target: fc.nat(3),
      thenMs: fc.nat(400),
    }),
    { minLength: EDITS, maxLength: EDITS },
  ),
  /** The gateway is killed so long after this edit. */
  killAt: fc.nat(EDITS - 1),
  killMs: fc.nat(1500),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;
type Edit = History["edits"][number];

/** Three managed models of a gateway that is started again and again on one folder. */
class KilledGateway {
  readonly #dataDir = mkdtempSync(join(tmpdir(), "gateway-kills-"));
  readonly #variables: Readonly<Record<string, string>>;
  readonly #targets = new Map<string, number>();
  readonly #names: string[] = [];
  #stack: Launched | null = null;

  constructor(variables: Readonly<Record<string, string>> = {}) {
    this.#variables = { ...PROVISIONER_VARIABLES, ...variables };
    onTestFinished(async () => {
      await this.#stack?.end("SIGKILL");
      this.#jobs((job) => void cluster.run("scancel", job));
      await waitFor(
        () => this.#jobs((job) => job),
        (jobs) => jobs.length === 0,
        DEADLINE_MS,
      );
      rmSync(this.#dataDir, { recursive: true, force: true });
    }, DEADLINE_MS);
  }

  get stack(): Launched {
    if (this.#stack === null) throw new Error("it has not been started yet");
    return this.#stack;
  }

  get gateway(): Gateway {
    return new Gateway(this.stack);
  }

  async start(): Promise<void> {
    this.#stack = await launchReady(this.#dataDir, this.#variables);
    if (this.#targets.size > 0) return;
    await this.gateway.must("PUT", "/settings/jobsched", jobsched());
    for (let model = 0; model < MODELS; model += 1) {
      const model_name = `killed-${Date.now()}-${model}`;
      const { id } = await this.gateway.must<Model>("POST", "/models", { model_name });
      this.#targets.set(id, 0);
      this.#names.push(`gateway-${model_name}`);
    }
  }

  async edit({ model, kind, target }: Pick<Edit, "model" | "kind" | "target">): Promise<void> {
    const id = [...this.#targets.keys()][model] ?? "";
    const path = `/models/${id}/managed`;
    if (kind === "restart" || kind === "forget") {
      const rows = await this.gateway.must<readonly ModelReplica[]>("GET", `/replicas?model_id=${id}`);
      const row = rows[target % Math.max(1, rows.length)];
      // the provisioner may remove a row meanwhile
      if (row !== undefined && kind === "restart") await this.gateway.admin("POST", `/replicas/${row.id}/restart`);
      if (row !== undefined && kind === "forget") await this.gateway.admin("DELETE", `/replicas/${row.id}`);
      return;
    }
    if (kind === "remove") await this.gateway.admin("DELETE", path);
    else await this.gateway.must("PUT", path, { ...SPEC, enabled: kind !== "disable", target_replicas: target });
    this.#targets.set(id, kind === "target" ? target : 0);
  }

  /** Waits until there is, for each wanted replica, a row, an endpoint and a job, and nothing else. */
  async inOrder(): Promise<void> {
    const wanted = [...this.#targets.values()].reduce((sum, target) => sum + target, 0);
    const order = { healthy: wanted, others: 0, endpoints: wanted, deadEndpoints: 0, jobs: wanted, strayJobs: 0 };
    await waitFor(
      async () => await this.#world(),
      (world) => JSON.stringify(world) === JSON.stringify(order),
      DEADLINE_MS,
    );
  }

  async #world(): Promise<object> {
    const replicas = await this.gateway.must<readonly ModelReplica[]>("GET", "/replicas");
    const endpoints: ModelEndpoint[] = [];
    for (const id of this.#targets.keys())
      endpoints.push(...(await this.gateway.must<readonly ModelEndpoint[]>("GET", `/models/${id}/endpoints`)));
    const healthy = inState(replicas, "healthy");
    const known = new Set(healthy.map(({ endpoint_id }) => endpoint_id));
    const named = new Set(healthy.map(({ job_id }) => job_id));
    const jobs = this.#jobs((job) => named.has(job));
    return {
      healthy: healthy.length,
      others: replicas.length - healthy.length - inState(replicas, "lost").length,
      endpoints: endpoints.filter(({ id }) => known.has(id)).length,
      deadEndpoints: endpoints.filter(({ id }) => !known.has(id)).length,
      jobs: jobs.filter((isNamed) => isNamed).length,
      strayJobs: jobs.filter((isNamed) => !isNamed).length,
    };
  }

  /** The result for each job of these models that waits or runs. */
  #jobs<T>(of: (job: string) => T): readonly T[] {
    const name = `--name=${this.#names.join(",")}`;
    const { stdout } = cluster.run("squeue", "-h", "-t", "PENDING,RUNNING", "-o", "%i", name);
    return stdout.split("\n").filter(Boolean).map(of);
  }
}

it("is in order after it was killed within 50 edits", { timeout: TEST_MS }, async () => {
  const killed = new KilledGateway();
  await killed.start();
  for (let life = 0; life < propertyRuns(3); life += 1) {
    const seed = Date.now();
    const [{ edits, killAt, killMs }] = fc.sample(history, { seed, numRuns: 1 }) as [History];
    for (const [index, edit] of edits.entries()) {
      await killed.edit(edit);
      await pause(index === killAt ? killMs : edit.thenMs);
      if (index !== killAt) continue;
      await killed.stack.end("SIGKILL");
      await killed.start();
    }
    await killed.inOrder().catch((error: unknown) => expect.unreachable(`history ${seed}: ${String(error)}`));
  }
});

it("is kept in order by a provisioner that runs alone, and by the next one", { timeout: TEST_MS }, async () => {
  const world = new KilledGateway({ GATEWAY_PROVISIONER_ENABLED: "false" });
  await world.start();
  const { adminUrl, adminToken } = world.stack;
  const variables = { ...PROVISIONER_VARIABLES, GATEWAY_ADMIN_BASE_URL: adminUrl, GATEWAY_ADMIN_TOKEN: adminToken };
  const first = launchProvisioner(variables);
  await world.edit({ model: 0, kind: "target", target: 2 });
  await world.inOrder();
  expect(await first.end("SIGTERM")).toBe(0);
  await world.edit({ model: 0, kind: "target", target: 1 });
  launchProvisioner(variables);
  await world.inOrder();
});
