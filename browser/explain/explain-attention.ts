/** What needs a person now, in words, with the view where to act (docs/rules/attention.md#kinds). Pure. */
import type { AttentionItem } from "../../shared/schema/attention.ts";
import { explainTexts } from "../messages/en/explain.ts";
import { texts } from "../messages/texts.ts";
import { explainAlert } from "./explain-alert.ts";
import { deploymentTarget, keyTarget, type LinkTarget, modelTarget, pageTarget, tenantTarget } from "./link-target.ts";
import { settingTarget } from "./setting-tabs.ts";

const text = texts("explain", explainTexts);

/** An entry of the list in words. */
interface AttentionExplanation {
  readonly tone: "bad" | "warn" | "neutral";
  readonly title: string;
  /** What follows from it, and what to do. */
  readonly sentence: string;
  /** The figures of this entry, as the server wrote them. */
  readonly detail: string;
  /** Null: no view of the console has more. */
  readonly link: LinkTarget | null;
  /** The alert about it, where it can be acknowledged or muted; null when no alert has its key. */
  readonly alert: LinkTarget | null;
}

const TONES = { critical: "bad", warning: "warn", info: "neutral" } as const;

/** An entry of the list of what needs attention, in words. */
export function explainAttention(item: AttentionItem): AttentionExplanation {
  const { kind, name, detail, entity_id, severity, alert_key, muted_until } = item;
  return {
    tone: muted_until === null ? TONES[severity] : "neutral",
    title: text(`attention_${kind}`, { name }),
    sentence: kind === "alert" ? explainAlert(entity_id).sentence : text(`attention_${kind}_text`),
    detail,
    link: linkOf(item),
    alert: alert_key === null ? null : pageTarget("/alerts", { key: alert_key }),
  };
}

function linkOf({ kind, entity_type, entity_id, name }: AttentionItem): LinkTarget | null {
  switch (entity_type) {
    case "cell":
      return pageTarget("/fairshare", { cell: entity_id });
    case "model":
      if (kind === "provision_failed" || kind === "replicas_lost" || kind === "no_replica")
        return deploymentTarget(entity_id);
      if (kind === "model_down") return modelTarget(entity_id, "health");
      return pageTarget("/logs", { model: name });
    case "tenant":
      return tenantTarget(entity_id, kind === "tenant_expires" ? "access" : "budget");
    case "user":
      return pageTarget("/users", { status: "pending" });
    case "api_key":
      return keyTarget(entity_id);
    case "settings":
      return kind === "provisioner_held" ? pageTarget("/deployments", {}) : settingTarget(entity_id);
    case "model_endpoint":
      // it is called `model: endpoint`, and the model's page takes the name
      return modelTarget(name.slice(0, Math.max(0, name.lastIndexOf(": "))), "connection", entity_id);
    case "gateway":
      if (kind === "alert") return explainAlert(entity_id).link;
      return kind === "backup_failed" ? pageTarget("/settings", { tab: "backup" }) : null;
    default:
      return entity_type satisfies never;
  }
}
