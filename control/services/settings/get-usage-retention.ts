/**
 * Reads how long raw usage rows are kept (decisions §9.1).
 */
import type { UsageRetention } from "../../../shared/schema/settings/usage-retention.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { retentionSetting } from "../../settings/definitions.ts";
import { readSetting } from "../../settings/setting.ts";

/** What was saved, else the environment's default. */
export async function getUsageRetention(ctx: VerbContext, defaultDays: number): Promise<UsageRetention> {
  const { value, saved } = await readSetting(ctx, retentionSetting);
  return { days: value.days ?? defaultDays, configured: saved };
}
