/** Whether the address for the verification of a new Worker leads to it. Pure. */

/**
 * The fault of `proxyUrl` for a Worker that does not exist yet; null if it has none. Later the Worker can also have an address
 * from outside wrangler.toml, so only an answer shows where it leads.
 *
 * @param routes of wrangler.toml; none: the Worker gets an address of workers.dev
 */
export function firstAddressProblem(proxyUrl: string, worker: string, routes: readonly string[]): string | null {
  const { hostname } = new URL(proxyUrl);
  if (routes.length === 0) {
    if (hostname.startsWith(`${worker}.`) && hostname.endsWith(".workers.dev")) return null;
    return `GATEWAY_PROXY_BASE_URL leads to ${hostname}, which no route of wrangler.toml gives the Worker: without routes it is ${worker}.<your subdomain>.workers.dev`;
  }
  if (routes.some((route) => matches(route, hostname))) return null;
  return `GATEWAY_PROXY_BASE_URL leads to ${hostname}, which no route of wrangler.toml gives the Worker (${routes.join(", ")})`;
}

/** `gateway.example.com`, `gateway.example.com/*`, `https://*.example.com/v1/*` */
function matches(route: string, hostname: string): boolean {
  const host = route.replace(/^https?:\/\//, "").split("/")[0] ?? "";
  return host.startsWith("*") ? hostname.endsWith(host.slice(1)) : host === hostname;
}
