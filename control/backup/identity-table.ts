/** Which gateway this database belongs to (docs/rules/backup.md#whose). */
import { boolean, pgTable, text } from "drizzle-orm/pg-core";
import { instant, NOW } from "../db/schema/columns.ts";

/** One row. No backup contains it: another gateway has an identity of its own. */
export const gatewayIdentity = pgTable("gateway_identity", {
  singleton: boolean("singleton").primaryKey().default(true),
  /** Random: 12 hexadecimal digits. */
  id: text("id").notNull(),
  /** The database for which it was made; in a copy of it that names another one. */
  made_on: text("made_on").notNull(),
  created_at: instant("created_at").notNull().default(NOW),
});
