/**
 * Which replica runs a background job (docs/rules/jobs.md#one-replica-at-a-time).
 */
import { pgTable, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/** One lease: only `holder` runs the job until `until`, by the database's clock. */
export const jobs = pgTable("jobs", {
  name: text("name").primaryKey(),
  holder: text("holder").notNull(),
  until: instant("until").notNull(),
});
