/** What the database knows of scheduled backups, as gauges that are read at each scrape (docs/rules/backup.md#schedule). */
import { Gauge } from "prom-client";
import { metricOptions } from "../../shared/catalogues/metrics.ts";
import type { Database } from "../db/connect.ts";
import { type BackupScheduleRow, backupSchedule } from "./schedule-table.ts";

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
      ...metricOptions("gateway_backup_last_success_timestamp_seconds"),
      registers: [],
      async collect() {
        this.set(await read((row) => (row?.last_ok_at?.getTime() ?? 0) / 1000));
      },
    }),
    new Gauge({
      ...metricOptions("gateway_backup_interval_seconds"),
      registers: [],
      async collect() {
        this.set(await read((row) => row?.interval_secs ?? 0));
      },
    }),
  ];
}
