/**
 * Settings that consist of a schema and a row only, as a table of their verbs (docs/rules/settings.md#common-rules). The
 * verbs of a setting with secrets or addresses are in the folder of the feature that it configures.
 */
import { and, eq } from "drizzle-orm";
import { type Assistant, assistantBodySchema, assistantWarnings } from "../../../shared/schema/settings/assistant.ts";
import { type AutoRouter, autoRouterBodySchema } from "../../../shared/schema/settings/auto-router.ts";
import { type Boons, boonsBodySchema } from "../../../shared/schema/settings/boons.ts";
import { type UsageRetention, usageRetentionBodySchema } from "../../../shared/schema/settings/usage-retention.ts";
import { models } from "../../db/schema/models.ts";
import type { VerbContext } from "../context.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { dropUndefined } from "../parse.ts";
import { assistantSetting, autoRouterSetting, boonsSetting, retentionSetting } from "./definitions.ts";
import { type SettingVerbs, settingVerbs } from "./setting.ts";

/** A map of tools in the body replaces the stored map (docs/rules/settings.md#assistant). */
export const assistantSettings: SettingVerbs<Assistant> = settingVerbs({
  setting: assistantSetting,
  body: assistantBodySchema,
  warnings: ({ enabled, brain_model }, _before, after) =>
    enabled === undefined && brain_model === undefined ? [] : assistantWarnings(after),
  show: (_ctx, { value }) => value,
});

/** The next request uses the new values (docs/rules/settings.md#boons). */
export const boonsSettings: SettingVerbs<Boons> = settingVerbs({
  setting: boonsSetting,
  body: boonsBodySchema,
  show: (_ctx, { value }) => value,
});

/**
 * Clearing the classifier's model turns the classifier off; routing then uses heuristics (docs/rules/settings.md#alerts,
 * docs/rules/settings.md#auto-router).
 */
export const autoRouterSettings: SettingVerbs<AutoRouter> = settingVerbs({
  setting: autoRouterSetting,
  body: autoRouterBodySchema,
  merge: (_ctx, before, body) => ({
    ...before,
    ...dropUndefined(body),
    ...(body.classifier_model === null ? { classifier_enabled: false } : {}),
  }),
  show: async (ctx, { value }) => ({ ...value, available_tags: await chatTags(ctx) }),
});

/**
 * While nothing is saved, raw usage rows are kept for `defaultDays`. The next pruning uses the saved value
 * (docs/rules/settings.md#usage-retention).
 */
export const retentionSettings = (defaultDays: number): SettingVerbs<UsageRetention> =>
  settingVerbs({
    setting: retentionSetting,
    body: usageRetentionBodySchema,
    show: (_ctx, { value, saved }) => ({ days: value.days ?? defaultDays, configured: saved }),
  });

/** The tags of the enabled chat models, sorted, without duplicates. */
async function chatTags(ctx: VerbContext): Promise<string[]> {
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select({ tags: models.tags })
      .from(models)
      .where(and(eq(models.enabled, true), eq(models.model_type, "chat"))),
  );
  return [...new Set(rows.flatMap((row) => row.tags))].sort();
}
