/**
 * What the database knows of managed models, as gauges that are read at each scrape
 * (docs/rules/managed-models.md#metrics). While the database does not answer they have no value.
 */
import { isNotNull, sql } from "drizzle-orm";
import { Gauge } from "prom-client";
import { metricOptions } from "../../shared/catalogues/metrics.ts";
import { MODEL_REPLICA_FIELDS } from "../../shared/fields/model-replica-fields.ts";
import type { Database } from "../db/connect.ts";
import { managedModels, modelReplicas, provisionerState } from "../db/schema/managed-models.ts";

const STATES = MODEL_REPLICA_FIELDS.state.value.options;

/** The gauges; they belong to no registry until they are registered. */
export function provisionerGauges(db: Database): readonly Gauge<string>[] {
  return [
    new Gauge({
      ...metricOptions("gateway_model_replicas"),
      registers: [],
      async collect() {
        const rows = await db
          .select({ state: modelReplicas.state, count: sql<number>`count(*)::int` })
          .from(modelReplicas)
          .groupBy(modelReplicas.state)
          .catch(() => null);
        for (const state of STATES)
          this.set({ state }, rows === null ? Number.NaN : (rows.find((row) => row.state === state)?.count ?? 0));
      },
    }),
    new Gauge({
      ...metricOptions("gateway_provision_errors"),
      registers: [],
      async collect() {
        this.set(await db.$count(managedModels, isNotNull(managedModels.provision_error)).catch(() => Number.NaN));
      },
    }),
    new Gauge({
      ...metricOptions("gateway_provisioner_held"),
      registers: [],
      async collect() {
        this.set(await db.$count(provisionerState, isNotNull(provisionerState.held_since)).catch(() => Number.NaN));
      },
    }),
  ];
}
