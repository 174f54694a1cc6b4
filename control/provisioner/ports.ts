/**
 * What the provisioner needs from outside (docs/rules/provisioner.md#tick): the Management API, the batch scheduler, and the
 * servers that its jobs run.
 */
import type { ModelReplica } from "../../shared/schema/model-replica.ts";
import type { JobschedResolved, TICK_OUTCOMES } from "../../shared/schema/settings/jobsched.ts";
import type { ReplicaChange } from "./core/effects.ts";
import type { BatchJob } from "./core/job.ts";
import type { Spec, Submission } from "./core/job-object.ts";
import type { ProbeTarget } from "./core/probe-targets.ts";

/** How a tick ended. */
export interface TickReport {
  readonly outcome: (typeof TICK_OUTCOMES)[number];
  /** Why it was held or could not finish, in our own words. */
  readonly error?: string;
}

/**
 * Thrown when a call did not succeed. Its message is for the administrator: it names the call and what went wrong, and has
 * no secret in it.
 */
export class ProvisionerError extends Error {
  override readonly name = "ProvisionerError";
  /** Status of an answer that refused; null without an answer. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

/** The Management API. Every call throws ProvisionerError. */
export interface ManagementPort {
  /** The scheduler's settings, and whether this process may act; also the sign of life, with the outcome of the last tick. */
  settings(last: TickReport | null): Promise<JobschedResolved>;
  specs(): Promise<readonly Spec[]>;
  replicas(): Promise<readonly ModelReplica[]>;
  /** A row for a job that is about to be submitted; its id. */
  createReplica(modelId: string, row: { readonly intentId: string; readonly portBase: number }): Promise<string>;
  changeReplica(replicaId: string, change: ReplicaChange): Promise<void>;
  /** No error when there is none any more. */
  deleteReplica(replicaId: string): Promise<void>;
  /** The id of the endpoint with that name at that address, made when it is missing. */
  keepEndpoint(modelId: string, endpoint: { readonly name: string; readonly apiBase: string }): Promise<string>;
  /** Whether there was one. Without an id the name counts. */
  removeEndpoint(modelId: string, endpoint: { readonly id: string | null; readonly name: string }): Promise<boolean>;
  reportError(modelId: string, error: string | null): Promise<void>;
}

/** What the scheduler says to a submission; it throws ProvisionerError when it cannot be known whether there is a job. */
export type SubmitAnswer =
  | { readonly kind: "accepted"; readonly jobId: string }
  | { readonly kind: "refused"; readonly reason: string };

/** The batch scheduler. Every call throws ProvisionerError. */
export interface SchedulerPort {
  /** The jobs of this installation, and those with these ids. */
  jobs(of: { readonly installationId: string; readonly ids: ReadonlySet<string> }): Promise<readonly BatchJob[]>;
  submit(submission: Submission): Promise<SubmitAnswer>;
  /** No error when there is no such job any more. */
  cancel(jobId: string): Promise<void>;
}

/** The servers that jobs run. */
export interface ServersPort {
  /** The address that passes for each target, the one of its endpoint first; null for none. Never throws. */
  probe(targets: readonly ProbeTarget[]): Promise<ReadonlyMap<string, string | null>>;
  /** Sends one request that loads what a first request would wait for; returns at once, and never throws. */
  warmUp(spec: Spec, apiBase: string): void;
}
