/**
 * Energy accounting in both planes (docs/rules/settings.md#energy, docs/rules/energy.md#readings): the setting, and the
 * last good power reading of the cluster, which the control service writes to the key-value store.
 */
import * as z from "zod";
import { amount, flag, freeText, whole } from "../common.ts";
import { storedBaseUrl } from "../upstream.ts";

/** Power usage effectiveness. */
export const pueField = z.number({ error: "must be a number above 0" }).gt(0, "must be a number above 0");

/** The setting `energy`, in the form that is stored and that the cells read. */
export const energyValueSchema = z.object({
  enabled: flag.default(false),
  prometheus_url: storedBaseUrl.default(""),
  power_query: freeText(4000).default(""),
  poll_interval_secs: whole(5).default(60),
  energy_cost_per_kwh: amount.default(0),
  carbon_g_per_kwh: amount.default(0),
  pue: pueField.default(1),
});
export type EnergyValue = z.infer<typeof energyValueSchema>;

/**
 * `energy:reading` (docs/rules/storage-layouts.md#key-value-keys): the last good reading. `error`: the error of the last
 * attempt, null if it succeeded.
 */
export const energyReadingSchema = z.object({
  cluster_watts: z.number(),
  node_count: z.number(),
  read_at_ms: z.number().int(),
  error: z.string().nullable().default(null),
});
export type EnergyReading = z.infer<typeof energyReadingSchema>;
