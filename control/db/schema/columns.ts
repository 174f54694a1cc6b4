/**
 * Columns that every table shares (decisions §33).
 */
import { sql } from "drizzle-orm";
import { bigint, timestamp, uuid } from "drizzle-orm/pg-core";

export const idColumn = { id: uuid("id").primaryKey().default(sql`gen_random_uuid()`) };

export const timeColumns = {
  created_at: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
  updated_at: timestamp("updated_at", { withTimezone: true }).notNull().defaultNow(),
};

/** Revision from the sequence `config_rev`; set by every write. */
export const revColumn = { rev: bigint("rev", { mode: "number" }).notNull() };
