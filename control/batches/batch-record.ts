/** Batches as the Management API shows them, and ids as clients know them. */
import { sql } from "drizzle-orm";
import { type Batch, type BatchFault, batchSchema } from "../../shared/schema/batch.ts";
import { tenants } from "../db/schema/tenancy.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";
import { UUID } from "../kernel/parse.ts";
import { type BatchRow, batches, files } from "./tables.ts";

type IdKind = "file" | "batch";

const MARKS = { file: "file-", batch: "batch_" } as const satisfies Record<IdKind, string>;

/** The id of a row as clients know it. */
export const publicId = (kind: IdKind, id: string): string => `${MARKS[kind]}${id.replaceAll("-", "")}`;

/** The id of a row by what clients know; null: it is none. */
export function rowIdOf(kind: IdKind, given: string): string | null {
  if (!given.startsWith(MARKS[kind])) return null;
  const digits = given.slice(MARKS[kind].length);
  const id = digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return digits.length === 32 && UUID.test(id) ? id.toLowerCase() : null;
}

/** What batches are called, by subqueries for each row of a page. */
export const batchNames = {
  tenant_name: sql<string>`(SELECT ${tenants.name} FROM ${tenants} WHERE ${tenants.id} = ${batches.tenant_id})`,
  input_filename: sql<
    string | null
  >`(SELECT ${files.filename} FROM ${files} WHERE ${files.id} = ${batches.input_file_id})`,
};

/** Why its file was refused; before, they say only how often it was begun to be read. */
export const faultsOf = ({ status, errors }: BatchRow): readonly BatchFault[] => (status === "failed" ? errors : []);

/** Its files as clients know them: they are not whole before it has ended. */
export const resultFilesOf = (row: BatchRow) => ({
  output_file_id: row.ended_at && row.output_file_id && publicId("file", row.output_file_id),
  error_file_id: row.ended_at && row.error_file_id && publicId("file", row.error_file_id),
});

export function batchRecord(row: BatchRow & Pick<Batch, keyof typeof batchNames>): Batch {
  const files = resultFilesOf(row);
  const own = {
    ...files,
    errors: row.lines_failed > 0 ? row.errors : faultsOf(row),
    batch_id: publicId("batch", row.id),
  };
  return batchSchema.parse({ ...withIsoTimes(row), ...own });
}
