/**
 * Hot copies of the settings that the data plane reads (docs/rules/storage-layouts.md#key-value-keys). Each of these
 * settings always has a copy: when nothing is saved, the copy has an empty value and its reader uses the defaults.
 * Otherwise isolates would read the store again and again for a copy that is absent.
 */
import { inArray } from "drizzle-orm";
import { HOT_SETTINGS, type SettingsRecord, settingsRecordSchema } from "../../shared/records.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { appSettings, revisionFloor } from "../db/schema/settings.ts";
import { fittingFields } from "../kernel/settings/definitions.ts";

/** Copies by names; names that the data plane does not read are absent. */
export async function buildSettings(
  db: Database | Transaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, SettingsRecord>> {
  const hot = HOT_SETTINGS.filter((name) => names.includes(name));
  if (hot.length === 0) return new Map();
  const rows = await db.select().from(appSettings).where(inArray(appSettings.key, hot));
  const [floor] = rows.length === hot.length ? [] : await db.select().from(revisionFloor);
  return new Map(
    hot.map((name) => {
      const saved = rows.find((row) => row.key === name);
      return [
        name,
        settingsRecordSchema.parse({
          v: 1,
          value: fittingFields(name, saved?.value),
          rev: saved?.rev ?? floor?.rev ?? 0,
        }),
      ];
    }),
  );
}

/** The names, in a single batch. */
export async function* settingsNames(): AsyncGenerator<readonly string[]> {
  yield HOT_SETTINGS;
}
