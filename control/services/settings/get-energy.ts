/**
 * Reads the energy settings.
 */
import type { Energy } from "../../../shared/schema/settings/energy.ts";
import type { KeyStore } from "../../publish/key-store.ts";
import type { VerbContext } from "../context.ts";
import { energySetting } from "./definitions.ts";
import { energyRecord } from "./energy-record.ts";
import { readSetting } from "./setting.ts";

/** The settings and the last reading. */
export async function getEnergy(ctx: VerbContext, store: KeyStore): Promise<Energy> {
  return await energyRecord(store, (await readSetting(ctx, energySetting)).value);
}
