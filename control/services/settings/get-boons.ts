/**
 * Reads the global settings of boons.
 */
import type { Boons } from "../../../shared/schema/settings/boons.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { boonsSetting } from "../../settings/definitions.ts";
import { readSetting } from "../../settings/setting.ts";

/** The settings. */
export async function getBoons(ctx: VerbContext): Promise<Boons> {
  return (await readSetting(ctx, boonsSetting)).value;
}
