/**
 * What the database knows of managed models, as gauges that are read at each scrape
 * (docs/rules/managed-models.md#metrics). While the database does not answer they have no value.
 */
import { isNotNull, sql } from "drizzle-orm";
import { Gauge } from "prom-client";
import { MODEL_REPLICA_FIELDS } from "../../shared/fields/model-replica-fields.ts";
import type { Database } from "../db/connect.ts";
import { managedModels, modelReplicas, provisionerState } from "../db/schema/managed-models.ts";

const STATES = MODEL_REPLICA_FIELDS.state.value.options;

/** The gauges; they belong to no registry until they are registered. */
export function provisionerGauges(db: Database): readonly Gauge<string>[] {
  return [
    new Gauge({
      name: "gateway_model_replicas",
      help: "Replicas of managed models, by state.",
      labelNames: ["state"],
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
      name: "gateway_provision_errors",
      help: "Managed models of which a replica could not be started.",
      registers: [],
      async collect() {
        this.set(await db.$count(managedModels, isNotNull(managedModels.provision_error)).catch(() => Number.NaN));
      },
    }),
    new Gauge({
      name: "gateway_provisioner_held",
      help: "1 while the provisioner is enabled and no tick has succeeded for 10 minutes.",
      registers: [],
      async collect() {
        this.set(await db.$count(provisionerState, isNotNull(provisionerState.held_since)).catch(() => Number.NaN));
      },
    }),
  ];
}
