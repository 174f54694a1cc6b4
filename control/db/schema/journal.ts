/**
 * What every write leaves behind: audit, outbox, idempotent answers (decisions §33).
 */
import {
  bigint,
  bigserial,
  customType,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";

const bytea = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => "bytea" });

export const auditLog = pgTable("audit_log", {
  id: bigserial("id", { mode: "number" }).primaryKey(),
  ts: timestamp("ts", { withTimezone: true }).notNull().defaultNow(),
  actor: text("actor").notNull(),
  action: text("action").notNull(),
  entity_type: text("entity_type").notNull(),
  entity_id: text("entity_id").notNull(),
  detail: jsonb("detail").$type<unknown>().notNull(),
});

/** `invalidation`: JSON array of RevItem. `hot_key` empty: nothing to write, cells to tell only. */
export const outbox = pgTable("outbox", {
  id: bigserial("id", { mode: "number" }).primaryKey(),
  hot_key: text("hot_key").notNull(),
  payload: jsonb("payload").$type<unknown>(),
  rev: bigint("rev", { mode: "number" }).notNull(),
  invalidation: text("invalidation").notNull(),
  attempts: integer("attempts").notNull().default(0),
  next_attempt_at: timestamp("next_attempt_at", { withTimezone: true }).notNull().defaultNow(),
  done_at: timestamp("done_at", { withTimezone: true }),
  last_error: text("last_error"),
  created_at: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
});

/** Alerts that a transaction has raised, until the sink has them. */
export const alertOutbox = pgTable("alert_outbox", {
  seq: bigserial("seq", { mode: "number" }).primaryKey(),
  event: jsonb("event").$type<unknown>().notNull(),
  claimed_until: timestamp("claimed_until", { withTimezone: true }),
  created_at: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
});

export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    key_hash: text("key_hash").notNull(),
    scope: text("scope").notNull(),
    body_hash: text("body_hash").notNull(),
    status: integer("status"),
    answer: bytea("answer"),
    expires_at: timestamp("expires_at", { withTimezone: true }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.scope, table.key_hash] })],
);

export type OutboxRow = typeof outbox.$inferSelect;
