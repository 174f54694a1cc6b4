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
    /**
     * How many budget counters with a cap the ledger confirmed; fewer than there are when the ledger or the cell did not
     * answer.
     */
    budgets: count,
    /** How many copies were removed because they had no record. */
    removed: count,
    duration_ms: count,
  })
  .meta({ id: "Resynced" });
export type Resynced = z.infer<typeof resyncedSchema>;
