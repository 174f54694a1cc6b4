/** Lines of batches that are not over, as a gauge that is read at each scrape (docs/rules/batches.md#management). */
import { sql } from "drizzle-orm";
import { Gauge } from "prom-client";
import { metricOptions } from "../../shared/catalogues/metrics.ts";
import type { Database } from "../db/connect.ts";
import { batchLines } from "./tables.ts";

/** It belongs to no registry until it is registered. While the database does not answer it has no value. */
export function batchGauges(db: Database): readonly Gauge<string>[] {
  return [
    new Gauge({
      ...metricOptions("gateway_batch_lines"),
      registers: [],
      async collect() {
        const counted = await db
          .select({ state: batchLines.state, lines: sql<number>`count(*)::int` })
          .from(batchLines)
          .where(sql`state IN ('waiting', 'sent')`)
          .groupBy(batchLines.state)
          .catch(() => null);
        for (const state of ["waiting", "sent"] as const)
          this.set({ state }, counted === null ? Number.NaN : (counted.find((row) => row.state === state)?.lines ?? 0));
      },
    }),
  ];
}
