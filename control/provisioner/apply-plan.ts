/**
 * Does what a plan says (docs/rules/provisioner.md#effects). Models are independent of one another and several are worked on
 * at once; within a model the order holds. What fails holds back the rest of the same replica and every submission of its
 * model, so that a job whose end could not be ordered is never replaced early.
 */
import type { ModelPlan, Plan, ReplicaEffect, SubmitEffect } from "./core/effects.ts";
import { type JobPlace, type Spec, submissionOf } from "./core/job-object.ts";
import { type ManagementPort, ProvisionerError, type SchedulerPort, type ServersPort } from "./ports.ts";

const MODELS_AT_ONCE = 8;
const NOT_FOUND = 404;

/** What effects are applied with. */
interface ApplyParts {
  readonly management: ManagementPort;
  readonly scheduler: SchedulerPort;
  readonly servers: ServersPort;
  readonly place: JobPlace;
  readonly newIntentId: () => string;
  readonly specs: readonly Spec[];
  /** Rows whose submission was refused for certain: they are added, and removed once they have a job. */
  readonly refused: Set<string>;
  /** Throws ProvisionerError when this process may not act any more. */
  readonly checkLease: () => Promise<void>;
}

/** What was done, and the first failure. */
export interface Applied {
  readonly submitted: number;
  readonly cancelled: number;
  readonly promoted: number;
  readonly failure: string | null;
}

/** Applies a plan; never throws for a call that fails. */
export async function applyPlan(plan: Plan, parts: ApplyParts): Promise<Applied> {
  const run = new PlanRun(parts);
  await run.cancelStrays(plan.strays);
  const waiting = plan.models.values();
  const work = async (): Promise<void> => {
    for (const model of waiting) await run.applyModel(model);
  };
  await Promise.all(Array.from({ length: MODELS_AT_ONCE }, work));
  return run.done();
}

class PlanRun {
  readonly #parts: ApplyParts;
  readonly #specs: ReadonlyMap<string, Spec>;
  readonly #counts = { submitted: 0, cancelled: 0, promoted: 0 };
  #failure: string | null = null;

  constructor(parts: ApplyParts) {
    this.#parts = parts;
    this.#specs = new Map(parts.specs.map((spec) => [spec.model_id, spec]));
  }

  done(): Applied {
    return { ...this.#counts, failure: this.#failure };
  }

  /** Cancels jobs without a row, after another look at the rows: one may have been made since they were read. */
  async cancelStrays(strays: Plan["strays"]): Promise<void> {
    if (strays.length === 0) return;
    await this.#attempt(async () => {
      const rows = await this.#parts.management.replicas();
      for (const { jobId, intentId } of strays) {
        const hasRow = rows.some(({ job_id, intent_id }) =>
          job_id === null ? intent_id === intentId : job_id === jobId && (intent_id ?? intentId) === intentId,
        );
        if (!hasRow) await this.#cancel(jobId);
      }
    });
  }

  async applyModel({ effects }: ModelPlan): Promise<void> {
    const failed = new Set<string>();
    // an endpoint that went in this tick may have requests under way: its job is cancelled by a later one
    const unplugged = new Set<string>();
    let maySubmit = true;
    for (const effect of effects) {
      if (effect.kind === "submit") {
        maySubmit = maySubmit && (await this.#attempt(async () => await this.#submit(effect))) === true;
      } else if (effect.kind === "report") {
        await this.#attempt(async () => await this.#parts.management.reportError(effect.modelId, effect.error));
      } else if (!failed.has(effect.replicaId)) {
        if (effect.kind === "cancel" && unplugged.has(effect.replicaId)) continue;
        const done = await this.#attempt(async () => await this.#apply(effect));
        if (done === "removed") unplugged.add(effect.replicaId);
        if (done !== undefined) continue;
        failed.add(effect.replicaId);
        maySubmit = false;
      }
    }
  }

  /** The result; undefined after a failure, which is noted. */
  async #attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      await this.#parts.checkLease();
      return await work();
    } catch (error) {
      if (!(error instanceof ProvisionerError)) throw error;
      this.#failure ??= error.message;
      return undefined;
    }
  }

  async #apply(effect: ReplicaEffect): Promise<"done" | "removed"> {
    const { management } = this.#parts;
    switch (effect.kind) {
      case "adopt":
        await management.changeReplica(effect.replicaId, { job_id: effect.jobId });
        return "done";
      case "change":
        await management.changeReplica(effect.replicaId, effect.change);
        return "done";
      case "remove_endpoint":
        return (await management.removeEndpoint(effect.modelId, { id: effect.endpointId, name: effect.name }))
          ? "removed"
          : "done";
      case "cancel":
        await this.#cancel(effect.jobId);
        return "done";
      case "delete":
        await management.deleteReplica(effect.replicaId);
        this.#parts.refused.delete(effect.replicaId);
        return "done";
      case "promote":
        await this.#promote(effect);
        return "done";
      default:
        return effect satisfies never;
    }
  }

  async #cancel(jobId: string): Promise<void> {
    await this.#parts.scheduler.cancel(jobId);
    this.#counts.cancelled += 1;
  }

  async #promote(effect: Extract<ReplicaEffect, { kind: "promote" }>): Promise<void> {
    const { management, servers } = this.#parts;
    const { modelId, name, apiBase, nodes, replicaId } = effect;
    const endpointId = await management.keepEndpoint(modelId, { name, apiBase });
    try {
      const change = { state: "healthy" as const, endpoint_id: endpointId, nodes, message: null, probe_misses: 0 };
      await management.changeReplica(replicaId, change);
    } catch (error) {
      if (!(error instanceof ProvisionerError) || error.status !== NOT_FOUND) throw error;
      await management.removeEndpoint(modelId, { id: endpointId, name });
      return;
    }
    this.#counts.promoted += 1;
    const spec = this.#specs.get(modelId);
    if (spec !== undefined) servers.warmUp(spec, apiBase);
  }

  /** Row first, then job, then the job's number on the row. False: the scheduler refuses, so that more is not tried. */
  async #submit({ modelId, row, portBase }: SubmitEffect): Promise<boolean> {
    const { management, scheduler, place, newIntentId, refused } = this.#parts;
    const spec = this.#specs.get(modelId);
    if (spec === undefined) return false;
    const intentId = row?.intentId ?? newIntentId();
    const replicaId = row?.replicaId ?? (await management.createReplica(modelId, { intentId, portBase }));
    refused.delete(replicaId);
    const answer = await scheduler.submit(submissionOf(spec, place, { intentId, portBase }));
    if (answer.kind === "refused") {
      refused.add(replicaId);
      if (answer.reason !== spec.provision_error) await management.reportError(modelId, answer.reason);
      return false;
    }
    await this.#number(replicaId, answer.jobId);
    this.#counts.submitted += 1;
    if (spec.provision_error !== null) await management.reportError(modelId, null);
    return true;
  }

  /** Writes a job's number on its row; a job whose row was removed meanwhile is cancelled. */
  async #number(replicaId: string, jobId: string): Promise<void> {
    try {
      await this.#parts.management.changeReplica(replicaId, { job_id: jobId });
    } catch (error) {
      if (!(error instanceof ProvisionerError) || error.status !== NOT_FOUND) throw error;
      await this.#cancel(jobId);
    }
  }
}
