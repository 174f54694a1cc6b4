/** The address of a view that a sentence or a figure leads to. Pure. */
import type { LinkTarget } from "../explain/link-target.ts";

const PATHS = { fairshare: "/fairshare", logs: "/logs", tenants: "/tenants", tenant: "/tenants", keys: "/keys" } as const;

/** Path and search parameters; a page takes of the parameters what it knows. */
export interface TargetAddress {
  readonly to: string;
  readonly search: Readonly<Record<string, string>>;
}

/** Where a target is. A tenant's page without a tenant is the list of tenants. */
export function targetAddress({ page, params }: LinkTarget): TargetAddress {
  if (page !== "tenant") return { to: PATHS[page], search: params };
  const { tenant_id: tenantId = "", ...search } = params;
  return { to: tenantId === "" ? PATHS.tenants : `${PATHS.tenant}/${encodeURIComponent(tenantId)}`, search };
}
