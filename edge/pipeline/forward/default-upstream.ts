/**
 * The record for names that are not registered: GATEWAY_UPSTREAM_BASE_URL without credential, called once. Detail
 * probes of such names go there (docs/rules/routes.md#model-listing).
 */
import { NO_PART_PRICES } from "../../../shared/money/cost.ts";
import type { ModelRecord } from "../../../shared/records.ts";

export const DEFAULT_UPSTREAM: ModelRecord = {
  v: 1,
  id: "",
  model_name: "",
  model_type: "chat",
  enabled: true,
  upstream_model: "",
  api_base: "",
  api_key: null,
  api_dialect: "openai",
  auth_scheme: "bearer",
  prices: {
    input: 0,
    output: 0,
    image: 0,
    character: 0,
    audio_second: 0,
    ...NO_PART_PRICES,
    input_second: 0,
  },
  context_window: 0,
  admission_weight: 1,
  max_in_flight: null,
  supports: {
    function_calling: false,
    system_messages: false,
    response_schema: false,
    tool_choice: false,
    vision: false,
  },
  tags: [],
  boons: [],
  tool_servers: [],
  energy_slots_per_node: 0,
  cache_enabled: false,
  cache_ttl_secs: 0,
  request_timeout_secs: null,
  first_token_timeout_secs: null,
  idle_timeout_secs: null,
  stream_keepalive_secs: 0,
  max_retries: 0,
  retry_backoff_ms: 0,
  endpoint_selection_mode: "failover",
  debug_diagnostics: false,
  fallback_models: [],
  fallback_on: [],
  health_status: "",
  maintenance_until_ms: null,
  created_at_ms: 0,
  endpoints: [],
  rev: 0,
};
