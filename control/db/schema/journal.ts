/**
 * What every write stores in addition to the change: audit entries, outbox rows, idempotent answers
 * (docs/rules/storage-layouts.md#relational-tables).
 */
import { bigint, bigserial, customType, integer, jsonb, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { instant, NOW } from "./columns.ts";

const bytea = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => "bytea" });

export const auditLog = pgTable("audit_log", {
  id: bigserial("id", { mode: "number" }).primaryKey(),
  ts: instant("ts").notNull().default(NOW),
  actor: text("actor").notNull(),
  address: text("address").notNull().default(""),
  action: text("action").notNull(),
  entity_type: text("entity_type").notNull(),
  entity_id: text("entity_id").notNull(),
  detail: jsonb("detail").$type<unknown>().notNull(),
});

/**
 * `invalidation`: a JSON array of RevItem. An empty `hot_key` means that nothing is written and only the cells get the
 * items.
 */
export const outbox = pgTable("outbox", {
  id: bigserial("id", { mode: "number" }).primaryKey(),
  hot_key: text("hot_key").notNull(),
  payload: jsonb("payload").$type<unknown>(),
  rev: bigint("rev", { mode: "number" }).notNull(),
  invalidation: text("invalidation").notNull(),
  attempts: integer("attempts").notNull().default(0),
  next_attempt_at: instant("next_attempt_at").notNull().default(NOW),
  done_at: instant("done_at"),
  last_error: text("last_error"),
  created_at: instant("created_at").notNull().default(NOW),
});

/** Alerts that a transaction has raised, until the sink has taken them. */
export const alertOutbox = pgTable("alert_outbox", {
  seq: bigserial("seq", { mode: "number" }).primaryKey(),
  event: jsonb("event").$type<unknown>().notNull(),
  claimed_until: instant("claimed_until"),
  created_at: instant("created_at").notNull().default(NOW),
});

export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    key_hash: text("key_hash").notNull(),
    scope: text("scope").notNull(),
    body_hash: text("body_hash").notNull(),
    status: integer("status"),
    answer: bytea("answer"),
    expires_at: instant("expires_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.scope, table.key_hash] })],
);

export type OutboxRow = typeof outbox.$inferSelect;
