/**
 * The older transport of MCP (HTTP with SSE, 2024-11-05): a listening client first gets an event `endpoint`, the address to
 * which it sends its messages. It is the server's own, so a client of the gateway gets the gateway's in its place
 * (docs/rules/mcp.md#older-transport).
 */
import { mcpUrl } from "./mcp.ts";

const FIRST_EVENT = /^.*?(?:\r\n\r\n|\n\n|\r\r)/s;
const DATA = /(^|[\r\n])data: ?([^\r\n]*)/;

/** The text of the first event, with its end; null: more has to come. */
export function firstEvent(text: string): string | null {
  return FIRST_EVENT.exec(text)?.[0] ?? null;
}

/** The address in an event; null: the event is another one. */
export function endpointOf(event: string): string | null {
  return /(^|[\r\n])event: ?endpoint[\r\n]/.test(event) ? (DATA.exec(event)?.[2] ?? null) : null;
}

/** The event with another address. */
export function withEndpoint(event: string, address: string): string {
  return event.replace(DATA, (_, start: string) => `${start}data: ${address}`);
}

/**
 * Where a client reaches an address of the server through the gateway: a path with its query, and the rest of the path and
 * the query apart. Null: the address is no page of this server.
 */
export function gatewayEndpoint(
  { server, upstreamUrl, called }: { readonly server: string; readonly upstreamUrl: string; readonly called: string },
  address: string,
): { readonly path: string; readonly search: string } | null {
  if (!URL.canParse(address, called)) return null;
  const url = new URL(address, called);
  // The rest of a path is appended to the base, so the base of any path is that of the shortest rest.
  const base = new URL(mcpUrl(upstreamUrl, "/", ""));
  if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return null;
  for (const name of new URL(upstreamUrl).searchParams.keys()) url.searchParams.delete(name);
  return { path: `/mcp/${server}/${url.pathname.slice(base.pathname.length)}${url.search}`, search: url.search };
}
