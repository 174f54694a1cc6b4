/** Files and batches as OpenAI's clients know them (docs/rules/batches.md#routes). */
import { faultsOf, publicId, resultFilesOf } from "./batch-record.ts";
import type { BatchRow, FileRow } from "./tables.ts";

const secs = (time: Date): number => Math.floor(time.getTime() / 1000);
const secsOrNull = (time: Date | null): number | null => time && secs(time);

export function fileForm(row: FileRow) {
  return {
    id: publicId("file", row.id),
    object: "file",
    bytes: row.bytes,
    created_at: secs(row.created_at),
    ...(row.expires_at === null ? {} : { expires_at: secs(row.expires_at) }),
    filename: row.filename,
    purpose: row.purpose,
    status: "processed",
  };
}

export function batchForm(row: BatchRow) {
  const faults = faultsOf(row);
  const endedAs = (status: BatchRow["status"]): number | null =>
    row.status === status ? secsOrNull(row.ended_at) : null;
  return {
    id: publicId("batch", row.id),
    object: "batch",
    endpoint: row.endpoint,
    errors: faults.length === 0 ? null : { object: "list", data: faults },
    input_file_id: publicId("file", row.input_file_id),
    completion_window: "24h",
    status: row.status,
    ...resultFilesOf(row),
    created_at: secs(row.created_at),
    in_progress_at: secsOrNull(row.in_progress_at),
    expires_at: secs(row.expires_at),
    finalizing_at: secsOrNull(row.finalizing_at),
    completed_at: endedAs("completed"),
    failed_at: endedAs("failed"),
    expired_at: endedAs("expired"),
    cancelling_at: secsOrNull(row.cancelling_at),
    cancelled_at: endedAs("cancelled"),
    request_counts: { total: row.lines_total, completed: row.lines_completed, failed: row.lines_failed },
    metadata: row.metadata,
  };
}
