/**
 * What a managed model, its replicas and the provisioner are up to, from their records
 * (docs/rules/console-deployments.md#states). Pure.
 */
import type { Records } from "../../data/api.ts";
import type { Tone } from "../../ui/badge.tsx";

type Spec = Pick<
  Records["ManagedModel"],
  "enabled" | "target_replicas" | "min_replicas" | "provision_error" | "replicas"
>;

/** What a managed model as a whole can be. */
export const SPEC_STATES = ["blocked", "short", "starting", "passing", "off"] as const;
export type SpecState = (typeof SPEC_STATES)[number];

export const SPEC_TONES: Readonly<Record<SpecState, Tone>> = {
  blocked: "bad",
  short: "warn",
  starting: "accent",
  passing: "good",
  off: "neutral",
};

/** The state: `blocked` before `short`, since something has to be done about it. */
export function specState({ enabled, target_replicas, min_replicas, provision_error, replicas }: Spec): SpecState {
  const { healthy = 0 } = replicas;
  if (!enabled || target_replicas === 0) return "off";
  if (provision_error !== null) return "blocked";
  if (healthy >= target_replicas) return "passing";
  return healthy < min_replicas ? "short" : "starting";
}

type ReplicaState = Records["ModelReplica"]["state"];

export const REPLICA_TONES: Readonly<Record<ReplicaState, Tone>> = {
  pending: "neutral",
  starting: "accent",
  healthy: "good",
  draining: "warn",
  lost: "bad",
};

/** True for a replica that counts towards the target: its job can be restarted. */
export function isActive({
  state,
  cancel_requested,
}: Pick<Records["ModelReplica"], "state" | "cancel_requested">): boolean {
  return !cancel_requested && (state === "pending" || state === "starting" || state === "healthy");
}

/** What keeps the provisioner from acting; `well`: nothing. */
type ProvisionerState = "well" | "unset" | "off" | "silent" | "held" | "idle" | "begins";

/** Why nothing moves, from the settings of the job scheduler, which tell the provisioner's last tick. */
export function provisionerState({
  enabled,
  url,
  provisioner_running,
  last_outcome,
}: Pick<Records["Jobsched"], "enabled" | "url" | "provisioner_running" | "last_outcome">): ProvisionerState {
  if (!enabled) return url === "" ? "unset" : "off";
  if (!provisioner_running) return "silent";
  switch (last_outcome) {
    case "ok":
      return "well";
    case "error":
      return "held";
    case "idle":
      return "idle";
    case null:
      return "begins";
    default:
      return last_outcome satisfies never;
  }
}
