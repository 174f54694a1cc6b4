/** Which scheduled backups are kept (docs/rules/backup.md#schedule). Pure. */
import { BACKUP_NAME } from "./places/backup-place.ts";

const DAY_MS = 86_400_000;

/** What is kept: the newest ones, and of these none that is older. */
export interface Retention {
  /** At least 1. */
  readonly keep: number;
  /** 0: whatever their age. */
  readonly keepDays: number;
}

/**
 * The names to remove after `stored` was stored and read back. That one always stays, whatever a clock that was set back makes of
 * its name; so does what is no backup.
 */
export function expiredBackups(
  names: readonly string[],
  stored: string,
  { keep, keepDays }: Retention,
  nowMs: number,
): readonly string[] {
  const others = names
    .filter((name) => name !== stored && !Number.isNaN(exportedAtMs(name)))
    .sort()
    .reverse();
  return others.filter(
    (name, at) => at >= keep - 1 || (keepDays > 0 && nowMs - exportedAtMs(name) > keepDays * DAY_MS),
  );
}

/** When a backup was exported, by its name, in ms since 1970; NaN for any other name. */
export function exportedAtMs(name: string): number {
  const stamp = BACKUP_NAME.exec(name)?.[1] ?? "";
  return Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}

/** The name of the newest backup; undefined when there is none. */
export function newestBackup(names: readonly string[]): string | undefined {
  return names
    .filter((name) => BACKUP_NAME.test(name))
    .sort()
    .at(-1);
}
