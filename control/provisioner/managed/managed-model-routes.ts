/**
 * Routes of managed models: their specs, their replicas, and what the scheduler offers.
 */
import { z } from "zod";
import {
  managedModelSchema,
  patchManagedModelSchema,
  provisionErrorSchema,
  putManagedModelSchema,
} from "../../../shared/schema/managed-model.ts";
import {
  clearedReplicasSchema,
  createReplicaSchema,
  modelReplicaSchema,
  patchReplicaSchema,
  replicaFilterSchema,
} from "../../../shared/schema/model-replica.ts";
import { schedulerResourcesSchema } from "../../../shared/schema/settings/jobsched.ts";
import { endpoint } from "../../api/endpoint.ts";
import type { Api } from "../../api/types.ts";
import type { ProvisionerCounters } from "../jobsched/provisioner-counters.ts";
import { SchedulerOffers } from "../jobsched/scheduler-resources.ts";
import { createReplica } from "./create-replica.ts";
import { clearLostReplicas, deleteReplica } from "./delete-replicas.ts";
import { listModelReplicas, listReplicas } from "./list-replicas.ts";
import { patchReplica, restartReplica } from "./patch-replica.ts";
import { getManagedModel, listManagedModels } from "./read-specs.ts";
import { deleteManagedModel, patchManagedModel, putManagedModel, setProvisionError } from "./write-specs.ts";

const tag = "Provisioning";
const spec = "/api/v1/models/{id}/managed";
const ofModel = "/api/v1/models/{id}/replicas";
const one = "/api/v1/replicas/{id}";

export function managedModelRoutes(app: Api, deps: { readonly provisioner: ProvisionerCounters }): void {
  specRoutes(app);
  replicaRoutes(app, deps);
  const offers = new SchedulerOffers();
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/jobsched/resources",
    summary: "Read what the job scheduler offers: partitions, nodes, accounts, QOS",
    description:
      "Choices for forms, cached for a minute. `accounts` and `qos` are empty if the scheduler has no accounting.",
    tag,
    answer: schedulerResourcesSchema,
    reaches: "job scheduler",
    handler: async ({ ctx }) => await offers.read(ctx),
  });
}

function specRoutes(app: Api): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/managed",
    summary: "List the specs of managed models, oldest first",
    tag,
    answer: z.array(managedModelSchema),
    handler: async ({ ctx, query }) => await listManagedModels(ctx, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: spec,
    summary: "Read the spec of a managed model",
    tag,
    answer: managedModelSchema,
    handler: async ({ ctx, path }) => await getManagedModel(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "put",
    path: spec,
    summary: "Set the spec of a managed model: what to keep running",
    description:
      "Creates or replaces the spec: an omitted field gets its default. One of `launch_command` and `script_body` is required. The spec applies from the provisioner's next tick; running replicas are not changed.",
    tag,
    body: putManagedModelSchema,
    answer: managedModelSchema,
    mayCreate: true,
    handler: async ({ ctx, path, body }) => await putManagedModel(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: spec,
    summary: "Change fields of a managed model's spec; null resets a field to its default",
    description: "Omitted fields keep their values, also inside `launcher_spec`.",
    tag,
    body: patchManagedModelSchema,
    answer: managedModelSchema,
    handler: async ({ ctx, path, body }) => await patchManagedModel(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: spec,
    summary: "Stop managing a model; its replicas stop",
    tag,
    handler: async ({ ctx, path }) => await deleteManagedModel(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: `${spec}/provision-error`,
    summary: "Record why a model's replicas cannot be started; null clears it",
    description: "Written by the provisioner. Long texts are truncated.",
    tag,
    access: "token",
    body: provisionErrorSchema,
    answer: managedModelSchema,
    handler: async ({ ctx, path, body }) => await setProvisionError(ctx, path.id, body),
  });
}

function replicaRoutes(app: Api, { provisioner }: { readonly provisioner: ProvisionerCounters }): void {
  endpoint(app, {
    kind: "page",
    method: "get",
    path: "/api/v1/replicas",
    summary: "List the replicas of all models, oldest first",
    tag,
    query: replicaFilterSchema,
    answer: z.array(modelReplicaSchema),
    handler: async ({ ctx, query }) => await listReplicas(ctx, query),
  });
  endpoint(app, {
    kind: "page",
    method: "get",
    path: ofModel,
    summary: "List the replicas of a model, oldest first",
    tag,
    answer: z.array(modelReplicaSchema),
    handler: async ({ ctx, path, query }) => await listModelReplicas(ctx, path.id, query),
  });
  endpoint(app, {
    kind: "create",
    method: "post",
    path: ofModel,
    summary: "Add a replica: a running job, or one that is about to be submitted",
    description:
      "Send `job_id` for a job that was submitted elsewhere. The provisioner sends an `intent_id` before it submits a job, so that every job has a record.",
    tag,
    access: "token",
    body: createReplicaSchema,
    answer: modelReplicaSchema,
    handler: async ({ ctx, path, body }) => await createReplica(ctx, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: `${ofModel}/clear-lost`,
    summary: "Remove the lost replicas of a model, so that new jobs are submitted",
    tag,
    answer: clearedReplicasSchema,
    handler: async ({ ctx, path }) => await clearLostReplicas(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "patch",
    path: one,
    summary: "Report the state of a replica; omitted fields keep their values",
    description: "Written by the provisioner.",
    tag,
    access: "token",
    body: patchReplicaSchema,
    answer: modelReplicaSchema,
    handler: async ({ ctx, path, body }) => await patchReplica(ctx, provisioner, path.id, body),
  });
  endpoint(app, {
    kind: "write",
    method: "delete",
    path: one,
    summary: "Remove a replica and its endpoint",
    description: "The provisioner cancels the job if it is one of its own.",
    tag,
    handler: async ({ ctx, path }) => await deleteReplica(ctx, path.id),
  });
  endpoint(app, {
    kind: "write",
    method: "post",
    path: `${one}/restart`,
    summary: "Restart a replica with a new job",
    tag,
    answer: modelReplicaSchema,
    handler: async ({ ctx, path }) => await restartReplica(ctx, path.id),
  });
}
