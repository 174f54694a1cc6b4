/** What each part of a tenant's page gets. */
import type { Records } from "../../data/api.ts";

export interface TenantTabProps {
  /** As it was read last. */
  readonly tenant: Records["Tenant"];
  /** Of the form: the tab that it was opened from. */
  readonly from?: string;
}
