/**
 * Says how long raw usage rows are kept; the next pruning goes by it (decisions §9.1).
 */
import { type UsageRetention, usageRetentionBodySchema } from "../../../shared/schema/settings/usage-retention.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse } from "../../kernel/parse.ts";
import { retentionSetting } from "../../settings/definitions.ts";
import { saveSetting } from "../../settings/setting.ts";

/** The setting. Throws 400. */
export async function setUsageRetention(ctx: VerbContext, input: unknown): Promise<Written<UsageRetention>> {
  const { days } = parse(usageRetentionBodySchema, input);
  const { sync } = await saveSetting(ctx, retentionSetting, () => ({ days }));
  return { record: { days, configured: true }, sync };
}
