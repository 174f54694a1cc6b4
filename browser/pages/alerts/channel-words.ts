/** The rule of a channel in words. Pure. */
import type { Records } from "../../data/api.ts";
import { alertsTexts } from "../../messages/en/alerts.ts";
import { texts } from "../../messages/texts.ts";

const text = texts("alerts", alertsTexts);

/** Which alerts the channel gets. */
export function ruleText({ min_severity, kinds }: Pick<Records["AlertChannel"], "min_severity" | "kinds">): string {
  const severity = text(`rule_${min_severity}`);
  return kinds.length === 0 ? severity : text("ruleKinds", { severity, count: kinds.length });
}
