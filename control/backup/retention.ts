/** Which scheduled backups are kept, and which is the newest (docs/rules/backup.md#schedule). Pure. */
import { exportedAtMs, gatewayOf, isBackupName } from "./backup-name.ts";

const DAY_MS = 86_400_000;

/** What is kept: the newest ones, and of these none that is older. */
export interface Retention {
  /** At least 1. */
  readonly keep: number;
  /** 0: whatever their age. */
  readonly keepDays: number;
}

/**
 * The names to remove after `stored` was stored and read back. That one always stays. So does what is no backup of the same
 * gateway, and what has a time in the future: it does not count among those that are kept, because a clock which was
 * wrong has made it.
 */
export function expiredBackups(
  names: readonly string[],
  stored: string,
  { keep, keepDays }: Retention,
  nowMs: number,
): readonly string[] {
  const gateway = gatewayOf(stored);
  if (gateway === null) return [];
  const others = names
    .filter((name) => name !== stored && gatewayOf(name) === gateway && exportedAtMs(name) <= nowMs)
    .sort()
    .reverse();
  return others.filter(
    (name, at) => at >= keep - 1 || (keepDays > 0 && nowMs - exportedAtMs(name) > keepDays * DAY_MS),
  );
}

/** The backups of a place, by gateway. */
interface Newest {
  /** The name of the newest one; undefined if there is none to choose. */
  readonly name: string | undefined;
  /** The gateways with backups in the place; more than one: somebody has to choose. */
  readonly gateways: readonly string[];
}

/**
 * The newest backup of a gateway, or of the only one that the place has. Names without a gateway count when no other has one.
 * One of the future is taken only when there is no other: a clock that was wrong has made it.
 */
export function newestBackup(names: readonly string[], nowMs: number, gateway?: string): Newest {
  const backups = names.filter(isBackupName).sort();
  const gateways = [...new Set(backups.map(gatewayOf).filter((id) => id !== null))].sort();
  if (gateway === undefined && gateways.length > 1) return { name: undefined, gateways };
  const wanted = gateway ?? gateways[0] ?? null;
  const mine = backups.filter((name) => gatewayOf(name) === wanted);
  return { name: mine.findLast((name) => exportedAtMs(name) <= nowMs) ?? mine.at(-1), gateways };
}
