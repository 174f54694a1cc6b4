/** A control service with at least one of every kind of configuration, made over the Management API. */
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { TestControl } from "./control.ts";

export interface FullConfiguration {
  readonly secret: string;
  /** Credentials as they were given. */
  readonly credentials: {
    readonly model: string;
    readonly endpoint: string;
    readonly mcp: string;
    readonly webhook: string;
  };
}

export async function fillConfiguration({ must: send }: Pick<TestControl, "must">): Promise<FullConfiguration> {
  const credentials = {
    model: "model-credential",
    endpoint: "endpoint-credential",
    mcp: "Bearer mcp-credential",
    webhook: "http://10.0.0.4/hook",
  };
  await send("POST", "/fairshare/groups", { name: "night shift", weight: 7 });
  const tenant = await send<{ id: string }>("POST", "/tenants", {
    name: "Full",
    description: "everything set",
    organization: "o",
    contact: "c",
    timezone: "Europe/Vienna",
    weight: 3,
    tokens_per_minute: 1000,
    requests_per_minute: 100,
    max_in_flight: 4,
    files_bytes: 1_000_000,
    fairshare_group: "night shift",
    synthetic: true,
  });
  const one = `/tenants/${tenant.id}`;
  await send("PATCH", `${one}/budget`, {
    budget_tokens: 5,
    budget_cost_usd: 0.25,
    budget_period: "monthly",
    end_user_budget_tokens: 2,
    end_user_budget_cost_usd: 0.125,
    end_user_budget_period: "term",
  });
  await send("PATCH", `${one}/schedule`, {
    active_from: "2026-01-01T00:00:00Z",
    active_until: "2096-01-01T00:00:00Z",
    weekly_windows: [{ day: 1, start_min: 0, end_min: 1440 }],
  });
  await send("PATCH", `${one}/allowlist`, { allowed_models: ["a", "b"] });
  await send("PATCH", `${one}/guardrails`, {
    policy: {
      action: "redact",
      input_scanners: ["pii", "harm", "prompt_injection"],
      output_scanners: ["ban_keywords"],
      guard_model: "full-model",
      ban_keywords: ["blue falcon", "(a+)+$"],
      fail_open: false,
      scan_assistant: true,
    },
  });
  await send("PATCH", `${one}/compression`, {
    policy: { enabled: true, code_compaction: true, dedup: true, allow_lossy: true },
  });
  await send("PUT", `${one}/tracing`, { tracing_enabled: true });
  await send("POST", "/tenants", { name: "Plain" });
  const before = await send<CreatedKey>("POST", `${one}/keys`, {
    tokens_per_minute: 500,
    requests_per_minute: 50,
    name: "k",
    description: "d",
    budget_tokens: 9,
    expires_at: "2096-01-01T00:00:00Z",
    allowed_models: ["a"],
  });
  const key = await send<CreatedKey>("POST", `/keys/${before.key.id}/rotate`, { grace_secs: 604_800 });
  await send("PUT", `/keys/${(await send<CreatedKey>("POST", `${one}/keys`, {})).key.id}/disabled`, { disabled: true });
  const model = await send<{ id: string }>("POST", "/models", {
    model_name: "full-model",
    api_base: "http://10.0.0.1/v1",
    api_key: credentials.model,
    api_dialect: "anthropic",
    responses_api: "translated",
    auth_scheme: "x-api-key",
    tags: ["fast"],
    boons: ["vision"],
    tool_servers: ["tools"],
    input_cost_per_token: 0.001,
    cached_input_cost_per_token: 0.0001,
    reasoning_output_cost_per_token: 0.002,
    cache_write_cost_per_token: 0.0011,
    audio_input_cost_per_token: 0.0012,
    audio_output_cost_per_token: 0.0013,
    image_input_cost_per_token: 0.0014,
    image_output_cost_per_token: 0.0015,
    input_cost_per_second: 0.0003,
    hidden_reasoning: true,
    batch_price_factor: 0.5,
    first_token_timeout_secs: 20,
    idle_timeout_secs: 30,
    stream_keepalive_secs: 15,
    fallback_models: ["plain-model"],
    fallback_on: ["failure", "context_length"],
    health: { check_interval_secs: 120, maintenance_note: "n", maintenance_until: "2096-01-01T00:00:00Z" },
  });
  await send("PUT", `/models/${model.id}/capacity`, { max_in_flight: 6 });
  await send("PUT", `/models/${model.id}/capacity-mode`, {
    capacity_mode: "adaptive",
    adaptive_min: 2,
    adaptive_max: 40,
  });
  await send("POST", `/models/${model.id}/endpoints`, {
    name: "north",
    api_base: "http://10.0.0.2/v1",
    api_key: credentials.endpoint,
    auth_scheme: "api-key",
    priority: 5,
    weight: 50,
  });
  await send("POST", "/models", { model_name: "plain-model" });
  await send("POST", "/mcp-servers", {
    name: "tools",
    upstream_url: "http://10.0.0.3/mcp",
    auth_header: credentials.mcp,
  });
  await send("PUT", "/settings/alerts", { slack_webhook_url: credentials.webhook, min_interval_secs: 60 });
  await send("PUT", "/settings/usage-retention", { days: 33 });
  await send("PUT", "/settings/boons", {
    vision_enabled: true,
    vision_fallback_model: "full-model",
    vision_max_images: 3,
    structured_output_enabled: true,
    structured_output_fixer_model: "plain-model",
    tool_loop_enabled: true,
    tool_loop_nudge: "Use the tools.",
    compression_enabled: true,
    compression_neural_keep_ratio: 0.25,
  });
  await send("PUT", "/settings/auto-router", { classifier_enabled: true, classifier_model: "plain-model" });
  return { secret: key.secret, credentials };
}
