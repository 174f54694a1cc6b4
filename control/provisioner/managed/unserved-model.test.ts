/**
 * A managed model without a healthy replica needs attention (docs/rules/attention.md#kinds).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AttentionItem } from "../../../shared/schema/attention.ts";
import type { Model } from "../../../shared/schema/model.ts";
import type { ModelReplica } from "../../../shared/schema/model-replica.ts";
import { startControl, type TestControl } from "../../../test/harness/control.ts";

const SPEC = { partition: "gpu", serving_port: 8000, launch_command: "serve --port $GATEWAY_SERVING_PORT" };

let control: TestControl;
beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => await control.close());

it("a managed model is down and needs attention until a replica is healthy", async () => {
  const { must } = control;
  const { id, model_name } = await must<Model>("POST", "/models", { model_name: `m-${randomUUID()}` });
  const unserved = async () =>
    (await must<readonly AttentionItem[]>("GET", "/overview/attention"))
      .filter(({ kind, name }) => kind === "no_replica" && name === model_name)
      .map(({ detail }) => detail);
  const shown = async () => [
    (await must<Model>("GET", `/models/${id}`)).health_status,
    (await must<readonly Model[]>("GET", `/models?q=${model_name}`))[0]?.health_status,
    (await must<{ readonly summary: { readonly status: string } }>("GET", `/models/${id}/health`)).summary.status,
    (await must<{ readonly down_models: number }>("GET", "/overview/summary")).down_models,
  ];
  await must("PUT", `/models/${id}/managed`, SPEC);
  const withoutReplicas = await unserved();
  const shownWithout = await shown();
  const [replica] = [
    await must<ModelReplica>("POST", `/models/${id}/replicas`, { job_id: randomUUID() }),
    await must<ModelReplica>("POST", `/models/${id}/replicas`, { job_id: randomUUID() }),
  ];
  const pending = await unserved();
  await must("PATCH", `/models/${id}`, { health: { maintenance_until: new Date(Date.now() + 60_000).toISOString() } });
  const inMaintenance = await unserved();
  const [, , , downInMaintenance] = await shown();
  await must("PATCH", `/models/${id}`, { health: { maintenance_until: null } });
  await must("PATCH", `/replicas/${replica?.id}`, { state: "healthy" });
  expect({ shownWithout, downInMaintenance, shownServed: await shown() }).toEqual({
    shownWithout: ["unhealthy", "unhealthy", "unhealthy", 1],
    downInMaintenance: 0,
    shownServed: ["unknown", "unknown", "unknown", 0],
  });
  expect({ withoutReplicas, pending, inMaintenance, served: await unserved() }).toEqual({
    withoutReplicas: ["0 of 2 replicas are healthy"],
    pending: ["0 of 2 replicas are healthy"],
    inMaintenance: [],
    served: [],
  });
});
