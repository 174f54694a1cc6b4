/**
 * Which replica runs a background job (design §8).
 */
import { pgTable, text, timestamp } from "drizzle-orm/pg-core";

/** One lease: `holder` alone runs the job until `until`, by the database's clock. */
export const jobs = pgTable("jobs", {
  name: text("name").primaryKey(),
  holder: text("holder").notNull(),
  until: timestamp("until", { withTimezone: true }).notNull(),
});
