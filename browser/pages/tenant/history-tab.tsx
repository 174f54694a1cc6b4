import { History } from "../../forms/history/history.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

/** What was changed of the tenant. */
export function HistoryTab({ tenant: { id, timezone } }: TenantTabProps) {
  return <History of={{ entity_type: "tenant", entity_id: id }} zone={timezone} />;
}
