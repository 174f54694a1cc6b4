/**
 * How a job and a replica's row find each other (docs/rules/provisioner.md#jobs-and-rows). A job carries its row's intent in
 * its comment, so that no crash and no reused number can attach it to another row.
 */
import type { ModelReplica } from "../../../shared/schema/model-replica.ts";
import type { BatchJob } from "./job.ts";

const MARK = /^gateway:([0-9a-f-]{36}):([0-9a-f-]{36})$/;
const JOB_NAME_MAX = 200;
const ENDPOINT_NAME_MAX = 200;

/** The comment of the job that is submitted for a row. */
export const markOf = (installationId: string, intentId: string): string => `gateway:${installationId}:${intentId}`;

/** The intent that a job of this installation carries; null for every other job. */
export function intentOf(job: BatchJob, installationId: string): string | null {
  const mark = MARK.exec(job.comment);
  return mark !== null && mark[1] === installationId ? (mark[2] ?? null) : null;
}

/**
 * True when the job with a row's number is the row's own. Some sites replace comments when a job is submitted: a job without
 * any mark then belongs to the row when it has the name that it was submitted with.
 */
export function isJobOf(replica: ModelReplica, job: BatchJob, installationId: string, prefix: string): boolean {
  if (replica.intent_id === null) return true;
  if (intentOf(job, installationId) === replica.intent_id) return true;
  return !MARK.test(job.comment) && job.name === jobName(prefix, replica.model_name);
}

/** Prefix and model, with a dash for every character that is no letter, digit, dot, dash or underscore. */
export function jobName(prefix: string, modelName: string): string {
  return named(prefix + modelName, JOB_NAME_MAX);
}

/** The name of a replica's endpoint; each replica has another. */
export function endpointName(prefix: string, { model_name, id }: ModelReplica): string {
  const end = `-${id}`;
  return named(prefix + model_name, ENDPOINT_NAME_MAX - end.length) + end;
}

function named(text: string, max: number): string {
  return text.replace(/[^A-Za-z0-9._-]/gu, "-").slice(0, max);
}
