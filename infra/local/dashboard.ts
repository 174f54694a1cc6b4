/**
 * The console of the stack: it runs inside the control service (docs/rules/console.md#on-npm-start). Settings that its operator
 * does not choose are generated once and kept in the data folder.
 */
import { DEFAULT_ADMIN_EMAIL } from "../../control/dashboard/env.ts";
import type { StackConfig } from "./env.ts";
import { storedSecret } from "./secrets.ts";

/** How to sign in to the console of a stack. */
export interface DashboardAccess {
  readonly url: string;
  readonly email: string;
  readonly password: string;
  /** Whether this start generated the password. */
  readonly passwordMade: boolean;
}

/** The console's variables for the control service, and their rules for signing in. */
interface PreparedDashboard {
  readonly variables: Readonly<Record<string, string>>;
  readonly access: Omit<DashboardAccess, "url">;
}

/** Variables that an operator need not set, with the given values or in their place generated ones. */
export function prepareDashboard(
  { variables, dataDir }: Pick<StackConfig, "variables" | "dataDir">,
  proxyUrl: string,
): PreparedDashboard {
  const chosen = variables["DASHBOARD_PASSWORD"];
  const password = chosen === undefined ? storedSecret(dataDir, "console-password") : { secret: chosen, made: false };
  const email = variables["DASHBOARD_ADMIN_EMAIL"] ?? DEFAULT_ADMIN_EMAIL;
  return {
    variables: {
      DASHBOARD_ADMIN_EMAIL: email,
      DASHBOARD_PASSWORD: password.secret,
      DASHBOARD_SESSION_SECRET:
        variables["DASHBOARD_SESSION_SECRET"] ?? storedSecret(dataDir, "console-session-secret").secret,
      GATEWAY_PROXY_BASE_URL: variables["GATEWAY_PROXY_BASE_URL"] ?? proxyUrl,
    },
    access: { email: email.trim().toLowerCase(), password: password.secret, passwordMade: password.made },
  };
}
