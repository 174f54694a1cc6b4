/** What is known of scheduled backups (docs/rules/backup.md#schedule). */
import { bigint, boolean, integer, pgTable, text } from "drizzle-orm/pg-core";
import { instant, NOW } from "./columns.ts";

/** One row while backups are scheduled. No backup contains it: another gateway has a schedule of its own. */
export const backupSchedule = pgTable("backup_schedule", {
  singleton: boolean("singleton").primaryKey().default(true),
  /** Without credentials. */
  place: text("place").notNull(),
  interval_secs: integer("interval_secs").notNull(),
  /** Since when backups go to this place. */
  since: instant("since").notNull().default(NOW),
  /** No backup begins before this time: one is being made, or one has failed. */
  not_before: instant("not_before"),
  /** The last backup that was stored and read back; null: none at this place. */
  last_ok_at: instant("last_ok_at"),
  last_name: text("last_name"),
  last_bytes: bigint("last_bytes", { mode: "number" }),
  /** Since when each attempt has failed. */
  failing_since: instant("failing_since"),
  /** In words of our own. */
  last_error: text("last_error"),
});

export type BackupScheduleRow = typeof backupSchedule.$inferSelect;
