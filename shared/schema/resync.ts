/**
 * What a resync did (docs/rules/freshness.md#resync).
 */
import * as z from "zod";

const count = z.number().int();

/** `POST /resync` */
export const resyncedSchema = z
  .object({
    keys: count,
    models: count,
    mcp_servers: count,
    settings: count,
    /** Budget counters with a cap that the ledger confirmed; less than there are when it or the cell did not answer. */
    budgets: count,
    /** Copies that no record stood behind. */
    removed: count,
    duration_ms: count,
  })
  .meta({ id: "Resynced" });
export type Resynced = z.infer<typeof resyncedSchema>;
