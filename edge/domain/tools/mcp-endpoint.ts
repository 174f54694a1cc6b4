/**
 * The older transport of MCP (HTTP with SSE, 2024-11-05): a listening client gets an event `endpoint`, first of all, the address
 * to which it sends its messages. It is the server's own, so a client of the gateway gets the gateway's in its place
 * (docs/rules/mcp.md#older-transport).
 */
import { OTHER_ENDS } from "../wire/sse/events.ts";
import { mcpUrl, parametersOfServer } from "./mcp.ts";

const ENDPOINT = new RegExp(`(?:^|[\\r\\n${OTHER_ENDS}])event: ?endpoint(?:$|[\\r\\n${OTHER_ENDS}])`);
const OTHER_END = new RegExp(`[${OTHER_ENDS}]`);

/** Whether the text of an event names an address for messages, to any client. */
export function isEndpoint(event: string): boolean {
  return ENDPOINT.test(event);
}

/** Whether only some clients read it so: for them a line ends at other characters, too. */
export function isReadVariously(event: string): boolean {
  return OTHER_END.test(event);
}

/**
 * Where a client reaches an address of the server through the gateway: a path with its query, and separately the rest of the
 * path after the server's name, and the query. Null: the address is not a page of this server.
 */
export function gatewayEndpoint(
  { server, upstreamUrl, called }: { readonly server: string; readonly upstreamUrl: string; readonly called: string },
  address: string,
): { readonly path: string; readonly rest: string; readonly search: string } | null {
  if (!URL.canParse(address, called)) return null;
  const url = new URL(address, called);
  // The rest of a path is appended to the base, so the base of any path is that of the shortest rest.
  const base = new URL(mcpUrl(upstreamUrl, "/", "", true));
  const isOwn = url.pathname === new URL(upstreamUrl).pathname;
  if (url.origin !== base.origin || (!isOwn && !url.pathname.startsWith(base.pathname))) return null;
  const own = new Set(parametersOfServer(upstreamUrl, url.search));
  if (own.size > 0) {
    // a client sends back no spelling of them
    const all = new URLSearchParams(url.search.replaceAll(";", "&"));
    url.search = new URLSearchParams([...all].filter(([name]) => !own.has(name))).toString();
  }
  const rest = isOwn ? "" : `/${url.pathname.slice(base.pathname.length)}`;
  return { path: `/mcp/${server}${rest}${url.search}`, rest, search: url.search };
}
