/**
 * Reads the auto router's settings, with the tags it can choose by (decisions §9.2).
 */
import { and, eq } from "drizzle-orm";
import type { AutoRouter, AutoRouterValue } from "../../../shared/schema/settings/auto-router.ts";
import { models } from "../../db/schema/models.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { withDatabaseErrors } from "../../kernel/write.ts";
import { autoRouterSetting } from "../../settings/definitions.ts";
import { readSetting } from "../../settings/setting.ts";

/** The settings. */
export async function getAutoRouter(ctx: VerbContext): Promise<AutoRouter> {
  return await autoRouterRecord(ctx, (await readSetting(ctx, autoRouterSetting)).value);
}

/** A stored value with the tags of the enabled chat models, each once, sorted. */
export async function autoRouterRecord(ctx: VerbContext, value: AutoRouterValue): Promise<AutoRouter> {
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select({ tags: models.tags })
      .from(models)
      .where(and(eq(models.enabled, true), eq(models.model_type, "chat"))),
  );
  return { ...value, available_tags: [...new Set(rows.flatMap((row) => row.tags))].sort() };
}
