import { healthWord } from "../../explain/explain-health.ts";
import { Badge } from "../../ui/badge.tsx";

/** A state of health in one word. */
export function HealthBadge({ status }: { readonly status: string }) {
  const { tone, title } = healthWord(status);
  return <Badge tone={tone}>{title}</Badge>;
}
