/** Scheduled backups that fail or are not made (docs/rules/attention.md). */
import type { FoundItem } from "../../../shared/schema/attention.ts";
import { backupSchedule } from "../../backup/schedule-table.ts";
import type { VerbContext } from "../../kernel/context.ts";

/** One backup may be late by its own time and a retry; two intervals without one mean that none is made. */
const LATE_INTERVALS = 2;

/** One entry at most. Rejects when the database does not answer. */
export async function backupAttention({ db, now }: VerbContext): Promise<readonly FoundItem[]> {
  const [row] = await db.select().from(backupSchedule);
  if (row === undefined) return [];
  const lastMs = (row.last_ok_at ?? row.since).getTime();
  const isLate = now().getTime() - lastMs > LATE_INTERVALS * row.interval_secs * 1000;
  if (row.failing_since === null && !isLate) return [];
  const last = row.last_ok_at === null ? "none yet" : `the last one is from ${row.last_ok_at.toISOString()}`;
  return [
    {
      kind: "backup_failed",
      entity_type: "gateway",
      entity_id: "backup",
      name: "Backup",
      detail: `${row.place}: ${row.last_error ?? "no control service makes it"}; ${last}`,
      since: (row.failing_since ?? new Date(lastMs)).toISOString(),
    },
  ];
}
