/**
 * What a plan may want done (docs/rules/provisioner.md#effects). Each effect may be done again after a crash without harm,
 * because the next plan is made from what is then there.
 */

/** A change of one replica's row; what is missing keeps its value. */
export interface ReplicaChange {
  readonly state?: "pending" | "starting" | "healthy" | "draining" | "lost";
  readonly message?: string | null;
  readonly nodes?: string;
  readonly endpoint_id?: string | null;
  readonly job_id?: string;
  readonly probe_misses?: number;
  readonly restart_count?: number;
  readonly cancel_requested?: boolean;
}

/** What is done for one replica. */
export type ReplicaEffect =
  /** The row gets the number of the job that carries its intent. */
  | { readonly kind: "adopt"; readonly replicaId: string; readonly jobId: string }
  | { readonly kind: "change"; readonly replicaId: string; readonly change: ReplicaChange }
  /** Removes the endpoint with this id, or the one with this name; there may be none any more. */
  | {
      readonly kind: "remove_endpoint";
      readonly replicaId: string;
      readonly modelId: string;
      readonly endpointId: string | null;
      readonly name: string;
    }
  | { readonly kind: "cancel"; readonly replicaId: string; readonly jobId: string }
  | { readonly kind: "delete"; readonly replicaId: string }
  /** Gives the replica an endpoint, makes it healthy, and warms it up. */
  | {
      readonly kind: "promote";
      readonly replicaId: string;
      readonly modelId: string;
      readonly name: string;
      readonly apiBase: string;
      readonly nodes: string;
    };

/** Submits one job for a model: for a row that waits for it, or for a new one. */
export interface SubmitEffect {
  readonly kind: "submit";
  readonly modelId: string;
  readonly row: { readonly replicaId: string; readonly intentId: string } | null;
  readonly portBase: number;
}

/** Says at the spec what keeps its replicas from being started. */
export interface ReportEffect {
  readonly kind: "report";
  readonly modelId: string;
  readonly error: string;
}

/** What is to be done for one model, in this order; see apply-plan.ts for what a failure holds back. */
export interface ModelPlan {
  /** Null for replicas whose model was removed. */
  readonly modelId: string | null;
  readonly effects: readonly (ReplicaEffect | SubmitEffect | ReportEffect)[];
}

/** What one tick is to do. */
export interface Plan {
  /** Jobs of this installation that no row knows: they are cancelled. */
  readonly strays: readonly { readonly jobId: string; readonly intentId: string }[];
  readonly models: readonly ModelPlan[];
}
