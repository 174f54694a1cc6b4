/** Where the value of each setting comes from (docs/rules/settings.md#sources). */
import { desc, eq } from "drizzle-orm";
import type { ListedSetting } from "../../shared/schema/settings/listed.ts";
import { auditLog } from "../db/schema/journal.ts";
import { appSettings } from "../db/schema/settings.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { inWords } from "../kernel/parse.ts";
import { retentionSetting, SETTINGS } from "../kernel/settings/definitions.ts";
import { fitting } from "../kernel/settings/setting.ts";

/** The actor of what the control service does at its start. */
const AT_START = "system";
/** A restored backup saves settings without an entry of their own: an older entry is of another save. */
const SAME_SAVE_MS = 60_000;

/** The stored values that a setting cannot have, with what is wrong; the defaults apply instead. Throws 503. */
export async function unfitSettings({ db }: Pick<VerbContext, "db">) {
  const rows = await withDatabaseErrors(async () => await db.select().from(appSettings));
  return rows.flatMap(({ key, value }) => {
    const setting = SETTINGS.find(({ name }) => name === key);
    const wrong = setting === undefined ? [] : fitting(setting, value).wrong;
    return wrong.length === 0 ? [] : [{ setting: key, reason: inWords(wrong) }];
  });
}

/** Every setting, in the order of {@link SETTINGS}. Throws 503. */
export async function listSettings({ db }: VerbContext): Promise<ListedSetting[]> {
  return await withDatabaseErrors(async () => {
    const rows = await db.select({ name: appSettings.key, savedAt: appSettings.updated_at }).from(appSettings);
    const entries = await db
      .selectDistinctOn([auditLog.entity_id], { name: auditLog.entity_id, actor: auditLog.actor, ts: auditLog.ts })
      .from(auditLog)
      .where(eq(auditLog.entity_type, "settings"))
      .orderBy(auditLog.entity_id, desc(auditLog.id));
    return SETTINGS.map(({ name }) => {
      const row = rows.find((one) => one.name === name);
      if (row === undefined)
        return {
          name,
          source: name === retentionSetting.name ? "environment" : "default",
          saved_at: null,
          saved_by: null,
        };
      const entry = entries.find((one) => one.name === name);
      const isSame = entry !== undefined && Math.abs(entry.ts.getTime() - row.savedAt.getTime()) <= SAME_SAVE_MS;
      const actor = isSame ? entry.actor : null;
      const saved_at = row.savedAt.toISOString();
      return { name, source: actor === AT_START ? "environment" : "saved", saved_at, saved_by: actor };
    });
  });
}
