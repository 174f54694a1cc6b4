/** Files of tenants, and the batches that are made of them (docs/rules/batches.md). */
import { bigint, boolean, customType, integer, jsonb, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import type { BatchFault, BatchStatus, FilePurpose } from "../../shared/schema/batch.ts";
import { idColumn, instant, NOW, timeColumns } from "../db/schema/columns.ts";

const bytea = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });

export const files = pgTable("files", {
  ...idColumn,
  tenant_id: uuid("tenant_id").notNull(),
  purpose: text("purpose").$type<FilePurpose>().notNull(),
  filename: text("filename").notNull(),
  bytes: bigint("bytes", { mode: "number" }).notNull().default(0),
  /** False while it is uploaded: nobody sees it, and its bytes count. */
  complete: boolean("complete").notNull().default(false),
  /** The batch, of the answer to one of its lines: it counts for no number of files. */
  answer_of: uuid("answer_of"),
  /** Null: it stays until it is deleted. */
  expires_at: instant("expires_at"),
  created_at: instant("created_at").notNull().default(NOW),
});

export const filePieces = pgTable(
  "file_pieces",
  {
    file_id: uuid("file_id").notNull(),
    n: integer("n").notNull(),
    bytes: bytea("bytes").notNull(),
  },
  (table) => [primaryKey({ columns: [table.file_id, table.n] })],
);

export const batches = pgTable("batches", {
  ...idColumn,
  tenant_id: uuid("tenant_id").notNull(),
  /** The key that made it, as which its lines run. */
  key_id: uuid("key_id").notNull(),
  endpoint: text("endpoint").notNull(),
  input_file_id: uuid("input_file_id").notNull(),
  output_file_id: uuid("output_file_id"),
  error_file_id: uuid("error_file_id"),
  status: text("status").$type<BatchStatus>().notNull(),
  metadata: jsonb("metadata").$type<Readonly<Record<string, string>>>(),
  /** Why its file was refused, or the first of its lines that failed. */
  errors: jsonb("errors").$type<readonly BatchFault[]>().notNull().default([]),
  lines_total: integer("lines_total").notNull().default(0),
  lines_completed: integer("lines_completed").notNull().default(0),
  lines_failed: integer("lines_failed").notNull().default(0),
  expires_at: instant("expires_at").notNull(),
  in_progress_at: instant("in_progress_at"),
  finalizing_at: instant("finalizing_at"),
  cancelling_at: instant("cancelling_at"),
  /** When it was completed, failed, expired or cancelled. */
  ended_at: instant("ended_at"),
  ...timeColumns,
});

export const batchLines = pgTable(
  "batch_lines",
  {
    batch_id: uuid("batch_id").notNull(),
    n: integer("n").notNull(),
    custom_id: text("custom_id").notNull(),
    model: text("model").notNull(),
    body: text("body").notNull(),
    state: text("state").$type<"waiting" | "sent" | "completed" | "failed">().notNull().default("waiting"),
    /** How often it was sent. */
    tries: integer("tries").notNull().default(0),
    /** Its newest request. */
    request_id: uuid("request_id"),
    cell: text("cell").notNull().default(""),
    status: integer("status"),
    /** Null in a line that has ended: it is in a file. */
    answer: text("answer"),
    answer_file_id: uuid("answer_file_id"),
  },
  (table) => [primaryKey({ columns: [table.batch_id, table.n] })],
);

export type FileRow = typeof files.$inferSelect;
export type BatchRow = typeof batches.$inferSelect;
