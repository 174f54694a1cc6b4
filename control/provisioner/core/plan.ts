/**
 * Decides what one tick of the provisioner does (docs/rules/provisioner.md#plan): a pure function of everything that was
 * read. The laws it keeps (../provisioner.property.test.ts): never more live jobs of a model than its target and what is draining; no
 * job without a row beyond one tick; an endpoint only for a replica that passed its probe, gone before its job is cancelled.
 */
import type { ModelReplica } from "../../../shared/schema/model-replica.ts";
import type { ModelPlan, Plan, ReplicaEffect, ReportEffect, SubmitEffect } from "./effects.ts";
import { intentOf } from "./job-mark.ts";
import type { Spec } from "./job-object.ts";
import { PortWindows } from "./port-window.ts";
import { claimedAddresses } from "./probe-targets.ts";
import { planReplica, type ReplicaPlan, retire, sinceMs } from "./replica-plan.ts";
import { matchJobs, type Snapshot } from "./snapshot.ts";

/** A replica whose endpoint failed a check longer ago than this is not restarted for it. */
const CHECK_COUNTS_MS = 3_600_000;
const UNHEALTHY_CHECKS = 2;

/** The plan of a snapshot. Rows are taken oldest first. */
export function planTick(snapshot: Snapshot): Plan {
  const { specs, settings } = snapshot;
  const replicas = [...snapshot.replicas].sort(byAge);
  const jobs = matchJobs(snapshot);
  const claims = claimedAddresses(replicas);
  const windows = new PortWindows(settings.portSpan);
  // lost ones too: their servers may take a while to end
  for (const { model_id, id, port_base } of replicas) if (port_base !== null) windows.take(model_id ?? id, port_base);
  const rows = Map.groupBy(replicas, ({ model_id }) => model_id);
  const modelIds = new Set<string | null>([...specs.map(({ model_id }) => model_id), ...rows.keys()]);
  const specOf = new Map(specs.map((spec) => [spec.model_id, spec]));
  const models = [...modelIds].map((modelId): ModelPlan => {
    const spec = modelId === null ? undefined : specOf.get(modelId);
    const plans = (rows.get(modelId) ?? []).map((replica) =>
      planReplica({ replica, job: jobs.of(replica), claims, unclearNodes: jobs.unclearNodes, snapshot }),
    );
    return { modelId, effects: planModel(spec, plans, windows, snapshot) };
  });
  return {
    strays: jobs.strays.map((job) => ({ jobId: job.id, intentId: intentOf(job, settings.installationId) ?? "" })),
    models: models.filter(({ effects }) => effects.length > 0),
  };
}

/** What becomes of one model's rows, after each row alone: restart, surplus, missing ones. */
function planModel(
  spec: Spec | undefined,
  rows: readonly ReplicaPlan[],
  windows: PortWindows,
  snapshot: Snapshot,
): ModelPlan["effects"] {
  const target = spec?.enabled === true ? spec.target_replicas : 0;
  const restarted = toRestart(rows, snapshot);
  const wanted = rows.filter((row) => isActive(row) && row !== restarted);
  const surplus = new Set([...wanted].sort(byWorth).slice(0, Math.max(0, wanted.length - target)));
  const effects = rows.flatMap((row) => {
    if (row === restarted) return [...countRestart(row.replica), ...retire(row, "restarted: its probes failed")];
    return surplus.has(row) ? retire(row, "no longer wanted") : row.effects;
  });
  const kept = wanted.filter((row) => !surplus.has(row));
  if (spec === undefined || target === 0) return effects;
  return [...effects, ...submissions(spec, { kept, missing: target - kept.length, lost: countLost(rows) }, windows)];
}

function submissions(
  spec: Spec,
  { kept, missing, lost }: { kept: readonly ReplicaPlan[]; missing: number; lost: number },
  windows: PortWindows,
): readonly (SubmitEffect | ReportEffect)[] {
  const refused = kept.filter(({ isRefused }) => isRefused);
  if (refused.length + missing === 0) return [];
  if (spec.max_job_failures > 0 && lost >= spec.max_job_failures)
    return reportOf(spec, `job failed ${lost} times; clear lost replicas to retry`);
  const again = refused.map(
    ({ replica: { id, intent_id, port_base } }): SubmitEffect => ({
      kind: "submit",
      modelId: spec.model_id,
      row: { replicaId: id, intentId: intent_id ?? "" },
      portBase: port_base ?? spec.serving_port,
    }),
  );
  const anew: SubmitEffect[] = [];
  while (anew.length < missing) {
    const portBase = windows.lowestFree(spec.model_id, spec.serving_port);
    if (portBase === null) return [...again, ...anew, ...reportOf(spec, `no free ports from ${spec.serving_port} up`)];
    windows.take(spec.model_id, portBase);
    anew.push({ kind: "submit", modelId: spec.model_id, row: null, portBase });
  }
  return [...again, ...anew];
}

function reportOf(spec: Spec, error: string): readonly ReportEffect[] {
  return spec.provision_error === error ? [] : [{ kind: "report", modelId: spec.model_id, error }];
}

/** The one replica to restart in this tick: the one that failed most, the oldest of those. */
function toRestart(rows: readonly ReplicaPlan[], { settings, nowMs }: Snapshot): ReplicaPlan | undefined {
  const threshold = settings.restartAfterMisses;
  if (threshold <= 0) return undefined;
  const failing = rows.filter(
    (row) => row.state === "healthy" && (row.misses >= threshold || isUnhealthy(row.replica, nowMs)),
  );
  return failing.sort((left, right) => right.misses - left.misses || byAge(left.replica, right.replica))[0];
}

/** Says so in the row before anything is done, so that a crash neither forgets the restart nor counts it twice. */
function countRestart({ id, restart_count }: ModelReplica): readonly ReplicaEffect[] {
  return [{ kind: "change", replicaId: id, change: { cancel_requested: true, restart_count: restart_count + 1 } }];
}

function isUnhealthy({ endpoint }: ModelReplica, nowMs: number): boolean {
  if (endpoint === null || endpoint.last_checked_at === null) return false;
  const { health_status, consecutive_failures, last_checked_at } = endpoint;
  const failed = health_status === "unhealthy" && consecutive_failures >= UNHEALTHY_CHECKS;
  return failed && sinceMs(last_checked_at, nowMs) <= CHECK_COUNTS_MS;
}

const isActive = ({ state }: ReplicaPlan): boolean =>
  state === "pending" || state === "starting" || state === "healthy";

const countLost = (rows: readonly ReplicaPlan[]): number => rows.filter(({ state }) => state === "lost").length;

const WORTH = { pending: 0, starting: 1, healthy: 2, draining: 3, lost: 3, deleted: 3 } as const;

/** What is given up first stands first. */
function byWorth(left: ReplicaPlan, right: ReplicaPlan): number {
  const refusedFirst = Number(right.isRefused) - Number(left.isRefused);
  return refusedFirst || WORTH[left.state] - WORTH[right.state] || byAge(left.replica, right.replica);
}

function byAge(left: ModelReplica, right: ModelReplica): number {
  const [a, b] = [Date.parse(left.created_at), Date.parse(right.created_at)];
  return a - b || (left.id < right.id ? -1 : 1);
}
