/**
 * Which replica runs a background job (design §8).
 */
import { pgTable, text } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/** One lease: `holder` alone runs the job until `until`, by the database's clock. */
export const jobs = pgTable("jobs", {
  name: text("name").primaryKey(),
  holder: text("holder").notNull(),
  until: instant("until").notNull(),
});
