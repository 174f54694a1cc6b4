/**
 * Energy accounting: where the cluster's power is read, and what the energy costs (docs/rules/settings.md#energy,
 * docs/rules/energy.md#readings).
 */
import * as z from "zod";
import { shownTime } from "../../fields/common-fields.ts";
import { amount, flag, freeText, revField } from "../common.ts";
import { baseUrl } from "../upstream.ts";
import { pueField } from "./energy-value.ts";
import { wholeOrKeep } from "./fields.ts";

const powerQuery = freeText(4000);

/** PUT /settings/energy: omitted fields keep their value. */
export const energyBodySchema = z
  .object({
    enabled: flag.optional(),
    prometheus_url: baseUrl.optional(),
    power_query: powerQuery.optional(),
    poll_interval_secs: wholeOrKeep(5),
    energy_cost_per_kwh: amount.optional(),
    carbon_g_per_kwh: amount.optional(),
    pue: pueField.optional(),
  })
  .meta({ id: "SetEnergy" });

/** The last result of the power query; `error` is the error of the last attempt, null if it succeeded. */
const reading = z.object({
  cluster_watts: z.number(),
  node_count: z.number(),
  read_at: shownTime,
  error: z.string().nullable(),
});

export const energySchema = z
  .object({
    enabled: z.boolean(),
    prometheus_url: z.string(),
    power_query: z.string(),
    poll_interval_secs: z.number().int(),
    energy_cost_per_kwh: z.number(),
    carbon_g_per_kwh: z.number(),
    pue: z.number(),
    last_reading: reading.nullable(),
    rev: revField,
  })
  .meta({ id: "Energy" });
export type Energy = z.infer<typeof energySchema>;

/** POST /settings/energy/test: an omitted field has its stored value. */
export const energyTestBodySchema = z
  .object({ prometheus_url: baseUrl.optional(), power_query: powerQuery.optional() })
  .meta({ id: "TestEnergy" });

export const powerReadingSchema = z
  .object({ cluster_watts: z.number(), node_count: z.number() })
  .meta({ id: "PowerReading" });
export type PowerReading = z.infer<typeof powerReadingSchema>;
