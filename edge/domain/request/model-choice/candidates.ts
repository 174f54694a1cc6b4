/**
 * Which models may answer an `auto` request (docs/rules/auto-router.md#candidates): those that may be used at all, and have the
 * abilities that the request needs.
 */
import type { ModelRecord } from "../../../../shared/records.ts";
import type { RequestNeeds } from "./request-traits.ts";

/** Why a model cannot answer a request: the first condition that it does not meet. */
type Exclusion =
  | "disabled"
  | "not_chat"
  | "unhealthy"
  | "maintenance"
  | "not_permitted"
  | "context_window"
  | "tools"
  | "tool_choice"
  | "response_format"
  | "vision";

/** The inputs of the conditions other than the model. */
export interface CandidateRules {
  readonly needs: RequestNeeds;
  readonly nowMs: number;
  /** Whether the caller may use the model of this name. */
  readonly isPermitted: (modelName: string) => boolean;
  /** Whether a boon would provide what the model lacks for this request. */
  readonly isBoonEffective: (model: ModelRecord, boon: "vision" | "structured_output") => boolean;
}

/** The first condition that excludes the model; null: it is a candidate. */
export function exclusionOf(model: ModelRecord, rules: CandidateRules): Exclusion | null {
  const { needs, nowMs, isPermitted, isBoonEffective } = rules;
  const { supports, context_window: window, maintenance_until_ms: untilMs } = model;
  if (!model.enabled) return "disabled";
  if (model.model_type !== "chat") return "not_chat";
  if (model.health_status === "unhealthy") return "unhealthy";
  if (untilMs !== null && nowMs < untilMs) return "maintenance";
  if (!isPermitted(model.model_name)) return "not_permitted";
  if (window > 0 && window < needs.contextTokens) return "context_window";
  if (needs.tools && !supports.function_calling) return "tools";
  if (needs.toolChoice && !supports.tool_choice) return "tool_choice";
  if (needs.jsonAnswer && !supports.response_schema && !isBoonEffective(model, "structured_output"))
    return "response_format";
  if (needs.vision && !supports.vision && !isBoonEffective(model, "vision")) return "vision";
  return null;
}
