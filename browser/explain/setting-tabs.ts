/** Where on the page of the settings a setting is. Pure. */
import { type LinkTarget, pageTarget } from "./link-target.ts";

/** The part of the page by the name under which a setting is kept (docs/rules/management-api.md#audit-log). */
const TABS: ReadonlyMap<string, string> = new Map([
  ["alerts", "alerts"],
  ["usage_retention", "retention"],
  ["auto_router", "routing"],
  ["boons", "boons"],
  ["energy", "energy"],
  ["jobsched", "jobsched"],
  ["assistant", "assistant"],
]);

/** The part of the page that shows a setting; null: none does. */
export function settingTarget(name: string): LinkTarget | null {
  const tab = TABS.get(name);
  return tab === undefined ? null : pageTarget("/settings", { tab });
}
