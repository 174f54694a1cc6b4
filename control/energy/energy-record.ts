/**
 * The energy settings as admins are shown them, with the last reading of the cluster's power (decisions §9.3).
 */
import { type EnergyValue, energyReadingSchema } from "../../shared/energy.ts";
import { storeKeys } from "../../shared/records.ts";
import type { Energy } from "../../shared/schema/settings/energy.ts";
import type { HotStore } from "../hot-store/hot-store.ts";
import { readStoredJson } from "../hot-store/stored-json.ts";

/** The view of a stored value; `last_reading` is null while there is none, or while the store does not answer. */
export async function energyRecord(store: HotStore, value: EnergyValue): Promise<Energy> {
  const reading = await readStoredJson(store, storeKeys.energyReading, energyReadingSchema);
  if (reading === null) return { ...value, last_reading: null };
  const { cluster_watts, node_count, read_at_ms, error } = reading;
  return {
    ...value,
    last_reading: { cluster_watts, node_count, read_at: new Date(read_at_ms).toISOString(), error },
  };
}
