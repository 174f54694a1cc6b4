/**
 * Scheduled backups (docs/rules/backup.md#schedule). One control service makes each, decided by the database. An older backup is
 * removed only after a newer one was stored and read back, so that a process that dies at any line leaves the last good one.
 * One that was not read back is removed: its name would say that it is good.
 */
import { issueOf } from "../../shared/alerts.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import { type AlertSink, raisedNow } from "../kernel/alert-sink.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { Logger } from "../kernel/log.ts";
import type { BackupEnv } from "./backup-env.ts";
import { exportBackup } from "./export-backup.ts";
import { identityOf } from "./gateway-identity.ts";
import { type BackupPlace, BackupPlaceError } from "./places/backup-place.ts";
import { expiredBackups } from "./retention.ts";
import { backupFailed, backupGivenUp, backupStored, claimBackup, declareSchedule } from "./schedule-record.ts";

/** One backup takes at most this long; a process that dies holds up the next one for as long. */
const WITHIN_MS = 600_000;
/** What remains of that time to write down how it ended. */
const LAST_WORDS_MS = 60_000;
const AGAIN_MS = 300_000;
/** For the removal of a backup that was not verified; less than the time for last words. */
const REMOVE_WITHIN_MS = 5_000;
const NOTHING: BackupRun = { backups: 0, removed: 0 };

/** What one run has done. */
interface BackupRun {
  readonly backups: number;
  readonly removed: number;
}

interface ScheduleOptions {
  readonly ctx: VerbContext;
  /** Null: no backup is scheduled. */
  readonly backup: BackupEnv | null;
  /** The folder of an embedded database; "" otherwise. */
  readonly databaseFolder: string;
  readonly version: string;
  readonly sink: AlertSink;
  /** The control service's own cell, which its alerts name. */
  readonly cell: string;
  /** Aborted when the service ends. */
  readonly ending: AbortSignal;
  readonly log: Logger;
}

export class BackupSchedule {
  readonly #options: ScheduleOptions;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  /** Writes down what is scheduled, or that nothing is. Rejects when the database does not answer. */
  async declare(): Promise<void> {
    const { ctx, backup } = this.#options;
    await declareSchedule(
      ctx.db,
      backup === null ? null : { place: backup.place.shown, intervalSecs: backup.intervalSecs },
    );
  }

  /** Makes a backup if one is due and nobody else makes it. Rejects when it cannot be made. */
  async run(): Promise<BackupRun> {
    const { ctx, backup, ending } = this.#options;
    if (backup === null) return NOTHING;
    // a replica that starts with other variables may have replaced the row
    await this.declare();
    const at = await claimBackup(ctx.db, backup.place.shown, WITHIN_MS);
    if (at === null) return NOTHING;
    const signal = AbortSignal.any([ending, AbortSignal.timeout(WITHIN_MS - LAST_WORDS_MS)]);
    let name: string;
    try {
      name = await this.#store(backup, at, signal);
    } catch (error) {
      if (ending.aborted) await backupGivenUp(ctx.db, backup.place.shown);
      else await this.#failed(backup, error);
      throw error;
    }
    return { backups: 1, removed: await this.#removeOlder(backup, name, at, signal) };
  }

  async #store({ place }: BackupEnv, at: Date, signal: AbortSignal): Promise<string> {
    const { ctx, databaseFolder, version, log } = this.#options;
    const gateway = await identityOf(ctx.db, databaseFolder);
    const { filename, pieces } = await exportBackup(ctx, version, { at, gateway });
    const content = Buffer.from(pieces.join(""));
    await this.#storeVerified(place, { filename, content }, signal);
    await backupStored(ctx.db, place.shown, { at, name: filename, bytes: content.byteLength });
    log.info({ event: "backup_stored", file: filename, place: place.shown, bytes: content.byteLength });
    return filename;
  }

  /** Stores it and reads it back. What cannot be verified does not stay, as far as the place lets it be removed. */
  async #storeVerified(
    place: BackupPlace,
    { filename, content }: { readonly filename: string; readonly content: Buffer },
    signal: AbortSignal,
  ): Promise<void> {
    let isStored = false;
    try {
      await place.store(filename, content, signal);
      isStored = true;
      await verify(place, filename, { content, signal });
    } catch (error) {
      const kept = await this.#removeUnverified(place, filename);
      // a place that had no time left to answer may have stored it all the same
      if (kept === null || !(isStored || signal.aborted)) throw error;
      throw new UnverifiedStays(`${reasonOf(error)}; it could not be removed and stays there unverified: ${kept}`);
    }
  }

  /** Why it is not removed; null: it is. The signal of the backup may be what ended it, so this has time of its own. */
  async #removeUnverified(place: BackupPlace, filename: string): Promise<string | null> {
    try {
      await place.remove(filename, AbortSignal.timeout(REMOVE_WITHIN_MS));
      return null;
    } catch (error) {
      const reason = reasonOf(error);
      this.#options.log.warn({ event: "backup_not_removed", file: filename, place: place.shown, reason });
      return reason;
    }
  }

  async #failed({ place, intervalSecs }: BackupEnv, error: unknown): Promise<void> {
    const { ctx, sink, cell, log } = this.#options;
    const reason =
      error instanceof BackupPlaceError ? error.message : `the configuration cannot be exported: ${rootCause(error)}`;
    log.warn({ event: "backup_failed", variable: "GATEWAY_BACKUP_TO", place: place.shown, reason });
    const intervalMs = intervalSecs * 1000;
    const firstMs = Math.min(AGAIN_MS, intervalMs);
    // each attempt would leave one more: as rarely, in the end, as a schedule that works stores one
    const longestMs = error instanceof UnverifiedStays ? intervalMs : firstMs;
    await backupFailed(ctx.db, place.shown, { reason, firstMs, longestMs });
    const issue = issueOf("backup_failed", `GATEWAY_BACKUP_TO ${place.shown}: ${reason}`);
    await sink.take([raisedNow(issue, ctx.now().getTime(), cell)]);
  }

  /** How many were removed. What cannot be removed is left to the next backup. */
  async #removeOlder(backup: BackupEnv, stored: string, at: Date, signal: AbortSignal): Promise<number> {
    const { log } = this.#options;
    const { place } = backup;
    let removed = 0;
    try {
      for (const name of expiredBackups(await place.names(signal), stored, backup, at.getTime())) {
        await place.remove(name, signal);
        removed += 1;
      }
    } catch (error) {
      log.warn({ event: "backup_not_removed", place: place.shown, reason: reasonOf(error) });
    }
    return removed;
  }
}

/** What is at the place could be neither verified nor removed. */
class UnverifiedStays extends BackupPlaceError {}

/** Throws {@link BackupPlaceError} unless what is at the place is what was stored. */
async function verify(
  place: BackupPlace,
  filename: string,
  { content, signal }: { readonly content: Buffer; readonly signal: AbortSignal },
): Promise<void> {
  const read = await place.read(filename, signal).catch((error: unknown) => {
    throw new BackupPlaceError(`the stored backup cannot be read back: ${reasonOf(error)}`);
  });
  if (!content.equals(read)) throw new BackupPlaceError("the stored backup differs from what was written");
}

const reasonOf = (error: unknown): string => (error instanceof BackupPlaceError ? error.message : rootCause(error));
