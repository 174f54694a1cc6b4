import { explainHealth } from "../../explain/explain-health.ts";
import { Badge } from "../../ui/badge.tsx";

/** A state of health in one word. */
export function HealthBadge({ status }: { readonly status: string }) {
  const { tone, title } = explainHealth({ status, consecutive_failures: 0, maintenance_until: null }, "UTC", 0);
  return <Badge tone={tone}>{title}</Badge>;
}
