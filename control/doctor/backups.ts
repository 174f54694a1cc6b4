/** How old the newest backup of a folder is, by the time in its name (docs/rules/backup.md). */
import { readdirSync } from "node:fs";
import { type DoctorFinding, findingsOf } from "./finding.ts";

const HOUR_MS = 3_600_000;
const NAME = /^gateway-backup-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.json$/;

const { ok, warning, failure } = findingsOf("backup");

interface Backups {
  readonly folder: string;
  readonly maxAgeHours: number;
}

export function examineBackups({ folder, maxAgeHours }: Backups, nowMs: number): DoctorFinding {
  const fix = "gateway backup export writes one; let a timer do it, and try it with gateway drill";
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch {
    return failure("backup", `the folder ${folder} cannot be read`, "check --backups, and the rights of its folder");
  }
  const newestMs = Math.max(...names.map(writtenMs).filter((ms) => !Number.isNaN(ms)));
  if (!Number.isFinite(newestMs)) return failure("backup", `the folder ${folder} has no backup`, fix);
  const hours = Math.floor((nowMs - newestMs) / HOUR_MS);
  const detail = `the newest backup is ${hours} hours old`;
  return hours > maxAgeHours ? warning("backup", detail, fix) : ok("backup", detail);
}

/** When a backup was written, epoch ms; NaN for a file of another name. */
function writtenMs(name: string): number {
  const [, year, month, day, hour, minute, second] = NAME.exec(name) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}
