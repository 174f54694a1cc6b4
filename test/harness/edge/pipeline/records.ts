/**
 * Hot copies for tests of the pipeline: a key whose tenant may do everything, and a model without an upstream of its
 * own.
 */

import { type Authenticated, NOTHING_KNOWN, StageFailure } from "../../../../edge/pipeline/call/known.ts";
import type {
  McpServerRecord,
  ModelRecord,
  ResolvedKey,
  ResolvedTenant,
  SettingsRecord,
} from "../../../../shared/records.ts";
import { modelNamed } from "../auto-route-models.ts";

const budget = { tokens: null, cost_usd: null, period: null, started_at_ms: null };

export function tenantOf(changes: Partial<ResolvedTenant> = {}): ResolvedTenant {
  return {
    id: "00000000-0000-4000-8000-00000000000a",
    name: "acme",
    status: "active",
    timezone: "UTC",
    weight: 1,
    tokens_per_minute: 0,
    requests_per_minute: 0,
    max_in_flight: null,
    fairshare_group: "default",
    group_weight: 1,
    active_from_ms: null,
    active_until_ms: null,
    weekly_windows: [],
    allowed_models: null,
    budget,
    end_user_budget: budget,
    guardrails_policy: null,
    compression_policy: null,
    tracing_enabled: false,
    capture_until_ms: null,
    synthetic: false,
    rev: 1,
    group_rev: 1,
    ...changes,
  };
}

export function keyOf(changes: Partial<ResolvedKey> = {}): ResolvedKey {
  return {
    v: 1,
    key_hash: "hash",
    key_id: "00000000-0000-4000-8000-00000000000b",
    key_name: "key",
    key_prefix: "sk_ab",
    disabled: false,
    tracing_enabled: false,
    expires_at_ms: null,
    allowed_models: null,
    secret_until_ms: null,
    tokens_per_minute: 0,
    requests_per_minute: 0,
    budget,
    tenant: tenantOf(),
    rev: 1,
    ...changes,
  };
}

/** What is known of a request whose caller is {@link keyOf}. */
export function callerOf(): Authenticated {
  return { ...NOTHING_KNOWN, principal: { key: keyOf(), tenant: tenantOf() } };
}

/** The code of the error that a step failed with, otherwise its name. */
export function refusalOf(thrown: unknown): string {
  const error = (thrown instanceof StageFailure ? thrown.cause : thrown) as { code?: string; name: string };
  return error.code ?? error.name;
}

/** An enabled, healthy chat model at a price of one dollar per token, in and out, that does not see. */
export function modelOf(changes: Partial<ModelRecord> = {}): ModelRecord {
  const { prices, supports } = modelNamed("tiny");
  return modelNamed("tiny", {
    upstream_model: "tiny-upstream",
    prices: { ...prices, input: 1, output: 1 },
    context_window: 8192,
    supports: { ...supports, vision: false },
    health_status: "healthy",
    ...changes,
  });
}

/** An enabled MCP server that wants no credential. */
export function mcpServerOf(changes: Partial<McpServerRecord> = {}): McpServerRecord {
  return {
    v: 1,
    id: "00000000-0000-4000-8000-00000000000d",
    name: "tools",
    upstream_url: "http://mcp.test/mcp",
    auth_header: null,
    enabled: true,
    rev: 1,
    ...changes,
  };
}

export function settingsOf(value: unknown): SettingsRecord {
  return { v: 1, value, rev: 1 };
}
