/**
 * The resolved hot copies that the control service writes to the key-value store and the data plane reads (decisions
 * §32): their shapes, their `rev` and their key names. A copy with an older `rev` never replaces a newer one.
 */
import * as z from "zod";

const budgetSchema = z.object({
  tokens: z.number().int().nullable(),
  cost_usd: z.number().nullable(),
  period: z.enum(["lifetime", "monthly", "term"]).nullable(),
  started_at_ms: z.number().int().nullable(),
});

export const guardrailsPolicySchema = z.object({
  action: z.enum(["block", "redact", "log_only"]),
  input_scanners: z.array(z.enum(["prompt_injection", "pii", "ban_keywords", "harm"])),
  output_scanners: z.array(z.enum(["pii", "ban_keywords", "harm"])),
  guard_model: z.string().nullable(),
  ban_keywords: z.array(z.string()),
  fail_open: z.boolean(),
});

export const compressionPolicySchema = z.object({
  enabled: z.boolean(),
  code_compaction: z.boolean(),
  dedup: z.boolean(),
  allow_lossy: z.boolean(),
});

const weeklyWindowSchema = z.object({
  /** 0 = Sunday. */
  day: z.number().int(),
  start_min: z.number().int(),
  end_min: z.number().int(),
});

export const resolvedTenantSchema = z.object({
  id: z.string(),
  name: z.string(),
  status: z.enum(["active", "suspended", "archived"]),
  timezone: z.string(),
  weight: z.number().int(),
  tokens_per_minute: z.number().int(),
  max_in_flight: z.number().int().nullable(),
  fairshare_group: z.string(),
  group_weight: z.number().int(),
  active_from_ms: z.number().int().nullable(),
  active_until_ms: z.number().int().nullable(),
  weekly_windows: z.array(weeklyWindowSchema),
  allowed_models: z.array(z.string()).nullable(),
  budget: budgetSchema,
  guardrails_policy: guardrailsPolicySchema.nullable(),
  compression_policy: compressionPolicySchema.nullable(),
  tracing_enabled: z.boolean(),
  synthetic: z.boolean(),
  /** Revision of the tenant's row. */
  rev: z.number().int(),
  /** Revision of its fairshare group's row. */
  group_rev: z.number().int(),
});

/** `key:{key_hash}` (decisions §32.2). `tenant` null means 403 `tenant not found`. */
export const resolvedKeySchema = z.object({
  v: z.literal(1),
  key_hash: z.string(),
  key_id: z.string(),
  key_name: z.string(),
  key_prefix: z.string(),
  disabled: z.boolean(),
  tracing_enabled: z.boolean(),
  budget: budgetSchema,
  tenant: resolvedTenantSchema.nullable(),
  /** Revision of the key's own row; tenant and group carry theirs. */
  rev: z.number().int(),
});

export const resolvedEndpointSchema = z.object({
  id: z.string(),
  name: z.string(),
  api_base: z.string(),
  /** As stored: ciphertext when an encryption key is set. */
  api_key: z.string().nullable(),
  priority: z.number().int(),
  weight: z.number().int(),
  enabled: z.boolean(),
  health_status: z.string(),
});

/** `model:{model_name}` (decisions §32.3). Prices in USD per token, image, character, audio second. */
export const modelRecordSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  model_name: z.string(),
  model_type: z.enum(["chat", "embedding", "audio_transcription", "audio_speech", "image"]),
  enabled: z.boolean(),
  upstream_model: z.string(),
  api_base: z.string(),
  api_key: z.string().nullable(),
  prices: z.object({
    input: z.number(),
    output: z.number(),
    image: z.number(),
    character: z.number(),
    audio_second: z.number(),
  }),
  context_window: z.number().int(),
  admission_weight: z.number().int(),
  max_in_flight: z.number().int().nullable(),
  supports: z.object({
    function_calling: z.boolean(),
    system_messages: z.boolean(),
    response_schema: z.boolean(),
    tool_choice: z.boolean(),
    vision: z.boolean(),
  }),
  tags: z.array(z.string()),
  boons: z.array(z.string()),
  tool_servers: z.array(z.string()),
  energy_slots_per_node: z.number().int(),
  cache_enabled: z.boolean(),
  cache_ttl_secs: z.number().int(),
  request_timeout_secs: z.number().int().nullable(),
  max_retries: z.number().int(),
  retry_backoff_ms: z.number().int(),
  endpoint_selection_mode: z.enum(["failover", "load_balance", "session_hash"]),
  debug_diagnostics: z.boolean(),
  health_status: z.string(),
  maintenance_until_ms: z.number().int().nullable(),
  created_at_ms: z.number().int(),
  endpoints: z.array(resolvedEndpointSchema),
  rev: z.number().int(),
});

/** `mcp:{name}` (decisions §32.3). */
export const mcpServerRecordSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  name: z.string(),
  upstream_url: z.string(),
  /** The complete Authorization value as stored: ciphertext when an encryption key is set. Null: none is sent. */
  auth_header: z.string().nullable(),
  enabled: z.boolean(),
  rev: z.number().int(),
});

/** Settings that the data plane reads; all others stay in the control service (decisions §32.1). */
export const HOT_SETTINGS = ["boons", "auto_router", "energy"] as const;
export type HotSetting = (typeof HOT_SETTINGS)[number];

/** `settings:{name}` (decisions §32.1); `value` as stored in app_settings, whose schema is its reader's. */
export const settingsRecordSchema = z.object({
  v: z.literal(1),
  value: z.unknown(),
  rev: z.number().int(),
});

export type ResolvedKey = z.infer<typeof resolvedKeySchema>;
export type ResolvedTenant = z.infer<typeof resolvedTenantSchema>;
export type ModelRecord = z.infer<typeof modelRecordSchema>;
export type ResolvedEndpoint = z.infer<typeof resolvedEndpointSchema>;
export type McpServerRecord = z.infer<typeof mcpServerRecordSchema>;
export type SettingsRecord = z.infer<typeof settingsRecordSchema>;
export type ResolvedBudget = z.infer<typeof budgetSchema>;

/** Names in the key-value store (decisions §32.1). */
export const storeKeys = {
  key: (keyHash: string): string => `key:${keyHash}`,
  model: (modelName: string): string => `model:${modelName}`,
  modelsIndex: "models:index",
  mcp: (name: string): string => `mcp:${name}`,
  /** `digest`: SHA-256 of a session id, hex; its value is the id of the tenant whose session it is (decisions §43.5). */
  mcpSession: (server: string, digest: string): string => `mcps:${server}:${digest}`,
  settings: (name: HotSetting): string => `settings:${name}`,
  cache: (tenantId: string, digest: string): string => `cache:${tenantId}:${digest}`,
  cells: "cells",
  energyReading: "energy:reading",
  provisionerHeartbeat: "provisioner:heartbeat",
  invalidateChannel: "gateway:invalidate",
} as const;

/** One row of the hash `cells` (decisions §32.1). */
export const cellSeenSchema = z.object({
  in_flight: z.number().int(),
  queued: z.number().int(),
  max_in_flight: z.number().int(),
  last_seen_ms: z.number().int(),
});
export type CellSeen = z.infer<typeof cellSeenSchema>;
