/**
 * The console in a real browser. A test opens a context of its own, signs in as somebody, and is told of everything that
 * the browser complains of.
 */
import { randomUUID } from "node:crypto";
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { inject, onTestFinished } from "vitest";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import type { User } from "../../../shared/schema/user.ts";
import { useGateway } from "../fixture.ts";
import { PERSON_HEADER } from "../sign-in-provider.ts";
import { useStarted } from "../use-started.ts";
import { PROVIDER } from "./browser-setup.ts";
import { watchVitals } from "./vitals.ts";

/** Who looks at the console: nobody, the break-glass admin, or a person whom the provider knows. */
export type Role = "nobody" | "admin" | "pending" | "user" | "user without tenant";

interface Opening extends Pick<BrowserContextOptions, "colorScheme" | "timezoneId" | "locale"> {
  readonly as?: Role;
  /** CSS pixels; 1280 x 800 unless given. */
  readonly width?: number;
  readonly height?: number;
}

/** A private window of the browser in which somebody has signed in. */
export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  /** The console's origin. */
  readonly url: string;
  /** The tenant of the `user`; null for everyone else. */
  readonly tenant: Tenant | null;
  /** The person of the provider; null for the admin and nobody. */
  readonly user: User | null;
  /** Requests of the page so far: method and address. */
  readonly requests: readonly string[];
  /**
   * What went wrong since the last call, one line each: errors on the browser's console, exceptions, requests that failed,
   * and what the content security policy has refused.
   */
  readonly problems: () => readonly string[];
}

/** Registers the hooks of a file that needs only the browser; what it returns opens private windows once tests run. */
export function useBrowser(): (options: BrowserContextOptions) => Promise<BrowserContext> {
  const browser = useStarted(async () => await chromium.connect(inject("browserAddress")));
  return async (options) => {
    const context = await browser().newContext({
      viewport: { width: 1280, height: 800 },
      reducedMotion: "reduce",
      timezoneId: "UTC",
      locale: "en-US",
      ...options,
    });
    onTestFinished(async () => await context.close());
    return context;
  };
}

/** Registers the hooks of a test file; what it returns can be used once tests run. */
export function useConsole() {
  const fixture = useGateway();
  const access = inject("consoleAccess");
  if (access === null) throw new Error("the stack of this project has no console");
  const { url, email, password } = access;
  const newContext = useBrowser();

  const signInAtProvider = async (
    context: BrowserContext,
    claims: Readonly<Record<string, unknown>>,
  ): Promise<void> => {
    const headers = { [PERSON_HEADER]: JSON.stringify(claims) };
    await context.request.get(`${url}/auth/oidc/${PROVIDER.id}?return_to=/api/session`, { headers });
  };

  async function person(context: BrowserContext, role: Role): Promise<Pick<Visit, "tenant" | "user">> {
    if (role === "nobody") return { tenant: null, user: null };
    if (role === "admin") {
      const answer = await context.request.post(`${url}/auth/local`, {
        data: { email, password },
        headers: { origin: url },
      });
      if (!answer.ok()) throw new Error(`the admin cannot sign in: ${answer.status()} ${await answer.text()}`);
      return { tenant: null, user: null };
    }
    const name = `person-${randomUUID()}`;
    await signInAtProvider(context, { sub: name, email: `${name}@example.org`, name: "Ann", email_verified: true });
    const [user] = await fixture.gateway.must<readonly User[]>("GET", `/users?q=${name}`);
    if (user === undefined) throw new Error(`${name} did not sign in`);
    if (role === "pending") return { tenant: null, user };
    const tenant =
      role === "user" ? await fixture.gateway.must<Tenant>("POST", "/tenants", { name: `tenant of ${name}` }) : null;
    const approved = { status: "active", tenant_id: tenant?.id ?? null };
    return { tenant, user: await fixture.gateway.must<User>("PATCH", `/users/${user.id}`, approved) };
  }

  return {
    get gateway() {
      return fixture.gateway;
    },
    get upstream() {
      return fixture.upstream;
    },
    /** The console's origin. */
    url,
    admin: { email, password },
    /** Signs a person of the provider in, with these claims, as a browser does. */
    signInAtProvider,
    /** Deletes the models that other files have left: a new key's example names one that responds. */
    withoutModels: async (): Promise<void> => {
      for (const { id } of await fixture.gateway.must<readonly { id: string }[]>("GET", "/models?limit=500"))
        await fixture.gateway.must("DELETE", `/models/${id}`);
    },
    /** Opens a private window, closed with the test. */
    open: async ({ as = "nobody", width = 1280, height = 800, ...options }: Opening = {}): Promise<Visit> => {
      const context = await newContext({ baseURL: url, viewport: { width, height }, ...options });
      const who = await person(context, as);
      const page = await context.newPage();
      await watchVitals(page);
      return { context, page, url, ...who, ...(await complaintsOf(page)) };
    },
  };
}

/** Reads that are answered by a cell. */
const LIVE_OF_CELL = /\/api\/live\/(stats|capacity|fairshare\/|[^?]*\/budget\/usage)/;

async function complaintsOf(page: Page): Promise<Pick<Visit, "requests" | "problems">> {
  const requests: string[] = [];
  const complaints: string[] = [];
  const complain = (line: string): void => void complaints.push(line);
  page.on("request", (request) => {
    if (!request.url().startsWith("data:")) requests.push(`${request.method()} ${request.url()}`);
  });
  page.on("console", (message) => {
    // A cell that a busy machine makes late: the page shows it, and asks again.
    const isLateCell = message.text().includes("status of 502") && LIVE_OF_CELL.test(message.location().url);
    if (message.type() === "error" && !isLateCell) complain(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => complain(`exception: ${error.message}`));
  page.on("requestfailed", (request) => {
    const why = request.failure()?.errorText ?? "";
    // A page that is left gives up what it has asked for.
    if (why !== "net::ERR_ABORTED") complain(`request failed: ${request.method()} ${request.url()} ${why}`);
  });
  await page.exposeFunction("reportViolation", (directive: string, blocked: string) =>
    complain(`content security policy: ${directive} refuses ${blocked}`),
  );
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => {
      const page = globalThis as unknown as { reportViolation(directive: string, blocked: string): void };
      page.reportViolation(effectiveDirective, blockedURI);
    });
  });
  return { requests, problems: () => complaints.splice(0) };
}
