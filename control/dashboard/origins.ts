/**
 * Which site a request comes from (docs/rules/console.md#origins). A write must name its origin: browsers send the header
 * with every write, and a page of another site cannot change it.
 */
import type { DashboardEnv } from "./env.ts";

/** The console's own origin as the browser sees it; `came`: how it came to a proxy before the console, if one says so. */
export function ownOrigin(
  request: Request,
  { publicOrigin }: Pick<DashboardEnv, "publicOrigin">,
  came: "http" | "https" | null,
): string {
  if (publicOrigin !== null) return publicOrigin;
  const url = new URL(request.url);
  if (came !== null) url.protocol = came;
  return url.origin;
}

/** Whether a write may come from where it says; every other request may come from anywhere. */
export function isOriginAllowed(
  request: Request,
  env: Pick<DashboardEnv, "publicOrigin" | "trustedOrigins">,
  came: "http" | "https" | null,
): boolean {
  if (request.method === "GET" || request.method === "HEAD") return true;
  const origin = request.headers.get("origin");
  if (origin === null) return false;
  return env.trustedOrigins.includes("*") || [ownOrigin(request, env, came), ...env.trustedOrigins].includes(origin);
}
