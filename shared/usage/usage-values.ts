/** The values that fields of a usage row can have (docs/rules/settlement-and-rows.md#rows), without the library of its schema. */

export const REQUEST_TYPES = [
  "chat",
  "completion",
  "responses",
  "messages",
  "embedding",
  "audio",
  "image",
  "rerank",
  "moderation",
  "realtime",
  "mcp",
  "other",
  "vision_boon",
  "structured_output_boon",
  "tool_loop",
  "guardrails_boon",
  "health_probe",
  "benchmark",
] as const;

export const ADMISSION_CLASSES = ["fast", "queued", "rejected", "boon", "batch"] as const;
export const CACHE_STATUSES = ["hit", "miss", "off"] as const;
export const SESSION_ID_SOURCES = ["client", "derived", "none"] as const;
