/** What the database knows of scheduled backups, as gauges that are read at each scrape (docs/rules/backup.md#schedule). */
import { Gauge } from "prom-client";
import type { Database } from "../db/connect.ts";
import { type BackupScheduleRow, backupSchedule } from "../db/schema/backup-schedule.ts";

/** The gauges; they belong to no registry until they are registered. While the database does not answer they have no value. */
export function backupGauges(db: Database): readonly Gauge<string>[] {
  const read = async (value: (row: BackupScheduleRow | undefined) => number): Promise<number> =>
    await db
      .select()
      .from(backupSchedule)
      .then(([row]) => value(row))
      .catch(() => Number.NaN);
  return [
    new Gauge({
      name: "gateway_backup_last_success_timestamp_seconds",
      help: "When the last scheduled backup was stored and read back; 0: never.",
      registers: [],
      async collect() {
        this.set(await read((row) => (row?.last_ok_at?.getTime() ?? 0) / 1000));
      },
    }),
    new Gauge({
      name: "gateway_backup_interval_seconds",
      help: "How often a backup is scheduled; 0: none is.",
      registers: [],
      async collect() {
        this.set(await read((row) => row?.interval_secs ?? 0));
      },
    }),
  ];
}
