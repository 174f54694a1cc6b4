/** Where a sentence leads. Pages turn a target into the link of the router. */

/** A view of the console that shows more, or where something can be changed. */
export interface LinkTarget {
  readonly page: "fairshare" | "logs" | "tenants" | "tenant" | "keys";
  /** By the API's names (`tenant_id`, `key_id`, `model`, `cell`, `error_code`); `tab` names a tab of the page. */
  readonly params: Readonly<Record<string, string>>;
}

/** Who reads: an `admin` reaches every page, a `user` what belongs to the own tenant. */
export type Viewer = "admin" | "user";

/** A target on a tenant's page. */
export function tenantTarget(tenantId: string, tab: "profile" | "schedule" | "budget" | "models"): LinkTarget {
  return { page: "tenant", params: { tenant_id: tenantId, tab } };
}

/** The target of one who may go there, else null. */
export function reachable(target: LinkTarget | null, viewer: Viewer): LinkTarget | null {
  return viewer === "user" && (target?.page === "fairshare" || target?.page === "tenants") ? null : target;
}
