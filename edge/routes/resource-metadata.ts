/**
 * What an MCP client must know to sign in (RFC 9728, docs/rules/mcp.md#sign-in): the issuer of the tokens that the gateway
 * accepts for a server. The answer is the same for every name, whether or not such a server is registered.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { Deps } from "../deps.ts";
import { mcpTarget } from "../domain/tools/mcp.ts";

export const WELL_KNOWN = "/.well-known/";
const METADATA = "/.well-known/oauth-protected-resource";

/** Answers a path below {@link WELL_KNOWN}. Throws 404 for anything that is not served there. */
export function wellKnown(deps: Deps, request: Request, path: string): Response {
  const { jwtIssuers } = deps.env;
  const resource = path.startsWith(`${METADATA}/`) ? path.slice(METADATA.length) : "";
  if (request.method !== "GET" || jwtIssuers.length === 0 || mcpTarget(resource) === null)
    throw new GatewayError("unknown_endpoint");
  return Response.json({
    resource: `${baseOf(deps, request)}${resource}`,
    authorization_servers: [...new Set(jwtIssuers.map(({ issuer }) => issuer))],
    bearer_methods_supported: ["header"],
  });
}

/** Tells the client of an MCP server that refuses its credential where to get one. */
export function withResourceMetadata(deps: Deps, request: Request, path: string, refused: Response): Response {
  // A 401 of the server itself is about the operator's credential.
  if (refused.status !== 401 || deps.env.jwtIssuers.length === 0 || refused.headers.has("x-gateway-upstream-status"))
    return refused;
  const told = new Response(refused.body, refused);
  told.headers.set("www-authenticate", `Bearer resource_metadata="${baseOf(deps, request)}${METADATA}${path}"`);
  return told;
}

/** The address of the gateway for its clients. */
function baseOf({ env }: Deps, request: Request): string {
  return (env.proxyBaseUrl ?? new URL(request.url).origin).replace(/\/+$/, "");
}
