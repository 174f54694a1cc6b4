import { History } from "../../forms/history/history.tsx";
import { useZone } from "../../time/zone-context.tsx";
import type { ModelTabProps } from "./model-tab.ts";

/** What was changed of the model. */
export function ModelHistoryTab({ model: { id } }: ModelTabProps) {
  return <History entityType="model" entityId={id} zone={useZone().zone} />;
}
