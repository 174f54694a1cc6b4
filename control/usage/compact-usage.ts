/**
 * Prunes the raw ledger to the retention window now (docs/rules/settings.md#usage-retention); an hourly job does the
 * same. Days are dropped whole; the daily rollup stays.
 */
import type { UsageCompacted } from "../../shared/schema/usage-reads.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { retentionSettings } from "../kernel/settings/plain-settings.ts";
import { write } from "../kernel/write.ts";
import { dropExpired } from "./analytics/retention.ts";
import type { AnalyticsStore } from "./analytics/store.ts";

/** How much was kept and dropped. Throws 503 `analytics_unavailable`. */
export async function compactUsage(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  defaultDays: number,
): Promise<Written<UsageCompacted>> {
  const compacted = await pruneUsage(ctx, analytics, defaultDays);
  return await write(ctx, async (_tx, journal) => {
    journal.audit({ action: "compact_usage", entityType: "usage", entityId: "usage", detail: { ...compacted } });
    return compacted;
  });
}

/** The same without an entry in the audit log. Throws 503. */
export async function pruneUsage(
  ctx: VerbContext,
  analytics: AnalyticsStore,
  defaultDays: number,
): Promise<UsageCompacted> {
  const { days } = await retentionSettings(defaultDays).read(ctx);
  return { retention_days: days, partitions_dropped: await dropExpired(analytics, days, ctx.now().getTime()) };
}
