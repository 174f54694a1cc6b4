/** Raises an alert of its machine while a disk of its data is almost full (docs/rules/storage-layouts.md#room-on-disk). */
import { hostname } from "node:os";
import { issueOf } from "../../shared/alerts.ts";
import { type AlertSink, logAlert, raisedNow } from "../kernel/alert-sink.ts";
import { type DataFolder, isLow, roomAt, roomText } from "../kernel/disk-room.ts";
import type { Logger } from "../kernel/log.ts";

interface DiskWatchParts {
  readonly folders: readonly DataFolder[];
  readonly sink: AlertSink;
  /** The control service's own cell. */
  readonly cell: string;
  readonly log: Logger;
}

/** Looks once. Rejects when the sink does not answer: its database may be on the same disk, so the log has the alert too. */
export async function watchDisks({ folders, sink, cell, log }: DiskWatchParts, nowMs: number): Promise<void> {
  const rooms = await Promise.all(folders.map(async ({ path, variable }) => ({ variable, room: await roomAt(path) })));
  const low = rooms.flatMap(({ variable, room }) =>
    room !== null && isLow(room) ? [`${variable} has ${roomText(room)} free`] : [],
  );
  if (low.length === 0) return;
  const machine = hostname();
  const detail = `on ${machine}, the disk of ${low.join(", that of ")}`;
  const alert = raisedNow(issueOf("disk_low", detail, `:${machine}`), nowMs, cell);
  try {
    await sink.take([alert]);
  } catch (error) {
    logAlert(log, alert);
    throw error;
  }
}
