/**
 * Which site a request comes from (docs/rules/console.md#origins). A write must name its origin: browsers send the header
 * with every write, and a page of another site cannot change it.
 */
import type { DashboardEnv } from "./env.ts";

/** The console's own origin as the browser sees it. */
export function ownOrigin(request: Request, { publicOrigin }: Pick<DashboardEnv, "publicOrigin">): string {
  return publicOrigin ?? new URL(request.url).origin;
}

/** Whether a write may come from where it says; every other request may come from anywhere. */
export function isOriginAllowed(request: Request, env: Pick<DashboardEnv, "publicOrigin" | "trustedOrigins">): boolean {
  if (request.method === "GET" || request.method === "HEAD") return true;
  const origin = request.headers.get("origin");
  if (origin === null) return false;
  return env.trustedOrigins.includes("*") || [ownOrigin(request, env), ...env.trustedOrigins].includes(origin);
}

/** A path of the console itself: what leads elsewhere, or is none, becomes `/`. */
export function ownPath(path: string | undefined): string {
  const base = "http://console.invalid";
  if (path === undefined || !URL.canParse(path, base)) return "/";
  const url = new URL(path, base);
  return url.origin === base && path.startsWith("/") ? `${url.pathname}${url.search}` : "/";
}
