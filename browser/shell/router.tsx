/**
 * The routes of the console (docs/rules/console.md#pages): address, search parameters, who sees it, and the part that is loaded
 * when it is opened. Whatever an address says is validated; what a page does not know falls back to its default.
 */
import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { fairshareSearch } from "../pages/fairshare/fairshare-search.ts";
import { keysSearch } from "../pages/keys/keys-search.ts";
import { logsSearch } from "../pages/logs/logs-search.ts";
import { mcpSearch } from "../pages/mcp/mcp-search.ts";
import { overviewSearch } from "../pages/overview/overview-search.ts";
import { settingsSearch } from "../pages/settings/settings-search.ts";
import { signInSearch } from "../pages/sign-in/sign-in-search.ts";
import { tenantSearch } from "../pages/tenant/tenant-search.ts";
import { tenantsSearch } from "../pages/tenants/tenants-search.ts";
import { Crashed } from "./crashed.tsx";
import { NotFound } from "./not-found.tsx";
import { AdminOnly, SignedIn } from "./signed-in.tsx";

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  notFoundComponent: NotFound,
  errorComponent: Crashed,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: signInSearch,
  component: lazyRouteComponent(async () => await import("../pages/sign-in/sign-in-page.tsx"), "SignInPage"),
});

/** Pages of people who have signed in. */
const signedIn = createRoute({ getParentRoute: () => root, id: "signed-in", component: SignedIn });

/** Pages that only admins see. */
const forAdmins = createRoute({ getParentRoute: () => signedIn, id: "admin", component: AdminOnly });

const overview = createRoute({
  getParentRoute: () => forAdmins,
  path: "/",
  validateSearch: overviewSearch,
  component: lazyRouteComponent(async () => await import("../pages/overview/overview-page.tsx"), "OverviewPage"),
});

const fairshare = createRoute({
  getParentRoute: () => forAdmins,
  path: "/fairshare",
  validateSearch: fairshareSearch,
  component: lazyRouteComponent(async () => await import("../pages/fairshare/fairshare-page.tsx"), "FairsharePage"),
});

const logs = createRoute({
  getParentRoute: () => signedIn,
  path: "/logs",
  validateSearch: logsSearch,
  component: lazyRouteComponent(async () => await import("../pages/logs/logs-page.tsx"), "LogsPage"),
});

const tenants = createRoute({
  getParentRoute: () => forAdmins,
  path: "/tenants",
  validateSearch: tenantsSearch,
  component: lazyRouteComponent(async () => await import("../pages/tenants/tenants-page.tsx"), "TenantsPage"),
});

const tenant = createRoute({
  getParentRoute: () => signedIn,
  path: "/tenants/$tenantId",
  validateSearch: tenantSearch,
  component: lazyRouteComponent(async () => await import("../pages/tenant/tenant-page.tsx"), "TenantPage"),
});

const keys = createRoute({
  getParentRoute: () => signedIn,
  path: "/keys",
  validateSearch: keysSearch,
  component: lazyRouteComponent(async () => await import("../pages/keys/keys-page.tsx"), "KeysPage"),
});

const mcp = createRoute({
  getParentRoute: () => forAdmins,
  path: "/mcp",
  validateSearch: mcpSearch,
  component: lazyRouteComponent(async () => await import("../pages/mcp/mcp-page.tsx"), "McpPage"),
});

const settings = createRoute({
  getParentRoute: () => forAdmins,
  path: "/settings",
  validateSearch: settingsSearch,
  component: lazyRouteComponent(async () => {
    // At the same time: the page shows nothing without its part, and tells of a part that cannot be loaded.
    import("../pages/settings/settings-part.tsx").catch(() => undefined);
    return await import("../pages/settings/settings-page.tsx");
  }, "SettingsPage"),
});

const routeTree = root.addChildren([
  signIn,
  signedIn.addChildren([forAdmins.addChildren([overview, fairshare, tenants, mcp, settings]), logs, tenant, keys]),
]);

/** The router; pages are loaded when a link to them is about to be used. */
export function consoleRouter(queries: QueryClient) {
  return createRouter({
    routeTree,
    context: { queries },
    defaultPreload: "intent",
    scrollRestoration: true,
    defaultErrorComponent: Crashed,
    defaultNotFoundComponent: NotFound,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof consoleRouter>;
  }
}
