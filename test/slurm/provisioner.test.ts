/**
 * The provisioner on a real Slurm (docs/rules/provisioner.md): from a spec to an answer through the gateway, and what happens
 * to jobs that end, are refused, wait, or cannot be seen. Every scenario has models of its own and looks at their jobs only;
 * most wait for long, so that they run at once.
 */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { AlertOverview } from "../../shared/schema/alert-log.ts";
import type { ModelReplica } from "../../shared/schema/model-replica.ts";
import type { Jobsched, SchedulerResources } from "../../shared/schema/settings/jobsched.ts";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";
import { JOB_FILES, LIMITED, NODES } from "./cluster-files.ts";
import { cluster, inState, jobsched, ManagedScenario } from "./managed-scenario.ts";

const { gateway } = useGateway();
/** Slurm ends a job up to a minute after its time limit of a minute. */
const LONG_MS = 240_000;
const SERVER = `${JOB_FILES}/node ${JOB_FILES}/model-server.mjs`;

const connect = async (settings: Readonly<Record<string, unknown>> = {}): Promise<void> => {
  await gateway.must<Jobsched>("PUT", "/settings/jobsched", { ...jobsched(), ...settings });
};

const tick = async (outcome: "ok" | "error"): Promise<Jobsched> =>
  await waitFor(
    async () => await gateway.must<Jobsched>("GET", "/settings/jobsched"),
    ({ last_outcome }) => last_outcome === outcome,
    LONG_MS,
  );

const jobIds = (rows: readonly ModelReplica[]): readonly string[] =>
  rows.map(({ job_id }) => String(job_id)).toSorted();

beforeAll(async () => {
  await connect();
});

describe.concurrent("a managed model", { timeout: LONG_MS }, () => {
  it("has its lost jobs replaced: one that fails, one that is cancelled behind its back", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const model = await scenario.manage();
    const [first] = await scenario.healthy(model, 1);
    cluster.run("scancel", "--signal=KILL", "--full", String(first?.job_id));
    const replaced = (lost: number) => (rows: readonly ModelReplica[]) =>
      inState(rows, "lost").length === lost && inState(rows, "healthy").length === 1;
    const [second] = inState(await scenario.until(model, replaced(1)), "healthy");
    expect(second?.job_id).not.toBe(first?.job_id);
    expect(await scenario.ask(model)).toBe(`job ${second?.job_id}`);
    cluster.run("scancel", String(second?.job_id));
    const rows = await scenario.until(model, replaced(2));
    expect(inState(rows, "lost").map(({ last_message }) => last_message)).toEqual([
      expect.stringMatching(/^job \d+ ended: /),
      expect.stringMatching(/^job \d+ ended: CANCELLED/),
    ]);
    expect(await scenario.endpoints(model)).toHaveLength(1);
  });

  it("runs beside another one on the same node, each on a window of its own", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const models = [await scenario.manage({ exclude: "n2" }), await scenario.manage({ exclude: "n2" })];
    const rows = await Promise.all(models.map(async (model) => (await scenario.healthy(model, 1))[0]));
    expect(rows).toMatchObject([{ nodes: "n1" }, { nodes: "n1" }]);
    expect(new Set(rows.map((row) => row?.port_base)).size).toBe(2);
    for (const [index, model] of models.entries()) expect(await scenario.ask(model)).toBe(`job ${rows[index]?.job_id}`);
  });

  it("is scaled up and down, and a port that something else has is passed over", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const taken = `${JOB_FILES}/node -e 'require("net").createServer().listen(${"$"}{GATEWAY_SERVING_PORT})' &`;
    const script_body = `#!/bin/bash\n${taken}\nsleep 1; export GATEWAY_SERVING_PORT=$((GATEWAY_SERVING_PORT + 1))\nexec ${SERVER}\n`;
    const model = await scenario.manage({ script_body, serving_port: 18_700 });
    await scenario.healthy(model, 1);
    expect(await scenario.endpoints(model)).toMatchObject([{ api_base: "http://127.0.0.1:18701/v1" }]);
    await scenario.put(model, { target_replicas: 3, serving_port: 18_700 });
    expect((await scenario.healthy(model, 3)).map(({ port_base }) => port_base)).toEqual(
      expect.arrayContaining([18_700, 18_703, 18_706]),
    );
    await scenario.put(model, { target_replicas: 1, serving_port: 18_700 });
    await scenario.until(model, (rows) => rows.length === 1);
    expect(scenario.live(model)).toHaveLength(1);
    expect(await scenario.endpoints(model)).toHaveLength(1);
    await gateway.must("DELETE", `/models/${model.id}/managed`);
    await scenario.until(model, (rows) => rows.length === 0);
    expect({ live: scenario.live(model), endpoints: await scenario.endpoints(model) }).toEqual({
      live: [],
      endpoints: [],
    });
  });

  it("is not started again and again after as many failures as its spec allows", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const model = await scenario.manage({ launch_command: "exit 3", max_job_failures: 2 });
    const { provision_error } = await scenario.refused(model);
    expect(provision_error).toBe("job failed 2 times; clear lost replicas to retry");
    await scenario.put(model, { max_job_failures: 2 });
    await gateway.must("POST", `/models/${model.id}/replicas/clear-lost`);
    await scenario.healthy(model, 1);
    expect((await scenario.spec(model)).provision_error).toBeNull();
  });

  it("shows what a partition refuses, and starts once it does not", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const model = await scenario.manage({ partition: "short", time_limit: 60 });
    expect((await scenario.refused(model)).provision_error).toContain("Requested time limit is invalid");
    await scenario.put(model, { partition: "short", time_limit: 10 });
    await scenario.healthy(model, 1);
    expect((await scenario.spec(model)).provision_error).toBeNull();
  });

  it("shows what the quota of its account refuses, and runs what it allows", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const { account } = LIMITED;
    const model = await scenario.manage({ account, target_replicas: 2 });
    const { provision_error } = await scenario.refused(model);
    expect(provision_error).toContain("Job violates accounting/QOS policy");
    const [row] = await scenario.healthy(model, 1);
    expect(scenario.live(model)).toEqual([row?.job_id]);
    expect(cluster.run("scontrol", "show", "job", String(row?.job_id)).stdout).toContain(`Account=${account}`);
    await scenario.put(model, { account, target_replicas: 1 });
    await scenario.until(model, (rows) => rows.length === 1);
    await scenario.put(model, { target_replicas: 2 });
    await scenario.healthy(model, 2);
    expect((await scenario.spec(model)).provision_error).toBeNull();
  });

  it("shows what its quality of service refuses", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const { qos } = LIMITED;
    const model = await scenario.manage({ qos, gres: "gpu:2" });
    expect((await scenario.refused(model)).provision_error).toMatch(/QOS/);
    await scenario.put(model, { qos, gres: "gpu:1" });
    await scenario.healthy(model, 1);
  });

  it("loses a job at its time limit and gets another", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const model = await scenario.manage({ time_limit: 1 });
    const [first] = await scenario.healthy(model, 1);
    const isReplaced = (rows: readonly ModelReplica[]): boolean =>
      inState(rows, "lost").length === 1 && inState(rows, "healthy").length === 1;
    const [lost] = inState(await scenario.until(model, isReplaced, LONG_MS), "lost");
    expect(lost?.job_id).toBe(first?.job_id);
    expect(lost?.last_message).toContain("TIMEOUT");
  });

  it("is restarted when its server stops answering while its job runs", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const model = await scenario.manage();
    const [first] = await scenario.healthy(model, 1);
    cluster.run("scancel", "--signal=STOP", "--full", String(first?.job_id));
    const hasAnother = (rows: readonly ModelReplica[]): boolean =>
      inState(rows, "healthy").some(({ job_id }) => job_id !== first?.job_id);
    const [second] = inState(await scenario.until(model, hasAnother, LONG_MS), "healthy");
    expect(await scenario.ask(model)).toBe(`job ${second?.job_id}`);
  });

  it("runs on two nodes as one replica, which the first of them serves", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const rank = `if [ "$SLURM_PROCID" = 0 ]; then exec ${SERVER}; else exec sleep 600; fi`;
    const model = await scenario.manage({ nodes: 2, launch_command: `exec srun bash -c '${rank}'` });
    const [row] = await scenario.healthy(model, 1);
    expect(row?.nodes).toBe("n[1-2]");
    expect(await scenario.ask(model)).toBe(`job ${row?.job_id}`);
    const steps = cluster.run("squeue", "-h", "-s", "-j", String(row?.job_id), "-o", "%i %N").stdout;
    expect(steps).toContain(`${row?.job_id}.0 n[1-2]`);
  });

  it("runs in a container image", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const image = `${JOB_FILES}/image.sif`;
    const model = await scenario.manage({ image, launch_command: SERVER, log_output_dir: "/tmp" });
    const [row] = await scenario.healthy(model, 1);
    expect(await scenario.ask(model)).toBe(`job ${row?.job_id}`);
    await scenario.put(model, { image: "/missing.sif", launch_command: SERVER, max_job_failures: 1 });
    await gateway.must("POST", `/replicas/${row?.id}/restart`);
    expect((await scenario.refused(model)).provision_error).toContain("job failed 1 times");
  });
});

describe("a scheduler", { timeout: LONG_MS }, () => {
  afterEach(async () => {
    // Slurm drains a node that still runs a job with the number of the one that it is to start ("Duplicate jobid")
    await cluster.resumeNodes();
    await connect();
    await tick("ok");
  });

  it.for(["v0.0.40", "v0.0.41", "v0.0.42"])("serves a spec to a streamed answer with API %s", async (version, test) => {
    await connect({ api_version: version });
    const scenario = new ManagedScenario(gateway, test);
    const limits = { gres: "gpu:1", time_limit: 30, mem: 100, cpus_per_task: 1, log_output_dir: "/tmp" };
    const model = await scenario.manage(limits);
    const [row] = await scenario.healthy(model, 1);
    expect(await scenario.endpoints(model)).toMatchObject([{ api_base: `http://127.0.0.1:${row?.port_base}/v1` }]);
    expect(await scenario.ask(model, true)).toBe(`job ${row?.job_id}`);
    expect(scenario.live(model)).toEqual([row?.job_id]);
    const job = cluster.run("scontrol", "show", "job", String(row?.job_id)).stdout;
    expect(job).toMatch(/Comment=gateway:[0-9a-f-]{36}:[0-9a-f-]{36}/);
    expect(job).toContain("TimeLimit=00:30:00");
    expect(job).toContain("Requeue=0");
    const resources = await gateway.must<SchedulerResources>("GET", "/jobsched/resources");
    expect(resources.nodes.map(({ name }) => name)).toEqual(NODES);
    expect(resources.accounts).toEqual(expect.arrayContaining(["models", LIMITED.account]));
    expect(resources.qos).toEqual(["normal", LIMITED.qos]);
  });

  it("says why a job waits: for resources, and for a node that is drained", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const model = await scenario.manage({ gres: "gpu:4", exclude: "n2", target_replicas: 2 });
    const waits = ({ last_message }: ModelReplica): boolean => /Resources|Priority/.test(last_message ?? "");
    const rows = await scenario.until(model, (all) => inState(all, "healthy").length === 1 && all.some(waits));
    expect(inState(rows, "pending")).toHaveLength(1);
    cluster.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test");
    cluster.run("scancel", String(inState(rows, "healthy")[0]?.job_id));
    await scenario.until(model, (all) => all.length === 3 && inState(all, "pending").length === 2);
    await cluster.resumeNodes();
    await scenario.healthy(model, 1);
  });

  it("holds the tick while it is stopped, raises an alert after its time and recovers", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const model = await scenario.manage();
    const [before] = await scenario.healthy(model, 1);
    await cluster.stop("slurmctld");
    await scenario.put(model, { target_replicas: 2 });
    expect((await tick("error")).last_error).toMatch(/^scheduler: /);
    expect(await scenario.replicas(model)).toEqual([before]);
    expect(await scenario.ask(model)).toBe(`job ${before?.job_id}`);
    const alerts = async (): Promise<AlertOverview> => await gateway.must<AlertOverview>("GET", "/alerts");
    const isHeld = ({ key }: { readonly key: string }): boolean => key === "slurm_reconcile_held";
    const { firing } = await waitFor(alerts, (now) => now.firing.some(isHeld), LONG_MS);
    expect(firing.find(isHeld)?.detail).toMatch(/^no successful reconcile for \d+ min: scheduler: /);
    expect(await scenario.replicas(model)).toEqual([before]);
    await cluster.start("slurmctld");
    const rows = await scenario.healthy(model, 2);
    expect(rows.map(({ job_id }) => job_id)).toContain(before?.job_id);
    expect((await tick("ok")).last_error).toBeNull();
    await waitFor(alerts, ({ recent }) => recent.some(({ key }) => key === "slurm_reconcile_recovered"), LONG_MS);
  });

  it("forgets its newest jobs and reuses their IDs, and the target is still reached", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const model = await scenario.manage();
    await scenario.healthy(model, 1);
    cluster.kill("slurmctld");
    await scenario.put(model, { target_replicas: 2 });
    await tick("error");
    await cluster.start("slurmctld");
    // rows may be lost on the way: a node does not start a job with the number of one that it has seen end
    const { rows } = await waitFor(
      async () => ({ rows: inState(await scenario.replicas(model), "healthy"), live: scenario.live(model) }),
      (now) => now.rows.length === 2 && now.live.toSorted().join() === jobIds(now.rows).join(),
      LONG_MS,
    );
    expect(rows.map(({ job_id }) => scenario.intentOf(String(job_id)))).toEqual(rows.map(({ intent_id }) => intent_id));
    const served = (await scenario.endpoints(model)).map(({ id }) => id);
    expect(new Set(served)).toEqual(new Set(rows.map(({ endpoint_id }) => endpoint_id)));
  });

  it("holds the tick for a wrong token and for one that has ended", async (test) => {
    const scenario = new ManagedScenario(gateway, test);
    const model = await scenario.manage();
    const [before] = await scenario.healthy(model, 1);
    const short = cluster.token(1);
    for (const token of ["wrong", short]) {
      await connect({ token });
      const held = await tick("error");
      expect(held.last_error).toMatch(/authentication/i);
      expect(JSON.stringify(held)).not.toContain(token);
      expect(await scenario.replicas(model)).toMatchObject([{ id: before?.id, state: "healthy" }]);
      await connect();
      await tick("ok");
    }
  });
});
