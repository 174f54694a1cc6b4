/**
 * Reads the energy settings.
 */
import type { Energy } from "../../shared/schema/settings/energy.ts";
import type { HotStore } from "../hot-store/hot-store.ts";
import type { VerbContext } from "../kernel/context.ts";
import { energySetting } from "../settings/definitions.ts";
import { readSetting } from "../settings/setting.ts";
import { energyRecord } from "./energy-record.ts";

/** The settings and the last reading. */
export async function getEnergy(ctx: VerbContext, store: HotStore): Promise<Energy> {
  return await energyRecord(store, (await readSetting(ctx, energySetting)).value);
}
