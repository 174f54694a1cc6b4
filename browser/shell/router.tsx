/**
 * The routes of the console (docs/rules/console.md#pages): address, search parameters, who sees it, and the part that is loaded
 * when it is opened. Whatever an address says is validated; what a page does not know falls back to its default.
 */
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { alertsSearch } from "../pages/alerts/alerts-search.ts";
import { assistantSearch } from "../pages/assistant/assistant-search.ts";
import { auditSearch } from "../pages/audit/audit-search.ts";
import { batchesSearch } from "../pages/batches/batches-search.ts";
import { deploymentSearch, deploymentsSearch, newDeploymentSearch } from "../pages/deployments/deployments-search.ts";
import { fairshareSearch } from "../pages/fairshare/fairshare-search.ts";
import { keysSearch } from "../pages/keys/keys-search.ts";
import { logsSearch } from "../pages/logs/logs-search.ts";
import { mcpSearch } from "../pages/mcp/mcp-search.ts";
import { modelSearch, modelsSearch } from "../pages/models/models-search.ts";
import { overviewSearch } from "../pages/overview/overview-search.ts";
import { playgroundSearch } from "../pages/playground/playground-search.ts";
import {
  guideSearch,
  portalLimitsSearch,
  portalModelsSearch,
  portalUsageSearch,
} from "../pages/portal/portal-search.ts";
import { pricesSearch } from "../pages/prices/prices-search.ts";
import { reportsSearch } from "../pages/reports/reports-search.ts";
import { statementSearch } from "../pages/reports/statement-search.ts";
import { serviceSearch } from "../pages/service/service-search.ts";
import { settingsSearch } from "../pages/settings/settings-search.ts";
import { signInSearch } from "../pages/sign-in/sign-in-search.ts";
import { tenantSearch } from "../pages/tenant/tenant-search.ts";
import { tenantsSearch } from "../pages/tenants/tenants-search.ts";
import { usersSearch } from "../pages/users/users-search.ts";
import { Crashed, PartGone } from "./crashed.tsx";
import { NotFound } from "./not-found.tsx";
import { AdminOnly, SignedIn, UserOnly } from "./signed-in.tsx";

/**
 * The part of a page. If it cannot be loaded, an error is shown instead of the page: for the import's own error the router reloads, and
 * offline a reload leaves nothing of the console.
 */
const pagePart: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(async () => {
    try {
      return await load();
    } catch (cause) {
      throw new PartGone(cause);
    }
  }, name);

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  errorComponent: Crashed,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: signInSearch,
  component: pagePart(async () => await import("../pages/sign-in/sign-in-page.tsx"), "SignInPage"),
});

/** Pages of people who have signed in. */
const signedIn = createRoute({ getParentRoute: () => root, id: "signed-in", component: SignedIn });

/** Addresses that lead nowhere keep navigation and search. */
const nowhere = createRoute({ getParentRoute: () => signedIn, path: "$", component: NotFound });

/** Pages that only admins see. */
const forAdmins = createRoute({ getParentRoute: () => signedIn, id: "admin", component: AdminOnly });

/** Pages of a tenant's people about their own tenant. */
const forUsers = createRoute({ getParentRoute: () => signedIn, id: "users", component: UserOnly });

const overview = createRoute({
  getParentRoute: () => forAdmins,
  path: "/",
  validateSearch: overviewSearch,
  component: pagePart(async () => await import("../pages/overview/overview-page.tsx"), "OverviewPage"),
});

const alerts = createRoute({
  getParentRoute: () => forAdmins,
  path: "/alerts",
  validateSearch: alertsSearch,
  component: pagePart(async () => await import("../pages/alerts/alerts-page.tsx"), "AlertsPage"),
});

const fairshare = createRoute({
  getParentRoute: () => forAdmins,
  path: "/fairshare",
  validateSearch: fairshareSearch,
  component: pagePart(async () => await import("../pages/fairshare/fairshare-page.tsx"), "FairsharePage"),
});

const logs = createRoute({
  getParentRoute: () => signedIn,
  path: "/logs",
  validateSearch: logsSearch,
  component: pagePart(async () => await import("../pages/logs/logs-page.tsx"), "LogsPage"),
});

const tenants = createRoute({
  getParentRoute: () => forAdmins,
  path: "/tenants",
  validateSearch: tenantsSearch,
  component: pagePart(async () => await import("../pages/tenants/tenants-page.tsx"), "TenantsPage"),
});

const tenant = createRoute({
  getParentRoute: () => signedIn,
  path: "/tenants/$tenantId",
  validateSearch: tenantSearch,
  component: pagePart(async () => await import("../pages/tenant/tenant-page.tsx"), "TenantPage"),
});

const keys = createRoute({
  getParentRoute: () => signedIn,
  path: "/keys",
  validateSearch: keysSearch,
  component: pagePart(async () => await import("../pages/keys/keys-page.tsx"), "KeysPage"),
});

const batches = createRoute({
  getParentRoute: () => signedIn,
  path: "/batches",
  validateSearch: batchesSearch,
  component: lazyRouteComponent(async () => await import("../pages/batches/batches-page.tsx"), "BatchesPage"),
});

const models = createRoute({
  getParentRoute: () => forAdmins,
  path: "/models",
  validateSearch: modelsSearch,
  component: pagePart(async () => await import("../pages/models/models-page.tsx"), "ModelsPage"),
});

const model = createRoute({
  getParentRoute: () => forAdmins,
  path: "/models/$modelId",
  validateSearch: modelSearch,
  component: pagePart(async () => await import("../pages/models/model-page.tsx"), "ModelPage"),
});

const users = createRoute({
  getParentRoute: () => forAdmins,
  path: "/users",
  validateSearch: usersSearch,
  component: pagePart(async () => await import("../pages/users/users-page.tsx"), "UsersPage"),
});

const audit = createRoute({
  getParentRoute: () => forAdmins,
  path: "/audit",
  validateSearch: auditSearch,
  component: pagePart(async () => await import("../pages/audit/audit-page.tsx"), "AuditPage"),
});

const service = createRoute({
  getParentRoute: () => signedIn,
  path: "/service",
  validateSearch: serviceSearch,
  component: pagePart(async () => await import("../pages/service/service-page.tsx"), "ServicePage"),
});

const reports = createRoute({
  getParentRoute: () => signedIn,
  path: "/reports",
  validateSearch: reportsSearch,
  component: pagePart(async () => await import("../pages/reports/reports-page.tsx"), "ReportsPage"),
});

const statement = createRoute({
  getParentRoute: () => signedIn,
  path: "/reports/statement",
  validateSearch: statementSearch,
  component: pagePart(async () => await import("../pages/reports/statement-page.tsx"), "StatementPage"),
});

const portal = createRoute({
  getParentRoute: () => forUsers,
  path: "/portal",
  component: pagePart(async () => await import("../pages/portal/portal-page.tsx"), "PortalPage"),
});

const portalLimits = createRoute({
  getParentRoute: () => forUsers,
  path: "/portal/limits",
  validateSearch: portalLimitsSearch,
  component: pagePart(async () => await import("../pages/portal/limits-page.tsx"), "PortalLimitsPage"),
});

const portalModels = createRoute({
  getParentRoute: () => forUsers,
  path: "/portal/models",
  validateSearch: portalModelsSearch,
  component: pagePart(async () => await import("../pages/portal/models-page.tsx"), "PortalModelsPage"),
});

const portalUsage = createRoute({
  getParentRoute: () => forUsers,
  path: "/portal/usage",
  validateSearch: portalUsageSearch,
  beforeLoad: ({ search }) => {
    throw redirect({ to: "/reports", search, replace: true });
  },
});

const portalGuide = createRoute({
  getParentRoute: () => forUsers,
  path: "/portal/guide",
  validateSearch: guideSearch,
  component: pagePart(async () => await import("../pages/portal/guide-page.tsx"), "GuidePage"),
});

const playground = createRoute({
  getParentRoute: () => signedIn,
  path: "/playground",
  validateSearch: playgroundSearch,
  component: pagePart(async () => await import("../pages/playground/playground-page.tsx"), "PlaygroundPage"),
});

const assistant = createRoute({
  getParentRoute: () => forAdmins,
  path: "/assistant",
  validateSearch: assistantSearch,
  component: pagePart(async () => await import("../pages/assistant/assistant-page.tsx"), "AssistantPage"),
});

const prices = createRoute({
  getParentRoute: () => forAdmins,
  path: "/prices",
  validateSearch: pricesSearch,
  component: pagePart(async () => await import("../pages/prices/prices-page.tsx"), "PricesPage"),
});

const mcp = createRoute({
  getParentRoute: () => forAdmins,
  path: "/mcp",
  validateSearch: mcpSearch,
  component: pagePart(async () => await import("../pages/mcp/mcp-page.tsx"), "McpPage"),
});

const settings = createRoute({
  getParentRoute: () => forAdmins,
  path: "/settings",
  validateSearch: settingsSearch,
  component: pagePart(async () => {
    // At the same time: the page shows nothing without its part, and tells of a part that cannot be loaded.
    import("../pages/settings/settings-part.tsx").catch(() => undefined);
    return await import("../pages/settings/settings-page.tsx");
  }, "SettingsPage"),
});

const deployments = createRoute({
  getParentRoute: () => forAdmins,
  path: "/deployments",
  validateSearch: deploymentsSearch,
  component: pagePart(async () => await import("../pages/deployments/deployments-page.tsx"), "DeploymentsPage"),
});

const newDeployment = createRoute({
  getParentRoute: () => forAdmins,
  path: "/deployments/new",
  validateSearch: newDeploymentSearch,
  component: pagePart(async () => await import("../pages/deployments/new-page.tsx"), "NewDeploymentPage"),
});

const deployment = createRoute({
  getParentRoute: () => forAdmins,
  path: "/deployments/$modelId",
  validateSearch: deploymentSearch,
  component: pagePart(async () => await import("../pages/deployments/deployment-page.tsx"), "DeploymentPage"),
});

const routeTree = root.addChildren([
  signIn,
  signedIn.addChildren([
    forAdmins.addChildren([
      overview,
      alerts,
      fairshare,
      tenants,
      models,
      model,
      users,
      audit,
      assistant,
      mcp,
      prices,
      settings,
      deployments,
      newDeployment,
      deployment,
    ]),
    forUsers.addChildren([portal, portalLimits, portalModels, portalUsage, portalGuide]),
    logs,
    tenant,
    keys,
    batches,
    service,
    reports,
    statement,
    playground,
    nowhere,
  ]),
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
