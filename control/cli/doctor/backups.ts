/** How old the newest backup of each gateway in a folder is, by the time in its name (docs/rules/backup.md#whose). */
import { readdirSync } from "node:fs";
import { backupName, exportedAtMs, gatewayOf, isBackupName } from "../../backup/backup-name.ts";
import { type DoctorFinding, findingsOf } from "./finding.ts";

const HOUR_MS = 3_600_000;
/** By how much clocks of a gateway may differ before a time of now is taken for one of the future. */
const AHEAD_MS = 60_000;

const { ok, warning, failure } = findingsOf("backup");

interface Backups {
  readonly folder: string;
  readonly maxAgeHours: number;
}

/** At least one finding: of each gateway that has backups there, and of those whose time is still to come. */
export function examineBackups({ folder, maxAgeHours }: Backups, nowMs: number): readonly DoctorFinding[] {
  const example = backupName(new Date(nowMs));
  const none = `set GATEWAY_BACKUP_TO, or export one from a timer under a name such as ${example}, and check it with gateway drill`;
  let names: readonly string[];
  try {
    names = readdirSync(folder).filter(isBackupName);
  } catch {
    return [
      failure("backup", `the folder ${folder} cannot be read`, "check --backups and the permissions of the folder"),
    ];
  }
  const isAhead = (name: string): boolean => exportedAtMs(name) > nowMs + AHEAD_MS;
  const ahead = names.filter(isAhead).length;
  const past = names.filter((name) => !isAhead(name));
  return [
    ...(past.length === 0 ? [failure("backup", `the folder ${folder} has no backup`, none)] : []),
    ...ages(past, maxAgeHours, nowMs, none),
    ...(ahead === 0
      ? []
      : [
          warning(
            "backup",
            `${ahead} backups have a time in the future`,
            "a clock was wrong when they were created: correct it, check them with gateway drill, and remove them",
          ),
        ]),
  ];
}

const idOf = (name: string): string => gatewayOf(name) ?? "";

/** Of each gateway; names without one are left out where others have one, because nobody makes them by schedule. */
function ages(names: readonly string[], maxAgeHours: number, nowMs: number, none: string): readonly DoctorFinding[] {
  const gateways = Map.groupBy(
    names.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1)),
    gatewayOf,
  );
  if (gateways.size > 1) gateways.delete(null);
  return [...gateways].map(([gateway, mine]) => {
    const newestMs = mine.reduce((newest, name) => Math.max(newest, exportedAtMs(name)), 0);
    const hours = Math.floor(Math.max(0, nowMs - newestMs) / HOUR_MS);
    const whose = gateways.size > 1 ? ` of the gateway ${gateway}` : "";
    const detail = `the newest backup${whose} is ${hours} hours old`;
    if (hours <= maxAgeHours) return ok("backup", detail);
    const gone = "find out why that gateway writes none; if it no longer exists, move its backups elsewhere";
    return warning("backup", detail, gateways.size > 1 ? gone : none);
  });
}
