/**
 * All that a plan is made from (docs/rules/provisioner.md#tick): the world as it was read in one tick, and how jobs belong to
 * rows in it.
 */
import type { ModelReplica } from "../../../shared/schema/model-replica.ts";
import type { BatchJob } from "./job.ts";
import { intentOf, isJobOf } from "./job-mark.ts";
import type { JobPlace, Spec } from "./job-object.ts";
import { firstNode } from "./node-address.ts";

/** What the operator has set. */
export interface PlanSettings extends JobPlace {
  /** How long requests may take to end between the removal of an endpoint and the end of its job. */
  readonly drainMs: number;
  /** How long a lost replica's row is kept. */
  readonly lostRetentionMs: number;
  /** Net failed probes after which a replica is restarted; 0: never. */
  readonly restartAfterMisses: number;
  /** Address of a node by its name. */
  readonly aliases: ReadonlyMap<string, string>;
}

export interface Snapshot {
  readonly nowMs: number;
  readonly settings: PlanSettings;
  readonly specs: readonly Spec[];
  readonly replicas: readonly ModelReplica[];
  readonly jobs: readonly BatchJob[];
  /** The address (`host:port`) that passed, of each replica that was probed; null when none did. */
  readonly probes: ReadonlyMap<string, string | null>;
  /** Rows without a job whose submission the scheduler has refused for certain. */
  readonly refused: ReadonlySet<string>;
}

/** What is known of the jobs of rows. */
interface JobsOfRows {
  /** The job of a row: by its number, or by its intent while it has no number. */
  readonly of: (replica: ModelReplica) => BatchJob | undefined;
  /** Live jobs of this installation that belong to no row. */
  readonly strays: readonly BatchJob[];
  /**
   * Nodes where such a job, or one that ends, may still answer on any port: nothing there can be told apart from it.
   */
  readonly unclearNodes: ReadonlySet<string>;
}

/** Attaches each job to at most one row, and each row to at most one job. */
export function matchJobs({ settings, replicas, jobs }: Pick<Snapshot, "settings" | "replicas" | "jobs">): JobsOfRows {
  const { installationId, prefix } = settings;
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const byIntent = new Map<string, BatchJob>();
  for (const job of jobs) {
    const intent = intentOf(job, installationId);
    const known = intent === null ? undefined : byIntent.get(intent);
    // one submission that arrived twice: the job that lives, else the first, is the row's
    if (intent !== null && (known === undefined || (job.live && !known.live))) byIntent.set(intent, job);
  }
  const own = new Map<string, BatchJob>();
  const owned = new Set<string>();
  const attach = (replica: ModelReplica, job: BatchJob | undefined): void => {
    if (job === undefined || owned.has(job.id)) return;
    own.set(replica.id, job);
    owned.add(job.id);
  };
  const lostLast = [...replicas].sort((left, right) => Number(left.state === "lost") - Number(right.state === "lost"));
  for (const replica of lostLast) {
    const named = replica.job_id === null ? undefined : byId.get(replica.job_id);
    if (named !== undefined && isJobOf(replica, named, installationId, prefix)) attach(replica, named);
  }
  // a number may be on a row whose job the scheduler has forgotten: whose job it is, its intent says
  for (const replica of replicas) {
    if (replica.job_id === null && replica.intent_id !== null) attach(replica, byIntent.get(replica.intent_id));
  }
  const rowless = jobs.filter((job) => !owned.has(job.id) && intentOf(job, installationId) !== null);
  const answering = rowless.filter(({ live, ending }) => live || ending);
  return {
    of: ({ id }) => own.get(id),
    strays: rowless.filter(({ live }) => live),
    unclearNodes: new Set(answering.flatMap(({ nodes }) => firstNode(nodes) ?? [])),
  };
}
