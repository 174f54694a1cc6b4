/**
 * Where a sentence leads (docs/rules/console-figures.md#links): a view of the console that shows more, or where something can be
 * changed. The search parameters have the names of the API.
 */

/** Pages that are not about one object. */
type PagePath =
  | "/alerts"
  | "/fairshare"
  | "/logs"
  | "/reports"
  | "/models"
  | "/tenants"
  | "/keys"
  | "/users"
  | "/deployments"
  | "/settings"
  | "/mcp"
  | "/assistant";

/** An address of the console, as the router takes it. */
export type LinkTarget =
  | {
      readonly to: PagePath;
      readonly params: Readonly<Record<string, never>>;
      /** `tenant_id`, `key_id`, `user_id`, `model`, `cell`, `error_code`, `tab`, and what is open: `recipe`, `server_id`, `benchmark`. */
      readonly search: Readonly<Record<string, string>>;
    }
  | {
      readonly to: "/tenants/$tenantId";
      readonly params: { readonly tenantId: string };
      readonly search: { readonly tab: TenantTab };
    }
  | {
      readonly to: "/deployments/$modelId";
      readonly params: { readonly modelId: string };
      readonly search: Readonly<Record<string, never>>;
    }
  | {
      readonly to: "/models/$modelId";
      readonly params: { readonly modelId: string };
      readonly search: { readonly tab: "connection" | "health"; readonly endpoint?: string };
    };

/** The tabs of a tenant's page that sentences lead to. */
type TenantTab = "overview" | "access" | "budget" | "policies" | "edit";

const FOR_ADMINS: ReadonlySet<LinkTarget["to"]> = new Set([
  "/alerts",
  "/fairshare",
  "/tenants",
  "/users",
  "/models",
  "/deployments",
  "/models/$modelId",
  "/deployments/$modelId",
  "/settings",
  "/mcp",
  "/assistant",
] as const);

/** Who reads: an `admin` reaches every page, a `user` only those of their own tenant. */
export type Viewer = "admin" | "user";

/** A target on a tenant's page. */
export function tenantTarget(tenantId: string, tab: TenantTab): LinkTarget {
  return { to: "/tenants/$tenantId", params: { tenantId }, search: { tab } };
}

/** `about`: the id of a key, or `tenant:<id>` for all keys of a tenant. */
export function keyTarget(about: string): LinkTarget {
  const [, tenant_id] = /^tenant:(.*)/.exec(about) ?? [];
  return pageTarget("/keys", tenant_id === undefined ? { key_id: about } : { tenant_id });
}

/** A target on the page of a model, by its id or name; `endpoint`: the id of one that is open there. */
export function modelTarget(modelId: string, tab: "connection" | "health", endpoint?: string): LinkTarget {
  return { to: "/models/$modelId", params: { modelId }, search: endpoint === undefined ? { tab } : { tab, endpoint } };
}

/** A target on a page with its parameters. */
export function pageTarget(to: PagePath, search: Readonly<Record<string, string>>): LinkTarget {
  return { to, params: {}, search };
}

/** The page of a model's replicas. */
export function deploymentTarget(modelId: string): LinkTarget {
  return { to: "/deployments/$modelId", params: { modelId }, search: {} };
}

/** The target, or null if the viewer cannot open it. */
export function reachable(target: LinkTarget | null, viewer: Viewer): LinkTarget | null {
  return target !== null && viewer === "user" && FOR_ADMINS.has(target.to) ? null : target;
}
