/** The console's server before a control service of a test's own, with one provider of sign-ins. */
import { Hono } from "hono";
import { pino } from "pino";
import { liveRoutesOf } from "../../control/api/access.ts";
import { createDashboard } from "../../control/dashboard/app.ts";
import type { ConsoleAssets } from "../../control/dashboard/assets.ts";
import { type DashboardEnv, parseDashboardEnv } from "../../control/dashboard/env.ts";
import { users } from "../../control/db/schema/users.ts";
import { ConsoleBrowser } from "./console-browser.ts";
import { ADMIN_TOKEN, startControl } from "./control.ts";
import { ANN, CLIENT_ID, CLIENT_SECRET, type SignInProvider, startSignInProvider } from "./sign-in-provider.ts";

export const ADMIN = { email: "Admin@Example.org", password: "correct horse" };

/** The provider as `OIDC_PROVIDERS` names it. */
export const corp = ({ issuer }: SignInProvider) => ({
  id: "corp",
  name: "Corp",
  issuer,
  client_id: CLIENT_ID,
  client_secret: CLIENT_SECRET,
});

export type TestConsole = Awaited<ReturnType<typeof startConsole>>;

/** Starts everything; `variables` replace those of the console. */
export async function startConsole(variables: Readonly<Record<string, string>> = {}) {
  const control = await startControl();
  const provider = await startSignInProvider();
  const env = parseDashboardEnv({
    DASHBOARD_ADMIN_EMAIL: ADMIN.email,
    DASHBOARD_PASSWORD: ADMIN.password,
    DASHBOARD_SESSION_SECRET: "s".repeat(32),
    OIDC_PROVIDERS: JSON.stringify([corp(provider)]),
    ...variables,
  }) as DashboardEnv;
  /** What a test may change. */
  const state = {
    app: new Hono(),
    /** What the console passes requests to: the control service of the test, unless a test puts something in its place. */
    management: async (request: Request): Promise<Response> => await control.app.fetch(request),
    /** The pages of the servers that `renew` makes from now on; null: none were built. */
    assets: null as ConsoleAssets | null,
    /** What the console's server has logged, line by line. */
    logged: [] as string[],
    /** Epoch milliseconds that the console's clock is ahead. */
    aheadMs: 0,
  };
  const testing = Object.assign(state, {
    control,
    provider,
    /** Another server on the same database, as after a restart. */
    renew: (): void => {
      state.app = createDashboard({
        env,
        db: control.connection.db,
        adminToken: ADMIN_TOKEN,
        management: async (request) => await state.management(request),
        routes: liveRoutesOf(control.app),
        now: () => new Date(Date.now() + state.aheadMs),
        randomBytes: control.ctx.randomBytes,
        log: pino({ level: "trace" }, { write: (line: string) => void state.logged.push(line) }),
        assets: state.assets,
      });
    },
    browser: () => new ConsoleBrowser(state.app),
    /** A browser in which the break-glass admin has signed in. */
    admin: async (): Promise<ConsoleBrowser> => {
      const browser = new ConsoleBrowser(state.app);
      await browser.send("POST", "/auth/local", ADMIN);
      return browser;
    },
    /** Signs in at the provider; the answer to the callback. */
    signIn: async (browser: ConsoleBrowser, returnTo = "/"): Promise<Response> => {
      const departure = await browser.get(`/auth/oidc/corp?return_to=${encodeURIComponent(returnTo)}`);
      const back = provider.consent(departure.headers.get("location") ?? "");
      return await browser.get(`${back.pathname}${back.search}`);
    },
    /** As at the start: nobody has signed in or failed to. */
    reset: async (): Promise<void> => {
      await control.connection.db.delete(users);
      testing.renew();
      state.aheadMs = 0;
      Object.assign(provider, { claims: ANN, userinfo: {}, forged: false, away: false });
    },
    close: async (): Promise<void> => {
      await provider.close();
      await control.close();
    },
  });
  testing.renew();
  return testing;
}
