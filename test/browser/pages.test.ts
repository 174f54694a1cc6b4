/**
 * What holds on every page of the console: anybody can use it, with any screen, in light and dark, over a slow line, and the
 * browser has nothing to complain of (docs/rules/tests.md#pages).
 */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { accessibilityProblems, endOfTransitions, rowCount, sidewaysPixels } from "../harness/browser/page-checks.ts";
import { type Role, useConsole, type Visit } from "../harness/browser/use-console.ts";
import {
  countedRequests,
  delayRequests,
  forgetLateness,
  slowDown,
  slowPaintMs,
  vitalsOf,
} from "../harness/browser/vitals.ts";

/** A page, and how a test knows that it shows what it is for. */
interface ListedPage {
  readonly name: string;
  readonly as: Role;
  /** Where it is; of what belongs to a visitor it depends on who that is. */
  readonly path: string | ((visit: Visit) => string);
  /** Resolves when the page shows its content. */
  readonly isThere: (visit: Visit) => Promise<void>;
}

/** Besides the files of the build, which a browser keeps for good. */
const REQUESTS_MAX = 12;
/** Of tables; longer ones hold only those in sight in the document. */
const ROWS_MAX = 60;
const LAYOUT_SHIFT_MAX = 0.05;
const SLOW_PAINT_MAX_MS = 2500;

/** A model that the gateway runs, with a spec that is not started. */
const managed = { modelId: "" };

/** The name of a model that is there for its page. */
const MODEL = `page-${randomUUID()}`;
/** A model that is there for its page. */
let model: Model | undefined;
/** A tenant that is there for its form. */
let edited: Tenant | undefined;

const heading =
  (name: string) =>
  async ({ page }: Visit) =>
    await page.getByRole("heading", { level: 1, name }).waitFor();

const listed =
  (name: string) =>
  async ({ page }: Visit) =>
    await page.getByRole("table", { name }).locator("tbody tr").first().waitFor();

const PAGES: readonly ListedPage[] = [
  { name: "sign-in", as: "nobody", path: "/sign-in", isThere: heading("Sign in") },
  {
    name: "overview",
    as: "admin",
    path: "/",
    isThere: async ({ page }) => await page.getByRole("row", { name: /\bup\b/ }).waitFor(),
  },
  {
    name: "fairshare",
    as: "admin",
    path: "/fairshare",
    isThere: async ({ page }) => {
      await page.getByLabel("Weight of default").waitFor();
      await page.getByText("Data as a table").waitFor();
    },
  },
  { name: "logs", as: "admin", path: "/logs", isThere: heading("Requests") },
  {
    name: "models",
    as: "admin",
    path: "/models",
    isThere: async ({ page }) => await page.getByRole("table", { name: "Models" }).waitFor(),
  },
  { name: "price list", as: "admin", path: "/prices", isThere: heading("Price list") },
  {
    name: "model",
    as: "admin",
    path: () => `/models/${model?.id}`,
    isThere: async ({ page }) => await page.getByText("No failed requests").waitFor(),
  },
  {
    name: "model, with its endpoints",
    as: "admin",
    path: () => `/models/${model?.id}?tab=connection`,
    isThere: async ({ page }) => await page.getByText("No endpoints").waitFor(),
  },
  {
    name: "form of a model",
    as: "admin",
    path: () => `/models/${model?.id}?tab=edit`,
    isThere: async ({ page }) => await page.getByLabel("Upstream model").waitFor(),
  },
  {
    name: "alerts, with one that is open",
    as: "admin",
    path: "/alerts?key=backup_failed",
    isThere: async ({ page }) => await page.getByRole("heading", { name: "What it means" }).waitFor(),
  },
  { name: "alerts: history", as: "admin", path: "/alerts?tab=history", isThere: heading("Alerts") },
  { name: "alerts: channels", as: "admin", path: "/alerts?tab=channels", isThere: heading("Alerts") },
  { name: "tenants", as: "admin", path: "/tenants", isThere: heading("Tenants") },
  { name: "assistant", as: "admin", path: "/assistant", isThere: heading("Assistant") },
  { name: "deployments", as: "admin", path: "/deployments", isThere: heading("Deployments") },
  {
    name: "new managed model",
    as: "admin",
    path: "/deployments/new",
    isThere: async ({ page }) => await page.getByLabel("Partition").waitFor(),
  },
  {
    name: "managed model, with its spec",
    as: "admin",
    path: () => `/deployments/${managed.modelId}?tab=spec`,
    isThere: async ({ page }) => await page.getByRole("heading", { name: "Job script" }).waitFor(),
  },
  {
    name: "portal",
    as: "user",
    path: "/portal",
    isThere: async ({ page }) => await page.getByText(/^(Yes[:,]|No[:.]) /).waitFor(),
  },
  { name: "models of the portal", as: "user", path: "/portal/models", isThere: heading("Models") },
  { name: "usage and costs of the portal", as: "user", path: "/reports", isThere: heading("Usage and costs") },
  { name: "limits of the portal", as: "user", path: "/portal/limits", isThere: heading("Limits") },
  { name: "guide of the portal", as: "user", path: "/portal/guide", isThere: heading("Guide") },
  {
    name: "assistant, with its benchmarks",
    as: "admin",
    path: "/assistant?tab=benchmark",
    isThere: heading("Assistant"),
  },
  { name: "keys", as: "user", path: "/keys", isThere: heading("Keys") },
  { name: "batches", as: "user", path: "/batches", isThere: heading("Batches") },
  { name: "playground", as: "user", path: "/playground", isThere: heading("Playground") },
  { name: "mcp", as: "admin", path: "/mcp", isThere: heading("MCP servers") },
  {
    name: "settings",
    as: "admin",
    path: "/settings?tab=boons",
    isThere: async ({ page }) => await page.getByLabel("Vision model").waitFor(),
  },
  { name: "users", as: "admin", path: "/users", isThere: listed("People who have signed in") },
  {
    name: "invitations",
    as: "admin",
    path: "/users?tab=invitations",
    isThere: async ({ page }) =>
      await page
        .getByText(/No open invitations|Revoke/)
        .first()
        .waitFor(),
  },
  {
    name: "groups of providers",
    as: "admin",
    path: "/users?tab=groups",
    isThere: async ({ page }) => await page.getByRole("button", { name: "Give a role" }).waitFor(),
  },
  { name: "audit", as: "admin", path: "/audit", isThere: listed("Changes, newest first") },
  { name: "costs", as: "admin", path: "/reports?show=tokens", isThere: heading("Costs") },
  { name: "costs of the own tenant", as: "user", path: "/reports", isThere: heading("Costs") },
  { name: "service health", as: "admin", path: "/service", isThere: heading("Service health") },
  {
    name: "service health of the own tenant",
    as: "user",
    path: "/service?period=90d",
    isThere: heading("Service health"),
  },
  {
    name: "statement",
    as: "user",
    path: "/reports/statement",
    isThere: async ({ page }) => await page.getByText("No requests in this period").first().waitFor(),
  },
  {
    name: "tenant",
    as: "user",
    path: ({ tenant }) => `/tenants/${tenant?.id}`,
    isThere: async ({ page }) => await page.getByText("No failed requests").waitFor(),
  },
  {
    name: "form of a tenant",
    as: "admin",
    path: () => `/tenants/${edited?.id}?tab=edit`,
    isThere: async ({ page }) => await page.getByLabel("Organization").waitFor(),
  },
  {
    name: "tenant, with its week",
    as: "user",
    path: ({ tenant }) => `/tenants/${tenant?.id}?tab=access`,
    isThere: async ({ page }) => await page.getByRole("tab", { name: "Access" }).waitFor(),
  },
];

const console_ = useConsole();

beforeAll(async () => {
  const health = { checks_enabled: false };
  await console_.gateway.must("POST", "/models", { model_name: MODEL, api_base: "http://127.0.0.1:9/v1", health });
  const { id } = await console_.gateway.must<Model>("POST", "/models", { model_name: `managed-${randomUUID()}` });
  await console_.gateway.must("PUT", `/models/${id}/managed`, {
    partition: "gpu",
    launch_command: 'exec serve --port "$GATEWAY_SERVING_PORT"',
    serving_port: 8000,
    target_replicas: 0,
  });
  managed.modelId = id;
  const body = { model_name: `page-${randomUUID()}`, api_base: "http://127.0.0.1:9/v1", health };
  model = await console_.gateway.must<Model>("POST", "/models", body);
  edited = await console_.gateway.must<Tenant>("POST", "/tenants", { name: `page-${randomUUID()}` });
});

describe.each(PAGES)("the page $name", ({ as, path, isThere }) => {
  const goTo = async (visit: Visit): Promise<void> => {
    await visit.page.goto(typeof path === "string" ? path : path(visit));
    await isThere(visit);
  };

  it.each([1280, 390])("can be used at %i pixels, in light and in dark", async (width) => {
    const visit = await console_.open({ as, colorScheme: "light", width });
    await goTo(visit);
    for (const colorScheme of ["light", "dark"] as const) {
      await visit.page.emulateMedia({ colorScheme });
      await endOfTransitions(visit.page);
      expect({
        colorScheme,
        accessibility: await accessibilityProblems(visit.page),
        sideways: await sidewaysPixels(visit.page),
        problems: visit.problems(),
      }).toEqual({ colorScheme, accessibility: [], sideways: 0, problems: [] });
    }
    expect(await rowCount(visit.page)).toBeLessThanOrEqual(ROWS_MAX);
  });

  it("is there soon over a slow line, with few requests, and shifts nothing", async () => {
    const visit = await console_.open({ as });
    await forgetLateness(visit.page);
    await slowDown(visit.page);
    const requests = countedRequests(visit.page);
    await goTo(visit);
    expect(requests.length, requests.join("\n")).toBeLessThanOrEqual(REQUESTS_MAX);
    const { layoutShift, shifts } = await vitalsOf(visit.page);
    expect(layoutShift, shifts.join("\n")).toBeLessThanOrEqual(LAYOUT_SHIFT_MAX);
    expect(visit.problems()).toEqual([]);
    const delayed = await console_.open({ as });
    await delayRequests(delayed.page);
    await goTo(delayed);
    expect(slowPaintMs(await vitalsOf(delayed.page))).toBeLessThanOrEqual(SLOW_PAINT_MAX_MS);
  });
});
