/** What to do about an alert that is active, and the view where to do it, by its key (docs/reference/alerts.md). Pure. */
import { explainTexts } from "../messages/en/explain.ts";
import { texts } from "../messages/texts.ts";
import { type LinkTarget, pageTarget, tenantTarget } from "./link-target.ts";

const text = texts("explain", explainTexts);

/** The rest of the key says what the alert is about. */
type Links = (about: string) => LinkTarget;

const toFailures: Links = (model) => pageTarget("/logs", { model, status: "failed" });
const toServers: Links = (server) => pageTarget("/mcp", { q: server });
const toFairshare: Links = () => pageTarget("/fairshare", {});

/** By the beginning of the key; the first that fits counts. */
const ALERTS = [
  [/^upstream_(?:request_failed|5xx_response|stream_error):(.*)/, "upstream", toFailures],
  [/^queue_wait_long:([^:]*):/, "queue", (cell) => pageTarget("/fairshare", { cell })],
  [/^mcp_[a-z0-9_]+:(.*)/, "mcp", toServers],
  [/^guardrails_(?:input|output)(?:_harm)?_(.*)/, "guardrails", (tenant) => tenantTarget(tenant, "guardrails")],
  [/^stored_objects_forgotten:(.*)/, "objects", (tenant) => tenantTarget(tenant, "overview")],
  [/^scheduler_unavailable/, "cell", toFairshare],
  [/budget_amount_refused/, "amount", null],
  [/budget_re|term_usage/, "budgetCheck", toFairshare],
  [/^redis_cache/, "cache", null],
  [/^redis_|^key_store/, "store", null],
  [/^energy/, "energy", () => pageTarget("/settings", { tab: "energy" })],
  [/^usage_spill|^analytics/, "analytics", null],
  [/^disk_low/, "disk", null],
  [/^admin_auth/, "token", null],
  [/^jwks/, "jwks", null],
] as const satisfies readonly (readonly [RegExp, string, Links | null])[];

/** The next step in words, and the view for it; null: no view of the console has more. */
export function explainAlert(key: string): { readonly sentence: string; readonly link: LinkTarget | null } {
  for (const [pattern, id, link] of ALERTS) {
    const found = pattern.exec(key);
    if (found !== null) return { sentence: text(`alert_${id}`), link: link === null ? null : link(found[1] ?? "") };
  }
  return { sentence: text("alert_other", { key: key.split(":")[0] ?? key }), link: null };
}
