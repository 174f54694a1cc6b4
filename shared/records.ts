/**
 * The hot copies that the control service writes to the key-value store and the data plane reads
 * (docs/rules/storage-layouts.md#key-value-keys): their shapes, their `rev` and their key names. A copy with an older `rev`
 * never replaces a newer one.
 */
import * as z from "zod";
import type { resolvedBudgetSchema } from "./fields/common-fields.ts";
import { ENDPOINT_FIELDS } from "./fields/endpoint-fields.ts";
import { hotShape, movedAfter } from "./fields/field-table.ts";
import { KEY_FIELDS } from "./fields/key-fields.ts";
import { MCP_SERVER_FIELDS } from "./fields/mcp-server-fields.ts";
import { MODEL_FIELDS } from "./fields/model-fields.ts";
import { TENANT_FIELDS } from "./fields/tenant-fields.ts";

export const resolvedTenantSchema = z.object({
  ...movedAfter(hotShape(TENANT_FIELDS), "budget", "allowed_models"),
  /** The revision of the tenant's row. */
  rev: z.number().int(),
  /** The revision of its fairshare group's row. */
  group_rev: z.number().int(),
});

/** `key:{key_hash}` (docs/rules/storage-layouts.md#resolved-key). `tenant` null means 403 `tenant not found`. */
export const resolvedKeySchema = z.object({
  v: z.literal(1),
  ...hotShape(KEY_FIELDS),
  tenant: resolvedTenantSchema.nullable(),
  /** The revision of the key's own row; tenant and group carry their own. */
  rev: z.number().int(),
});

export const resolvedEndpointSchema = z.object(hotShape(ENDPOINT_FIELDS));

const ofModel = movedAfter(hotShape(MODEL_FIELDS), "enabled", "model_type");

/**
 * `model:{model_name}` (docs/rules/storage-layouts.md#models-and-mcp-servers). Prices are in USD per token, image,
 * character or second of audio.
 */
export const modelRecordSchema = z.object({
  v: z.literal(1),
  ...movedAfter(ofModel, "max_in_flight", "admission_weight"),
  endpoints: z.array(resolvedEndpointSchema),
  rev: z.number().int(),
});

/** `mcp:{name}` (docs/rules/storage-layouts.md#models-and-mcp-servers). */
export const mcpServerRecordSchema = z.object({
  v: z.literal(1),
  ...hotShape(MCP_SERVER_FIELDS),
  rev: z.number().int(),
});

/**
 * Settings that the data plane reads; only the control service reads the others
 * (docs/rules/storage-layouts.md#key-value-keys).
 */
export const HOT_SETTINGS = ["boons", "auto_router", "energy"] as const;
export type HotSetting = (typeof HOT_SETTINGS)[number];

/**
 * `settings:{name}` (docs/rules/storage-layouts.md#key-value-keys). `value` is the value in app_settings; its reader has the
 * schema.
 */
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
export type ResolvedBudget = z.infer<typeof resolvedBudgetSchema>;

/** Names in the key-value store (docs/rules/storage-layouts.md#key-value-keys). */
export const storeKeys = {
  key: (keyHash: string): string => `key:${keyHash}`,
  model: (modelName: string): string => `model:${modelName}`,
  modelsIndex: "models:index",
  mcp: (name: string): string => `mcp:${name}`,
  /**
   * `digest`: the SHA-256 of a session id, in hex. The value under this key is the id of the tenant that the session
   * belongs to (docs/rules/mcp.md#sessions).
   */
  mcpSession: (server: string, digest: string): string => `mcps:${server}:${digest}`,
  /** The names of the sessions that the tenant has, by their last use, epoch ms. */
  mcpSessionsOf: (tenantId: string): string => `mcps-of:${tenantId}`,
  /**
   * `digest`: the SHA-256 of an id, in hex. A hash with a field for each tenant that was given the id
   * (docs/rules/routes.md#objects-of-upstreams).
   */
  upstreamObject: (digest: string): string => `obj:${digest}`,
  /** The digests of the objects that the tenant was given, by when that was, epoch ms. */
  upstreamObjectsOf: (tenantId: string): string => `objs:${tenantId}`,
  settings: (name: HotSetting): string => `settings:${name}`,
  cache: (tenantId: string, digest: string): string => `cache:${tenantId}:${digest}`,
  /** The value is the text with this SHA-256, in hex (docs/rules/compression.md#deduplication). */
  original: (tenantId: string, sha256: string): string => `ref:${tenantId}:${sha256}`,
  /** A hash with the sealed captures of a tenant by {@link captureField} (docs/rules/capture.md#store). */
  captures: (tenantId: string): string => `tenant-captures:${tenantId}`,
  /** The answer of a line of a batch, by the id of its request (docs/rules/batches.md#exactly-once). */
  lineAnswer: (requestId: string): string => `line:${requestId}`,
  /** Present once the copies are complete; the rule is {@link readyFloorOf}. */
  ready: "ready",
  cells: "cells",
  energyReading: "energy:reading",
  provisionerHeartbeat: "provisioner:heartbeat",
  invalidateChannel: "gateway:invalidate",
} as const;

/**
 * The revision from which on a store's copies are complete, by its mark `ready`. Null: it was emptied, or is being filled, so a
 * missing copy may exist (docs/rules/freshness.md#a-store-that-was-emptied).
 */
export function readyFloorOf(mark: string | null | undefined): number | null {
  return mark != null && /^\d+$/.test(mark) ? Number(mark) : null;
}

/** One row of the hash `cells` (docs/rules/storage-layouts.md#key-value-keys). */
export const cellSeenSchema = z.object({
  in_flight: z.number().int(),
  queued: z.number().int(),
  max_in_flight: z.number().int(),
  last_seen_ms: z.number().int(),
});
export type CellSeen = z.infer<typeof cellSeenSchema>;

const CAPTURE_MS_DIGITS = 13;

/** The field of a capture: sorted as texts, the fields of a tenant are in the order of their times. */
export function captureField(atMs: number, requestId: string): string {
  return `${atMs}`.padStart(CAPTURE_MS_DIGITS, "0") + requestId;
}

/** When the capture of a field was taken, epoch ms. */
export function captureFieldMs(field: string): number {
  return Number(field.slice(0, CAPTURE_MS_DIGITS));
}
