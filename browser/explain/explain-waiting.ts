/** Why a queue waits, and what would let it go (docs/rules/fairshare.md#why-a-request-waits). Pure. */
import type { WaitingQueue } from "../../shared/schema/load.ts";
import { explainTexts } from "../messages/en/explain.ts";
import { texts } from "../messages/texts.ts";
import { type LinkTarget, pageTarget, tenantTarget } from "./link-target.ts";

const text = texts("explain", explainTexts);

/** A queue in words. */
interface WaitingExplanation {
  /** The limit, in two or three words. */
  readonly reason: string;
  readonly sentence: string;
  /** What lets it go. */
  readonly remedy: string;
  /** Where the limit can be changed; null where it is on this page, or ends automatically. */
  readonly link: LinkTarget | null;
}

/** A queue that a limit holds up, in words. */
export function explainWaiting(queue: WaitingQueue): WaitingExplanation {
  const { reason, tenant, model, group, queued, tenant_id } = queue;
  return {
    reason: text(`wait_${reason}_name`),
    sentence: text(`wait_${reason}`, { count: queued, tenant, model, group }),
    remedy: text(`wait_${reason}_fix`),
    link: linkOf(reason, tenant_id, model),
  };
}

function linkOf(reason: WaitingQueue["reason"], tenantId: string, model: string): LinkTarget | null {
  switch (reason) {
    case "tenant_cap":
    case "tenant_share":
      return tenantTarget(tenantId, "overview");
    case "budget":
      return tenantTarget(tenantId, "budget");
    case "model_cap":
      return pageTarget("/logs", { model });
    case "group_share":
    case "cell_full":
    case "headroom":
      return null;
    default:
      return reason satisfies never;
  }
}
