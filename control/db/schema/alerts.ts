/**
 * What is known of operational alerts over all replicas (docs/rules/alerts.md#cooldown-and-repeats). Times are epoch
 * milliseconds.
 */
import { bigint, bigserial, pgTable, text } from "drizzle-orm/pg-core";

/** One issue: how many times it was raised since its last message, and when that was. */
export const alertIssues = pgTable("alert_issues", {
  issue_key: text("issue_key").primaryKey(),
  title: text("title").notNull(),
  /** Of the last time it was raised. */
  detail: text("detail").notNull(),
  /** Times that no message stands for yet. */
  waiting: bigint("waiting", { mode: "number" }).notNull().default(0),
  /** Order of messages: drawn when an issue begins to wait. */
  place: bigserial("place", { mode: "number" }).notNull(),
  told_at_ms: bigint("told_at_ms", { mode: "number" }),
  /** A replica is sending its message until then, unless it died. */
  claimed_until_ms: bigint("claimed_until_ms", { mode: "number" }),
});

/** How far the alerts of a cell were taken: the storage that numbers them, and the last number. */
export const alertSources = pgTable("alert_sources", {
  cell: text("cell").primaryKey(),
  ledger: text("ledger").notNull(),
  through: bigint("through", { mode: "number" }).notNull(),
});
