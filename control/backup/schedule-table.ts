/** What is known of scheduled backups (docs/rules/backup.md#schedule). No backup contains it: another gateway has its own. */
import { bigint, boolean, integer, pgTable, text } from "drizzle-orm/pg-core";
import { instant, NOW } from "../db/schema/columns.ts";

/** What is known of the backups at one place. */
const ofOnePlace = {
  /** No backup begins before this time: one is being made, or one has failed. */
  not_before: instant("not_before"),
  /** The last backup that was stored and read back; null: none at this place. */
  last_ok_at: instant("last_ok_at"),
  last_name: text("last_name"),
  last_bytes: bigint("last_bytes", { mode: "number" }),
};

/** One row while backups are scheduled: that of the place where they go. */
export const backupSchedule = pgTable("backup_schedule", {
  singleton: boolean("singleton").primaryKey().default(true),
  /** Without credentials. */
  place: text("place").notNull(),
  interval_secs: integer("interval_secs").notNull(),
  /** Since when backups go to this place. */
  since: instant("since").notNull().default(NOW),
  ...ofOnePlace,
  /** Since when each attempt has failed. */
  failing_since: instant("failing_since"),
  /** In words of our own. */
  last_error: text("last_error"),
});

/** The places where backups went before, so that a place that is chosen again continues where it was. */
export const backupPlaces = pgTable("backup_places", {
  place: text("place").primaryKey(),
  ...ofOnePlace,
});

export type BackupScheduleRow = typeof backupSchedule.$inferSelect;
