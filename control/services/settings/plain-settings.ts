/**
 * Settings that are a schema and a row, as a table of their verbs (docs/rules/settings.md#common-rules). A setting with
 * secrets or addresses has its verbs in the folder of what it configures.
 */
import { and, eq } from "drizzle-orm";
import { type Assistant, assistantBodySchema } from "../../../shared/schema/settings/assistant.ts";
import { type AutoRouter, autoRouterBodySchema } from "../../../shared/schema/settings/auto-router.ts";
import { type Boons, boonsBodySchema } from "../../../shared/schema/settings/boons.ts";
import { type UsageRetention, usageRetentionBodySchema } from "../../../shared/schema/settings/usage-retention.ts";
import { models } from "../../db/schema/models.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/database-errors.ts";
import { assistantWarnings, autoRouterWarnings, boonsWarnings } from "../../kernel/no-effect-warnings.ts";
import { dropUndefined } from "../../kernel/parse.ts";
import { assistantSetting, autoRouterSetting, boonsSetting, retentionSetting } from "../../settings/definitions.ts";
import { type SettingVerbs, settingVerbs } from "../../settings/setting.ts";

/** A given map of tools replaces the stored one (docs/rules/settings.md#assistant). */
export const assistantSettings: SettingVerbs<Assistant> = settingVerbs({
  setting: assistantSetting,
  body: assistantBodySchema,
  warnings: assistantWarnings,
  show: (_ctx, { value }) => value,
});

/** The next request goes by them (docs/rules/settings.md#boons). */
export const boonsSettings: SettingVerbs<Boons> = settingVerbs({
  setting: boonsSetting,
  body: boonsBodySchema,
  warnings: boonsWarnings,
  show: (_ctx, { value }) => value,
});

/**
 * Clearing the classifier's model turns it off: routing goes by heuristics (docs/rules/settings.md#alerts,
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
  warnings: (body, _before, after) => (after.classifier_enabled ? autoRouterWarnings(body) : []),
  show: async (ctx, { value }) => ({ ...value, available_tags: await chatTags(ctx) }),
});

/**
 * Until one is saved, raw usage rows are kept for `defaultDays`; the next pruning goes by what is saved
 * (docs/rules/settings.md#usage-retention).
 */
export const retentionSettings = (defaultDays: number): SettingVerbs<UsageRetention> =>
  settingVerbs({
    setting: retentionSetting,
    body: usageRetentionBodySchema,
    show: (_ctx, { value, saved }) => ({ days: value.days ?? defaultDays, configured: saved }),
  });

/** The tags of the enabled chat models, each once, sorted. */
async function chatTags(ctx: VerbContext): Promise<string[]> {
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select({ tags: models.tags })
      .from(models)
      .where(and(eq(models.enabled, true), eq(models.model_type, "chat"))),
  );
  return [...new Set(rows.flatMap((row) => row.tags))].sort();
}
