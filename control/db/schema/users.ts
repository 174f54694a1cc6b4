/**
 * People who sign in to the console, what they may see, and their sessions
 * (docs/rules/storage-layouts.md#relational-tables).
 */
import { sql } from "drizzle-orm";
import { jsonb, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import type { TenantRole, UserRole, WideRole } from "../../../shared/fields/roles.ts";
import { USER_FIELDS } from "../../../shared/fields/user-fields.ts";
import { fieldColumns, idColumn, instant, NOW, revColumn, timeColumns } from "./columns.ts";

export const users = pgTable("dashboard_users", {
  ...fieldColumns(USER_FIELDS),
  role: text("role").$type<UserRole>().notNull(),
  group_role: text("group_role").$type<WideRole>(),
  ...idColumn,
  ...timeColumns,
  // no cell knows users, so a sign-in draws a revision without the lock of a write
  rev: revColumn.rev.default(sql`nextval('config_rev')`),
});

/** Further tenants of a person than the one in the person's row: set by an admin, or given by the groups of the provider. */
export const userTenants = pgTable(
  "dashboard_user_tenants",
  {
    user_id: uuid("user_id").notNull(),
    tenant_id: uuid("tenant_id").notNull(),
    source: text("source").$type<"admin" | "group">().notNull(),
    role: text("role").$type<TenantRole>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.user_id, table.tenant_id, table.source] })],
);

/** A session is found by the hash of its token, which only the browser has. */
export const sessions = pgTable("dashboard_sessions", {
  token_hash: text("token_hash").primaryKey(),
  user_id: uuid("user_id").notNull(),
  expires_at: instant("expires_at").notNull(),
  created_at: instant("created_at").notNull().default(NOW),
  /** Names the session to people; it lets nobody in. */
  id: uuid("id").notNull().default(sql`gen_random_uuid()`),
  /** The tenant that was chosen in it, of a person with several. */
  tenant_id: uuid("tenant_id"),
  last_seen_at: instant("last_seen_at").notNull().default(NOW),
  /** From where it began, shortened. */
  address: text("address").notNull().default(""),
  /** The browser and its system, in short. */
  agent: text("agent").notNull().default(""),
});

/** For whom the console has made a key. The person can be gone: the key then ends (docs/rules/console.md#relay). */
export const consoleKeys = pgTable("dashboard_keys", {
  key_id: uuid("key_id").primaryKey(),
  user_id: uuid("user_id").notNull(),
});

/** Who may sign in without waiting for approval (docs/rules/users.md#invitations). */
export const invitations = pgTable("dashboard_invitations", {
  ...idColumn,
  email: text("email").notNull(),
  role: text("role").$type<UserRole>().notNull(),
  tenant_ids: jsonb("tenant_ids").$type<readonly string[]>().notNull(),
  invited_by: text("invited_by").notNull(),
  expires_at: instant("expires_at").notNull(),
  created_at: instant("created_at").notNull().default(NOW),
});

/** What a group of a provider gives to who is in it (docs/rules/users.md#groups). */
export const groupGrants = pgTable("dashboard_group_grants", {
  ...idColumn,
  provider: text("provider").notNull(),
  group_name: text("group_name").notNull(),
  role: text("role").$type<UserRole>().notNull(),
  tenant_id: uuid("tenant_id"),
  created_at: instant("created_at").notNull().default(NOW),
});

export type UserRow = typeof users.$inferSelect;
