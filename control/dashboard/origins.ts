/**
 * Which site a request comes from (docs/rules/console.md#origins). A write must name its origin: browsers send the header
 * with every write, and a page of another site cannot change it.
 */
import { type DashboardEnv, isLoopback } from "./env.ts";

/**
 * The console's own origin as the browser sees it. Without a public one it is that of the request, on loopback alone: any
 * other host was chosen by the sender of the request. Null if there is none. Loopback has several names; a public origin there
 * allows all of them.
 */
export function ownOrigin(request: Request, { publicOrigin }: Pick<DashboardEnv, "publicOrigin">): string | null {
  if (publicOrigin !== null && !isLoopback(new URL(publicOrigin))) return publicOrigin;
  const url = new URL(request.url);
  return isLoopback(url) ? url.origin : publicOrigin;
}

/** Whether a write may come from where it says; every other request may come from anywhere. */
export function isOriginAllowed(
  request: Request,
  ownOrigin: string,
  { trustedOrigins }: Pick<DashboardEnv, "trustedOrigins">,
): boolean {
  if (request.method === "GET" || request.method === "HEAD") return true;
  const origin = request.headers.get("origin");
  if (origin === null) return false;
  return trustedOrigins.includes("*") || [ownOrigin, ...trustedOrigins].includes(origin);
}
