/**
 * Reads the global settings of boons.
 */
import type { Boons } from "../../../shared/schema/settings/boons.ts";
import type { VerbContext } from "../context.ts";
import { boonsSetting } from "./definitions.ts";
import { readSetting } from "./setting.ts";

/** The settings. */
export async function getBoons(ctx: VerbContext): Promise<Boons> {
  return (await readSetting(ctx, boonsSetting)).value;
}
