/**
 * A Management API, a scheduler and its nodes in memory, behind the ports of the provisioner. Every call may fail before or
 * after it took effect, and the provisioner may be killed before or after every call. What must never be is checked at each
 * call, and kept in `broken`.
 */
import type { ReplicaChange } from "../../control/provisioner/core/effects.ts";
import { readJob } from "../../control/provisioner/core/job.ts";
import type { Submission } from "../../control/provisioner/core/job-object.ts";
import type { ProbeTarget } from "../../control/provisioner/core/probe-targets.ts";
import {
  type ManagementPort,
  ProvisionerError,
  type SchedulerPort,
  type ServersPort,
} from "../../control/provisioner/ports.ts";
import { Provisioner } from "../../control/provisioner/provisioner.ts";
import type { ManagedModel } from "../../shared/schema/managed-model.ts";
import type { ModelReplica } from "../../shared/schema/model-replica.ts";
import { blankRow, blankSpec } from "./replica-records.ts";
import { isLive, type WorldJob } from "./world-job.ts";

export type Fate = "done" | "fails" | "done but fails" | "killed" | "done, then killed";

const INSTALLATION = "11111111-1111-4111-8111-111111111111";
const SPAN = 2;
const DRAIN_MS = 60_000;
const TICK_MS = 15_000;
const START_MS = Date.UTC(2026, 10, 23);
const START = new Date(START_MS).toISOString();

interface WorldEndpoint {
  readonly id: string;
  readonly modelId: string;
  readonly name: string;
  readonly apiBase: string;
}

class Killed extends Error {
  override readonly name = "Killed";
}

const ACTIVE = ["pending", "starting", "healthy"];

const uuid = (kind: number, n: number): string =>
  `${String(kind).repeat(8)}-0000-4000-8000-${String(n).padStart(12, "0")}`;

export class ProvisionerWorld {
  nowMs = START_MS;
  readonly specs = new Map<string, ManagedModel>();
  readonly rows = new Map<string, ModelReplica>();
  readonly endpoints = new Map<string, WorldEndpoint>();
  readonly jobs: WorldJob[] = [];
  readonly broken: string[] = [];
  /** The scheduler says no to every submission. */
  refuses = false;
  /** Fates of the calls of the next ticks, in turn; then all are done. */
  fates: Fate[] = [];
  /** How long a submission takes whose answer is lost. */
  lateMs = 0;
  readonly calls: string[] = [];
  /** When the endpoint of each row went. */
  readonly #servedUntilMs = new Map<string, number>();
  /** Rows that served until they began to drain. */
  readonly #drainingSinceMs = new Map<string, number>();
  readonly #restarts = new Map<string, number>();
  readonly #restartAfter: number;
  #serial = 0;
  #jobs = 0;
  #life = 0;
  #provisioner: Provisioner;

  constructor(restartAfter = 3) {
    this.#restartAfter = restartAfter;
    this.#provisioner = this.#born();
  }

  addSpec(n: number, fields: Partial<ManagedModel> = {}): void {
    const model_id = uuid(5, n);
    this.specs.set(model_id, { ...blankSpec(model_id, `model ${n}`, START), ...fields });
  }

  /** One tick; a provisioner that is killed in it is followed by another one. */
  async tick(): Promise<string> {
    this.nowMs += TICK_MS;
    this.#restarts.clear();
    try {
      const { outcome } = await this.#provisioner.tick();
      if (outcome === "ok") this.#checkAfterTick();
      return outcome;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      this.#provisioner = this.#born();
      return "killed";
    }
  }

  jobOf(row: ModelReplica): WorldJob | undefined {
    return this.jobs.find((job) => job.comment === `gateway:${INSTALLATION}:${row.intent_id}`);
  }

  /** A job gets a node and binds the first free port of its window, like its script. */
  start(job: WorldJob, node: string): void {
    if (job.state[0] !== "PENDING") return;
    job.state = ["RUNNING"];
    job.node = node;
    const bound = new Set(this.jobs.filter((other) => other.node === node).map(({ port }) => port));
    job.port = [0, 1].map((i) => job.portBase + i).find((port) => !bound.has(port)) ?? null;
    if (job.port === null) this.end(job, "FAILED", false);
  }

  /** A job ends; its server may answer for a while longer. */
  end(job: WorldJob, state: string, lingers: boolean): void {
    if (!isLive(job)) return;
    job.state = lingers ? [state, "COMPLETING"] : [state];
    if (!lingers) this.#release(job);
  }

  /** What ended is over, and the scheduler forgets a part of it. */
  settle(forgets: boolean): void {
    for (const job of this.jobs) {
      if (isLive(job)) continue;
      job.state = job.state.filter((name) => name !== "COMPLETING");
      this.#release(job);
    }
    if (forgets) for (const job of this.jobs.filter((one) => !isLive(one))) this.jobs.splice(this.jobs.indexOf(job), 1);
  }

  /** The scheduler comes back with an older state: it knows none of its jobs, and gives their numbers again. */
  loseState(): void {
    this.jobs.splice(0);
    this.#jobs = 0;
  }

  /** An administrator removes a row; the Management API removes its endpoint with it. */
  removeRow(row: ModelReplica): void {
    this.rows.delete(row.id);
    for (const { id, name } of this.endpoints.values())
      if (id === row.endpoint_id || name.endsWith(`-${row.id}`)) this.removeEndpoint(id);
  }

  removeEndpoint(id: string): void {
    const endpoint = this.endpoints.get(id);
    if (endpoint === undefined) return;
    this.endpoints.delete(id);
    this.#servedUntilMs.set(endpoint.name.slice(-36), this.nowMs);
    for (const row of this.rows.values()) if (row.endpoint_id === id) this.#write(row.id, { endpoint_id: null });
  }

  /** An administrator removes a model: endpoints and spec go with it, rows stay without it. */
  removeModel(modelId: string): void {
    this.specs.delete(modelId);
    for (const { id, modelId: of } of this.endpoints.values()) if (of === modelId) this.removeEndpoint(id);
    for (const row of this.rows.values())
      if (row.model_id === modelId) this.rows.set(row.id, { ...row, model_id: null });
  }

  #release(job: WorldJob): void {
    job.port = null;
    job.serves = false;
  }

  #born(): Provisioner {
    const life = this.#life;
    const call = this.#caller(life);
    return new Provisioner({
      management: this.#management(call),
      scheduler: () => this.#scheduler(call),
      servers: this.#servers(),
      newIntentId: () => uuid(7, this.#next()),
      nowMs: () => this.nowMs,
      options: {
        prefix: "gateway-",
        portSpan: SPAN,
        drainMs: DRAIN_MS,
        lostRetentionMs: 900_000,
        restartAfterMisses: this.#restartAfter,
      },
    });
  }

  #next(): number {
    this.#serial += 1;
    return this.#serial;
  }

  /** Decides what becomes of a call; a killed provisioner's further calls do nothing. */
  #caller(life: number): <T>(name: string, work: () => T) => Promise<T> {
    const die = (): never => {
      this.#life = life + 1;
      throw new Killed();
    };
    return async (name, work) => {
      await Promise.resolve();
      if (this.#life !== life) throw new Killed();
      this.calls.push(name);
      const fate = this.fates.shift() ?? "done";
      if (fate === "killed") die();
      if (fate === "fails") throw new ProvisionerError(`${name}: timeout`);
      const result = work();
      if (fate === "done, then killed") die();
      if (fate === "done but fails") throw new ProvisionerError(`${name}: answer broke off`);
      return result;
    };
  }

  #management(call: <T>(name: string, work: () => T) => Promise<T>): ManagementPort {
    return {
      settings: async () =>
        await call("settings", () => ({
          enabled: true,
          url: "http://scheduler",
          api_version: "v0.0.40",
          user: "gateway",
          token: "t",
          node_aliases: [],
          installation_id: INSTALLATION,
          may_act: true,
        })),
      specs: async () => await call("specs", () => [...this.specs.values()]),
      replicas: async () => await call("replicas", () => [...this.rows.values()].map((row) => this.#shown(row))),
      createReplica: async (modelId, row) => await call("createReplica", () => this.#create(modelId, row)),
      changeReplica: async (id, change) => await call("changeReplica", () => this.#change(id, change)),
      deleteReplica: async (id) => await call("deleteReplica", () => this.#delete(id)),
      keepEndpoint: async (modelId, wanted) => await call("keepEndpoint", () => this.#keep(modelId, wanted)),
      removeEndpoint: async (modelId, { id, name }) =>
        await call("removeEndpoint", () => {
          const found = [...this.endpoints.values()].filter(
            (known) => known.modelId === modelId && (id === null ? known.name === name : known.id === id),
          );
          for (const known of found) this.removeEndpoint(known.id);
          return found.length > 0;
        }),
      reportError: async (modelId, error) =>
        await call("reportError", () => {
          const spec = this.specs.get(modelId);
          if (spec === undefined) throw new ProvisionerError("reportError: 404", 404);
          this.specs.set(modelId, { ...spec, provision_error: error });
        }),
    };
  }

  #scheduler(call: <T>(name: string, work: () => T) => Promise<T>): SchedulerPort {
    const listed = (): WorldJob[] => this.jobs.filter(({ arrivesMs }) => arrivesMs <= this.nowMs);
    return {
      jobs: async () =>
        await call("jobs", () =>
          listed().flatMap(
            ({ id, comment, name, state, node }) =>
              readJob({ job_id: id, comment, name, job_state: state, nodes: node, state_reason: "None" }) ?? [],
          ),
        ),
      submit: async (submission) => {
        const late = this.fates[0] === "done but fails" || this.fates[0] === "done, then killed" ? this.lateMs : 0;
        return await call("submit", () => {
          if (this.refuses) return { kind: "refused", reason: "Invalid qos specification" } as const;
          return { kind: "accepted", jobId: String(this.#accept(submission, late)) } as const;
        });
      },
      cancel: async (jobId) => await call("cancel", () => this.#cancel(jobId)),
    };
  }

  #servers(): ServersPort {
    const passes = (address: string): boolean =>
      this.jobs.some(({ node, port, serves }) => serves && `${node}:${port}` === address);
    const answer = ({ current, others }: ProbeTarget): string | null =>
      [...(current === null ? [] : [current]), ...others].find(passes) ?? null;
    return {
      probe: async (targets) =>
        await Promise.resolve(new Map(targets.map((target) => [target.replicaId, answer(target)]))),
      warmUp: () => undefined,
    };
  }

  #shown(row: ModelReplica): ModelReplica {
    const endpoint = row.endpoint_id === null ? undefined : this.endpoints.get(row.endpoint_id);
    const health = { enabled: true, health_status: "unknown", consecutive_failures: 0, last_checked_at: null };
    return { ...row, endpoint: endpoint === undefined ? null : { api_base: endpoint.apiBase, ...health } };
  }

  #create(modelId: string, { intentId, portBase }: { readonly intentId: string; readonly portBase: number }): string {
    const spec = this.specs.get(modelId);
    if (spec === undefined) throw new ProvisionerError("createReplica: 404", 404);
    const id = uuid(9, this.#next());
    this.rows.set(id, {
      ...blankRow(id, new Date(this.nowMs).toISOString()),
      model_id: modelId,
      model_name: spec.model_name,
      intent_id: intentId,
      port_base: portBase,
    });
    return id;
  }

  #change(id: string, { message, ...change }: ReplicaChange): void {
    const row = this.rows.get(id);
    if (row === undefined) throw new ProvisionerError("changeReplica: 404", 404);
    if (change.job_id !== undefined) {
      if (row.job_id !== null) this.broken.push(`${id} gets a second job`);
      const job = this.jobs.find((one) => String(one.id) === change.job_id);
      if (job === undefined || job !== this.jobOf(row)) this.broken.push(`${id} gets the job of another row`);
      if ([...this.rows.values()].some(({ job_id, state }) => job_id === change.job_id && state !== "lost"))
        throw new ProvisionerError("changeReplica: 409", 409);
    }
    if (change.restart_count !== undefined) {
      const model = String(row.model_id);
      this.#restarts.set(model, (this.#restarts.get(model) ?? 0) + 1);
      if (this.#restarts.get(model) !== 1) this.broken.push(`two restarts of ${model} in one tick`);
    }
    this.#write(id, { ...change, ...(message === undefined ? {} : { last_message: message }) });
  }

  #write(id: string, fields: Partial<ModelReplica>): void {
    const row = this.rows.get(id);
    if (row === undefined) return;
    if (fields.state === "draining" && this.#servedUntilMs.get(id) === this.nowMs)
      this.#drainingSinceMs.set(id, this.nowMs);
    const moved = fields.state !== undefined && fields.state !== row.state;
    this.rows.set(id, { ...row, ...fields, ...(moved ? { state_since: new Date(this.nowMs).toISOString() } : {}) });
  }

  #delete(id: string): void {
    const row = this.rows.get(id);
    if (row === undefined) return;
    const job = this.jobOf(row);
    if (job !== undefined && isLive(job) && job.arrivesMs <= this.nowMs)
      this.broken.push(`the row of live job ${job.id} is deleted`);
    this.removeRow(row);
  }

  #keep(modelId: string, { name, apiBase }: { readonly name: string; readonly apiBase: string }): string {
    if (![...this.specs.keys()].includes(modelId)) throw new ProvisionerError("keepEndpoint: 404", 404);
    const owner = [...this.rows.values()].find(({ id }) => name.endsWith(`-${id}`));
    const job = owner === undefined ? undefined : this.jobOf(owner);
    if (job === undefined || !job.serves || `http://${job.node}:${job.port}/v1` !== apiBase)
      this.broken.push(`endpoint ${apiBase} is not the passing server of its own replica`);
    const known = [...this.endpoints.values()].find((one) => one.modelId === modelId && one.name === name);
    if (known !== undefined) this.endpoints.delete(known.id);
    const id = known?.id ?? uuid(8, this.#next());
    this.endpoints.set(id, { id, modelId, name, apiBase });
    return id;
  }

  #accept({ job, script }: Submission, lateMs: number): number {
    const comment = String(job["comment"]);
    this.#jobs += 1;
    const id = this.#jobs;
    const portBase = Number(/^gateway_port=(\d+)$/m.exec(script)?.[1]);
    const fresh = { state: ["PENDING"], node: "", port: null, serves: false };
    this.jobs.push({ id, comment, name: String(job["name"]), portBase, arrivesMs: this.nowMs + lateMs, ...fresh });
    const row = [...this.rows.values()].find(({ intent_id }) => comment.endsWith(`:${intent_id}`));
    if (row === undefined) this.broken.push("a job is submitted without a row");
    else this.#checkTarget(String(row.model_id));
    return id;
  }

  /** Live jobs that a row still wants: never more than the target when one is submitted. */
  #checkTarget(modelId: string): void {
    const wanted = [...this.rows.values()].filter((row) => {
      const job = row.model_id === modelId && ACTIVE.includes(row.state) ? this.jobOf(row) : undefined;
      return job !== undefined && isLive(job);
    });
    const spec = this.specs.get(modelId);
    const target = spec?.enabled === true ? spec.target_replicas : 0;
    if (wanted.length > target) this.broken.push(`${wanted.length} live jobs of ${modelId} for a target of ${target}`);
  }

  #cancel(jobId: string): void {
    const job = this.jobs.find(({ id }) => String(id) === jobId);
    if (job === undefined || !isLive(job)) return;
    const row = [...this.rows.values()].find((one) => this.jobOf(one) === job);
    const hasEndpoint = [...this.endpoints.values()].some(
      ({ name }) => row !== undefined && name.endsWith(`-${row.id}`),
    );
    if (hasEndpoint) this.broken.push(`job ${jobId} is cancelled while it has an endpoint`);
    const since = row === undefined || job.state[0] !== "RUNNING" ? undefined : this.#drainingSinceMs.get(row.id);
    if (since !== undefined && this.nowMs - since < DRAIN_MS) this.broken.push(`job ${jobId} has no time to drain`);
    this.end(job, "CANCELLED", true);
  }

  #checkAfterTick(): void {
    const intents = new Set([...this.rows.values()].map(({ intent_id }) => intent_id));
    for (const job of this.jobs)
      if (isLive(job) && job.arrivesMs <= this.nowMs && !intents.has(job.comment.slice(-36)))
        this.broken.push(`job ${job.id} has no row after a tick`);
  }
}
