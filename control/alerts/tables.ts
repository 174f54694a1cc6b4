/**
 * What all replicas together know of operational alerts (docs/rules/alerts.md#cooldown-and-repeats). Times are epoch
 * milliseconds.
 */
import { bigint, bigserial, boolean, pgTable, primaryKey, text } from "drizzle-orm/pg-core";

/** One issue on one channel: how many times it was raised since its last message there, and when that was. */
export const alertIssues = pgTable(
  "alert_issues",
  {
    channel: text("channel").notNull(),
    issue_key: text("issue_key").notNull(),
    title: text("title").notNull(),
    /** From the last time that the issue was raised. */
    detail: text("detail").notNull(),
    /** How many times it was raised that no message has counted yet. */
    waiting: bigint("waiting", { mode: "number" }).notNull().default(0),
    /** The order of messages: a number from a sequence, taken when an issue begins to wait. */
    place: bigserial("place", { mode: "number" }).notNull(),
    told_at_ms: bigint("told_at_ms", { mode: "number" }),
    /** Until then a replica is sending the issue's message, unless the replica has died. */
    claimed_until_ms: bigint("claimed_until_ms", { mode: "number" }),
  },
  ({ channel, issue_key }) => [primaryKey({ columns: [channel, issue_key] })],
);

/** How the messages of a channel went (docs/rules/alerts.md#channels). */
export const alertDeliveries = pgTable("alert_deliveries", {
  channel: text("channel").primaryKey(),
  /** The last one. */
  at_ms: bigint("at_ms", { mode: "number" }).notNull(),
  ok: boolean("ok").notNull(),
  detail: text("detail").notNull(),
  sent: bigint("sent", { mode: "number" }).notNull(),
  failed: bigint("failed", { mode: "number" }).notNull(),
});

/** How far the alerts of a cell were taken: the storage that numbers the alerts, and the last number. */
export const alertSources = pgTable("alert_sources", {
  cell: text("cell").primaryKey(),
  ledger: text("ledger").notNull(),
  through: bigint("through", { mode: "number" }).notNull(),
});

/** What was raised, one row for each issue and time between two messages (docs/rules/alerts.md#reading-alerts). */
export const alertLog = pgTable("alert_log", {
  id: bigserial("id", { mode: "number" }).primaryKey(),
  issue_key: text("issue_key").notNull(),
  title: text("title").notNull(),
  /** From the last time that the issue was raised. */
  detail: text("detail").notNull(),
  began_at_ms: bigint("began_at_ms", { mode: "number" }).notNull(),
  last_at_ms: bigint("last_at_ms", { mode: "number" }).notNull(),
  /** How many times it was raised within this row. */
  times: bigint("times", { mode: "number" }).notNull(),
  /** Since when it has been raised again and again without a pause, this row and those before it together. */
  firing_since_ms: bigint("firing_since_ms", { mode: "number" }).notNull(),
  firing_times: bigint("firing_times", { mode: "number" }).notNull(),
});

/** What people have said of an issue (docs/rules/alerts.md#acknowledged-and-muted). */
export const alertMarks = pgTable("alert_marks", {
  issue_key: text("issue_key").primaryKey(),
  acknowledged_at_ms: bigint("acknowledged_at_ms", { mode: "number" }),
  acknowledged_by: text("acknowledged_by"),
  muted_until_ms: bigint("muted_until_ms", { mode: "number" }),
  muted_by: text("muted_by"),
  rev: bigint("rev", { mode: "number" }).notNull(),
});

/** Failures of upstreams that may become alerts (docs/rules/alerts.md#failures-of-upstreams). */
export const alertFailures = pgTable("alert_failures", {
  id: bigserial("id", { mode: "number" }).primaryKey(),
  issue_key: text("issue_key").notNull(),
  title: text("title").notNull(),
  detail: text("detail").notNull(),
  cell: text("cell").notNull(),
  at_ms: bigint("at_ms", { mode: "number" }).notNull(),
  times: bigint("times", { mode: "number" }).notNull(),
  /** Whether they are counted in an alert. */
  raised: boolean("raised").notNull().default(false),
  /** Whether they were compared with the requests of their minute. */
  evaluated: boolean("judged").notNull().default(false),
});
