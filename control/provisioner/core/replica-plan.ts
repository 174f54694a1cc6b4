/**
 * What becomes of one replica in a tick, by its row, its job and its probe (docs/rules/provisioner.md#plan), before its
 * model's target is looked at.
 */
import type { ModelReplica } from "../../../shared/schema/model-replica.ts";
import type { ReplicaChange, ReplicaEffect } from "./effects.ts";
import type { BatchJob } from "./job.ts";
import { endpointName } from "./job-mark.ts";
import { firstNode } from "./node-address.ts";
import { addressOf } from "./probe-targets.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * How long a row waits for a job whose submission was not answered: longer than a submission may take on its way. A job that
 * appears later has no row, and is cancelled.
 */
const INTENT_KEPT_MS = 60_000;
/** A time that lies further ahead than clocks differ counts as long ago, so that nothing waits for it. */
const AHEAD_MAX_MS = 60_000;
const MISSES_MAX = 1000;

/** One replica, and what the tick does to it. */
export interface ReplicaPlan {
  readonly replica: ModelReplica;
  readonly job: BatchJob | undefined;
  /** The state that it has after its effects. */
  readonly state: ModelReplica["state"] | "deleted";
  /** It has no job, because the scheduler has refused it. */
  readonly isRefused: boolean;
  /** Net failed probes with this tick's. */
  readonly misses: number;
  readonly effects: readonly ReplicaEffect[];
  /** How its endpoint is removed; nothing when it cannot have one. */
  readonly removal: readonly ReplicaEffect[];
}

interface Facts {
  readonly replica: ModelReplica;
  readonly job: BatchJob | undefined;
  /** The replica that has each address; what is promoted is added. */
  readonly claims: Map<string, string>;
  /** Nodes where a job without a row may answer. */
  readonly unclearNodes: ReadonlySet<string>;
  readonly snapshot: Snapshot;
}

type Base = Omit<ReplicaPlan, "state" | "effects">;

/** Milliseconds since a time. */
export function sinceMs(time: string, nowMs: number): number {
  const ms = nowMs - Date.parse(time);
  return ms < -AHEAD_MAX_MS || Number.isNaN(ms) ? Number.POSITIVE_INFINITY : Math.max(0, ms);
}

/** The plan of one replica. */
export function planReplica(facts: Facts): ReplicaPlan {
  const { replica, job, snapshot } = facts;
  const base: Base = {
    replica,
    job,
    isRefused: job === undefined && replica.job_id === null && snapshot.refused.has(replica.id),
    misses: replica.probe_misses,
    removal: removalOf(replica, job, snapshot),
  };
  if (replica.state === "draining") return planDraining(base, snapshot);
  if (replica.state === "lost") return planLost(base, snapshot);
  if (replica.job_id === null && job === undefined) return planUnsubmitted(base, snapshot);
  const adopted = adoption(base);
  if (replica.cancel_requested) return { ...base, state: "draining", effects: retire(base, "cancelled on request") };
  if (job === undefined || job.phase === "gone") {
    const cancel = job?.live === true ? cancelOf(base) : [];
    const lost = change(replica, { state: "lost", message: endOf(replica, job) });
    return { ...base, state: "lost", effects: [...adopted, ...base.removal, ...cancel, ...lost] };
  }
  const plan = job.phase === "pending" ? planWaiting(base, job) : planRunning(base, job, facts);
  return { ...plan, effects: [...adopted, ...plan.effects] };
}

/** Takes a replica out of use: its endpoint goes first, then its row drains; a job that never served is cancelled at once. */
export function retire(plan: Base, reason: string): readonly ReplicaEffect[] {
  const { replica, removal } = plan;
  if (plan.isRefused) return [{ kind: "delete", replicaId: replica.id }];
  const served = replica.endpoint_id !== null || replica.state === "healthy";
  const cancel = served ? [] : cancelOf(plan);
  return [...adoption(plan), ...removal, ...change(replica, { state: "draining", message: reason }), ...cancel];
}

function planDraining(base: Base, { settings, nowMs }: Snapshot): ReplicaPlan {
  const { replica, job, removal } = base;
  const endpoint = replica.endpoint_id === null ? [] : removal;
  const drained = sinceMs(replica.state_since, nowMs) >= settings.drainMs;
  if (job?.live === true) {
    const cancel = job.phase !== "running" || drained ? cancelOf(base) : [];
    return { ...base, state: "draining", effects: [...adoption(base), ...endpoint, ...cancel] };
  }
  if (job?.ending === true) return { ...base, state: "draining", effects: endpoint };
  const mayAppear = replica.job_id === null && job === undefined && !base.isRefused;
  if (mayAppear && sinceMs(replica.state_since, nowMs) < INTENT_KEPT_MS)
    return { ...base, state: "draining", effects: endpoint };
  return { ...base, state: "deleted", effects: [...endpoint, { kind: "delete", replicaId: replica.id }] };
}

function planLost(base: Base, { settings, nowMs }: Snapshot): ReplicaPlan {
  const { replica, job, removal } = base;
  const endpoint = replica.endpoint_id === null ? [] : removal;
  if (job?.live === true)
    return { ...base, state: "lost", effects: [...adoption(base), ...endpoint, ...cancelOf(base)] };
  // without its model there is nobody to look at it
  const keptMs = replica.model_id === null ? 0 : settings.lostRetentionMs;
  if (sinceMs(replica.state_since, nowMs) < keptMs) return { ...base, state: "lost", effects: endpoint };
  return { ...base, state: "deleted", effects: [...endpoint, { kind: "delete", replicaId: replica.id }] };
}

/** A row that has no job: refused, or submitted without an answer. */
function planUnsubmitted(base: Base, { nowMs }: Snapshot): ReplicaPlan {
  const { replica, isRefused } = base;
  const isOver = isRefused ? replica.cancel_requested : sinceMs(replica.created_at, nowMs) >= INTENT_KEPT_MS;
  if (!isOver) return { ...base, state: "pending", effects: [] };
  return { ...base, state: "deleted", effects: [{ kind: "delete", replicaId: replica.id }] };
}

function planWaiting(base: Base, job: BatchJob): ReplicaPlan {
  const removal = base.replica.endpoint_id === null ? [] : base.removal;
  const wanted = change(base.replica, { state: "pending", nodes: "", message: job.reason === "" ? null : job.reason });
  return { ...base, state: "pending", misses: 0, effects: [...removal, ...wanted] };
}

function planRunning(base: Base, job: BatchJob, { claims, unclearNodes, snapshot }: Facts): ReplicaPlan {
  const { replica } = base;
  const node = firstNode(job.nodes);
  const passing = snapshot.probes.get(replica.id) ?? null;
  const current = replica.endpoint_id === null ? null : addressOf(replica);
  const isPromoted = replica.state === "healthy" && replica.endpoint_id !== null;
  if (passing !== null && isPromoted && passing === current) {
    const misses = Math.max(0, replica.probe_misses - 1);
    return { ...base, state: "healthy", misses, effects: change(replica, { probe_misses: misses }) };
  }
  const isClear = node !== null && !unclearNodes.has(node);
  if (isClear && passing !== null && replica.model_id !== null && (claims.get(passing) ?? replica.id) === replica.id) {
    claims.set(passing, replica.id);
    const promotion = promotionOf(replica, replica.model_id, passing, job.nodes, snapshot.settings.prefix);
    const moved = current === null || current === passing ? [] : base.removal;
    return { ...base, state: "healthy", misses: 0, effects: [...moved, promotion] };
  }
  if (isPromoted) {
    const misses = Math.min(replica.probe_misses + 1, MISSES_MAX);
    return { ...base, state: "healthy", misses, effects: change(replica, { probe_misses: misses }) };
  }
  const message = node === null ? "the scheduler reports no usable node for its job" : null;
  return { ...base, state: "starting", effects: change(replica, { state: "starting", nodes: job.nodes, message }) };
}

function promotionOf(
  replica: ModelReplica,
  modelId: string,
  address: string,
  nodes: string,
  prefix: string,
): ReplicaEffect {
  const name = endpointName(prefix, replica);
  return { kind: "promote", replicaId: replica.id, modelId, name, apiBase: `http://${address}/v1`, nodes };
}

/** A change with the fields that differ; nothing when none does. */
function change(replica: ModelReplica, wanted: ReplicaChange): readonly ReplicaEffect[] {
  const { message, ...fields } = wanted;
  const now: Readonly<Record<string, unknown>> = { ...replica };
  const differing = Object.entries(fields).filter(([name, value]) => now[name] !== value);
  const text = message === undefined || message === replica.last_message ? {} : { message };
  const entries: ReplicaChange = { ...Object.fromEntries(differing), ...text };
  return Object.keys(entries).length === 0 ? [] : [{ kind: "change", replicaId: replica.id, change: entries }];
}

/**
 * The removal of an endpoint by its id, or by its name: a crash may have left one that the row does not know. A replica
 * without a job never had one, and those of a removed model are gone with it.
 */
function removalOf(replica: ModelReplica, job: BatchJob | undefined, { settings }: Snapshot): readonly ReplicaEffect[] {
  const { id, model_id, endpoint_id, job_id } = replica;
  if (model_id === null || (job_id === null && job === undefined && endpoint_id === null)) return [];
  const name = endpointName(settings.prefix, replica);
  return [{ kind: "remove_endpoint", replicaId: id, modelId: model_id, endpointId: endpoint_id, name }];
}

function adoption({ replica, job }: Base): readonly ReplicaEffect[] {
  return job !== undefined && replica.job_id === null ? [{ kind: "adopt", replicaId: replica.id, jobId: job.id }] : [];
}

function cancelOf({ replica, job }: Base): readonly ReplicaEffect[] {
  return job === undefined ? [] : [{ kind: "cancel", replicaId: replica.id, jobId: job.id }];
}

function endOf({ job_id }: ModelReplica, job: BatchJob | undefined): string {
  if (job === undefined) return `the scheduler no longer knows job ${job_id ?? ""}`;
  return `job ${job.id} ended: ${job.state}${job.reason === "" ? "" : ` (${job.reason})`}`;
}
