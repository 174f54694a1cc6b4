/**
 * The names of backups: `gateway-backup-<UTC yyyymmddThhmmssZ>.json` of an export, with `-<identity of the gateway>` before the
 * ending when it was made by schedule (docs/rules/backup.md#whose). Pure.
 */

const NAME = /^gateway-backup-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z(?:-([0-9a-f]{12}))?\.json$/;

/** The name of a backup that is exported at a time, for a gateway if it is made by schedule. */
export function backupName(at: Date, gateway?: string): string {
  const stamp = at.toISOString().replace(/[-:]|\.\d+/g, "");
  return `gateway-backup-${stamp}${gateway === undefined ? "" : `-${gateway}`}.json`;
}

/** Whether a file with this name is a backup. */
export function isBackupName(name: string): boolean {
  return !Number.isNaN(exportedAtMs(name));
}

/** When a backup was exported, by its name, in ms since 1970; NaN for any other name, and for a time that there is not. */
export function exportedAtMs(name: string): number {
  const [, year, month, day, hour, minute, second] = NAME.exec(name) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/** The identity of the gateway that a backup is of; null when its name has none: an export, or of an earlier release. */
export function gatewayOf(name: string): string | null {
  return NAME.exec(name)?.[7] ?? null;
}
