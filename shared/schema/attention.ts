/** The issues that a person must act on now (docs/rules/attention.md). */
import * as z from "zod";
import { SEVERITIES } from "../catalogues/alerts.ts";
import { shownTime } from "../fields/common-fields.ts";

/** The kinds, the most urgent first: the order of entries of the same severity. */
export const ATTENTION_KINDS = [
  "cell_unreachable",
  "model_down",
  "no_replica",
  "endpoint_down",
  "provisioner_held",
  "provision_failed",
  "replicas_lost",
  "budget_exhausted",
  "alert",
  "backup_failed",
  "sync_pending",
  "usage_refused",
  "usage_waiting",
  "tenant_expires",
  "key_expires",
  "user_pending",
  "budget_low",
  "setting_without_effect",
] as const;

export const attentionItemSchema = z
  .object({
    kind: z.enum(ATTENTION_KINDS),
    entity_type: z.enum(["tenant", "api_key", "model", "model_endpoint", "settings", "cell", "user", "gateway"]),
    entity_id: z.string(),
    name: z.string(),
    detail: z.string(),
    since: shownTime.nullable().meta({ description: "When the problem started. Null: unknown" }),
    severity: z.enum(SEVERITIES),
    alert_key: z.string().nullable().meta({ description: "Key of the alert about it, which can be muted. Null: none" }),
    muted_until: shownTime.nullable().meta({ description: "Until when that alert is muted. Null: it is not" }),
  })
  .meta({ id: "AttentionItem" });
export type AttentionItem = z.infer<typeof attentionItemSchema>;

/** An entry as the part that found it knows it. */
export type FoundItem = Omit<AttentionItem, "severity" | "alert_key" | "muted_until">;
