/**
 * The energy settings as admins read and change them, with the last reading of the cluster's power
 * (docs/rules/settings.md#energy). Accounting cannot be on without an address to read the power from.
 */

import { storeKeys } from "../../shared/records.ts";
import { type Energy, energyBodySchema } from "../../shared/schema/settings/energy.ts";
import { type EnergyValue, energyReadingSchema } from "../../shared/schema/settings/energy-value.ts";
import type { HotStore } from "../kernel/hot-store/hot-store.ts";
import { readStoredJson } from "../kernel/hot-store/stored-json.ts";
import { dropUndefined, requireWhenEnabled } from "../kernel/parse.ts";
import { energySetting } from "../kernel/settings/definitions.ts";
import { type SettingVerbs, settingVerbs } from "../kernel/settings/setting.ts";
import { checkInfrastructureUrl } from "../kernel/upstream-address.ts";

/**
 * How admins read and change the energy settings; the last reading comes from the store. A change throws 400, also
 * `address_blocked`.
 */
export const energySettings = (store: HotStore): SettingVerbs<Energy> =>
  settingVerbs({
    setting: energySetting,
    body: energyBodySchema,
    check: async (ctx, body) => await checkInfrastructureUrl(ctx, "prometheus_url", body.prometheus_url ?? ""),
    merge: (_ctx, before, body) => {
      const wanted = { ...before, ...dropUndefined(body) };
      if (wanted.enabled) requireWhenEnabled(wanted, ["prometheus_url", "power_query"]);
      return wanted;
    },
    show: async (_ctx, { value }) => await withReading(store, value),
  });

/** `last_reading` is null when there is none yet, and when the store does not answer. */
async function withReading(store: HotStore, value: EnergyValue): Promise<Omit<Energy, "rev">> {
  const reading = await readStoredJson(store, storeKeys.energyReading, energyReadingSchema);
  if (reading === null) return { ...value, last_reading: null };
  const { cluster_watts, node_count, read_at_ms, error } = reading;
  return {
    ...value,
    last_reading: { cluster_watts, node_count, read_at: new Date(read_at_ms).toISOString(), error },
  };
}
