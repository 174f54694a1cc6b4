/** The fields of an API key (docs/rules/keys.md#fields). No record shows a hash. */
import * as z from "zod";
import { BUDGET_FIELDS, ID_FIELD, RATE_FIELDS, shownTime, TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";

/** Who can change a key: an admin or a `user` of its tenant, or the gateway itself. */
export const ACTOR_ROLES = ["admin", "user", "system"] as const;

export const KEY_FIELDS = {
  key_hash: { column: "text", unique: true, value: z.string(), record: false, hot: true },
  /** Which pepper `key_hash` was made with (`pepperId`); null: unknown, or the key of an identity. */
  key_pepper: { column: "text", value: z.string().nullable(), record: false },
  id: { ...ID_FIELD, hot: { key_id: z.string() } },
  tenant_id: { column: "uuid", value: z.string() },
  name: { column: "text", value: z.string(), hot: { key_name: z.string() } },
  description: { column: "text", value: z.string() },
  key_prefix: { column: "text", value: z.string(), hot: true },
  disabled: { column: "boolean", value: z.boolean(), hot: true },
  /** Who disabled the key last; null while it is not disabled, or if that is unknown. */
  disabled_by: { column: "text", value: z.enum(ACTOR_ROLES).nullable() },
  /** The limits that an admin has set; null: it is unknown who set the key's limits. */
  admin_limits: { column: "json", value: z.record(z.string(), z.unknown()).nullable(), record: false },
  tracing_enabled: { column: "boolean", value: z.boolean(), hot: true },
  expires_at: {
    column: "instant",
    value: shownTime.nullable(),
    hot: { expires_at_ms: z.number().int().nullable().default(null) },
  },
  allowed_models: {
    column: "json",
    value: z.array(z.string()).nullable(),
    hot: { allowed_models: z.array(z.string()).nullable().default(null) },
  },
  /** The hash of the secret before the last rotation; a copy of the key is stored under it too. */
  previous_key_hash: { column: "text", unique: true, value: z.string().nullable(), record: false },
  previous_key_pepper: { column: "text", value: z.string().nullable(), record: false },
  /** Until when that secret is admitted. Only the copy under its hash has the time; the copy under `key_hash` has null. */
  previous_secret_until: {
    column: "instant",
    value: shownTime.nullable(),
    hot: { secret_until_ms: z.number().int().nullable().default(null) },
  },
  ...RATE_FIELDS,
  ...BUDGET_FIELDS,
  ...TIME_FIELDS,
} as const satisfies FieldTable;
