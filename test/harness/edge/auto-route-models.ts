import { NO_PART_PRICES } from "../../../shared/money/cost.ts";
import type { ModelRecord } from "../../../shared/records.ts";

/** An enabled chat model that may be used for anything but needs nothing: no price, no cap, no tags. */
export function modelNamed(name: string, changes: Partial<ModelRecord> = {}): ModelRecord {
  return {
    v: 1,
    id: "00000000-0000-4000-8000-00000000000c",
    model_name: name,
    model_type: "chat",
    enabled: true,
    upstream_model: name,
    api_base: "",
    api_key: null,
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
      function_calling: true,
      system_messages: true,
      response_schema: true,
      tool_choice: true,
      vision: true,
    },
    tags: [],
    boons: [],
    tool_servers: [],
    energy_slots_per_node: 0,
    cache_enabled: false,
    cache_ttl_secs: 60,
    request_timeout_secs: null,
    max_retries: 0,
    retry_backoff_ms: 0,
    endpoint_selection_mode: "failover",
    debug_diagnostics: false,
    health_status: "unknown",
    maintenance_until_ms: null,
    created_at_ms: 0,
    endpoints: [],
    rev: 1,
    ...changes,
  };
}
