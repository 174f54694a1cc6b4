/**
 * Where a sentence leads (docs/rules/console-figures.md#links): a view of the console that shows more, or where something can be
 * changed. A page takes the parameters by the names that the API has for them.
 */

/** An address of the console, as the router takes it. */
export type LinkTarget =
  | {
      readonly to: "/fairshare" | "/logs" | "/tenants" | "/keys";
      readonly params: Readonly<Record<string, never>>;
      /** `tenant_id`, `key_id`, `model`, `cell`, `error_code`. */
      readonly search: Readonly<Record<string, string>>;
    }
  | {
      readonly to: "/tenants/$tenantId";
      readonly params: { readonly tenantId: string };
      readonly search: { readonly tab: TenantTab };
    }
  | {
      readonly to: "/models/$modelId";
      readonly params: { readonly modelId: string };
      readonly search: { readonly tab: "health" };
    };

/** The tabs of a tenant's page that sentences lead to. */
type TenantTab = "profile" | "schedule" | "budget" | "models" | "guardrails";

/** Who reads: an `admin` reaches every page, a `user` what belongs to the own tenant. */
export type Viewer = "admin" | "user";

/** A target on a tenant's page. */
export function tenantTarget(tenantId: string, tab: TenantTab): LinkTarget {
  return { to: "/tenants/$tenantId", params: { tenantId }, search: { tab } };
}

/** What checks have found of a model. */
export function modelHealthTarget(modelId: string): LinkTarget {
  return { to: "/models/$modelId", params: { modelId }, search: { tab: "health" } };
}

/** A target on a page with its parameters. */
export function pageTarget(
  to: "/fairshare" | "/logs" | "/tenants" | "/keys",
  search: Readonly<Record<string, string>>,
): LinkTarget {
  return { to, params: {}, search };
}

/** The target for one who may go there, else null. */
export function reachable(target: LinkTarget | null, viewer: Viewer): LinkTarget | null {
  const forAdmins = ["/fairshare", "/tenants", "/models/$modelId"];
  return viewer === "user" && target !== null && forAdmins.includes(target.to) ? null : target;
}
