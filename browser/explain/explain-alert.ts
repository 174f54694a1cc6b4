/** What to do about an alert that is active, and the view where to do it, by its key (docs/reference/alerts.md). Pure. */
import { explainTexts } from "../messages/en/explain.ts";
import { texts } from "../messages/texts.ts";
import { keyTarget, type LinkTarget, modelTarget, pageTarget, tenantTarget } from "./link-target.ts";

const text = texts("explain", explainTexts);

/** The rest of the key says what the alert is about. */
type Links = (about: string) => LinkTarget;

const toFailures: Links = (model) => pageTarget("/logs", { model, status: "failed" });
const toServers: Links = (server) => pageTarget("/mcp", { q: server });
const toFairshare: Links = () => pageTarget("/fairshare", {});
const toBudget: Links = (tenant) => tenantTarget(tenant, "budget");

/** By the beginning of the key; the first that fits counts. */
const ALERTS = [
  [/^model_health_down:(.*)/, "attention_model_down_text", (model) => modelTarget(model, "health")],
  [/^term_budget_warn:(.*)/, "attention_budget_low_text", toBudget],
  [/^term_budget_exhausted:(.*)/, "attention_budget_exhausted_text", toBudget],
  [/^key_term_budget_warn:(.*)/, "attention_budget_low_text", keyTarget],
  [/^key_term_budget_exhausted:(.*)/, "attention_budget_exhausted_text", keyTarget],
  [/^tenant_expiry:(.*)/, "attention_tenant_expires_text", (tenant) => tenantTarget(tenant, "access")],
  [/^slurm_reconcile_held/, "attention_provisioner_held_text", () => pageTarget("/deployments", {})],
  [/^backup_failed/, "attention_backup_failed_text", () => pageTarget("/settings", { tab: "backup" })],
  [/^redis_sync_failed/, "attention_sync_pending_text", null],
  [/^usage_rows_refused/, "attention_usage_refused_text", null],
  [/^upstream_(?:request_failed|5xx_response|stream_error):(.*)/, "alert_upstream", toFailures],
  [/^queue_wait_long:([^:]*):/, "alert_queue", (cell) => pageTarget("/fairshare", { cell })],
  [/^mcp_[a-z0-9_]+:(.*)/, "alert_mcp", toServers],
  [/^guardrails_(?:input|output)(?:_harm)?_(.*)/, "alert_guardrails", (tenant) => tenantTarget(tenant, "policies")],
  [/^stored_objects_forgotten:(.*)/, "alert_objects", (tenant) => tenantTarget(tenant, "overview")],
  [/^scheduler_unavailable/, "alert_cell", toFairshare],
  [/budget_amount_refused/, "alert_amount", null],
  [/budget_re|term_usage/, "alert_budgetCheck", toFairshare],
  [/^redis_cache/, "alert_cache", null],
  [/^redis_|^key_store/, "alert_store", null],
  [/^energy/, "alert_energy", () => pageTarget("/settings", { tab: "energy" })],
  [/^usage_spill|^analytics/, "alert_analytics", null],
  [/^disk_low/, "alert_disk", null],
  [/^admin_auth/, "alert_token", null],
  [/^jwks/, "alert_jwks", null],
] as const satisfies readonly (readonly [RegExp, keyof typeof explainTexts, Links | null])[];

/** The next step in words, and the view for it; null: no view of the console has more. */
export function explainAlert(key: string): { readonly sentence: string; readonly link: LinkTarget | null } {
  for (const [pattern, id, link] of ALERTS) {
    const found = pattern.exec(key);
    if (found !== null) return { sentence: text(id), link: link === null ? null : link(found[1] ?? "") };
  }
  return { sentence: text("alert_other", { key: key.split(":")[0] ?? key }), link: null };
}
