/**
 * The older transport of MCP (HTTP with SSE, 2024-11-05): a listening client first gets an event `endpoint`, the address to
 * which it sends its messages. It is the server's own, so a client of the gateway gets the gateway's in its place
 * (docs/rules/mcp.md#older-transport).
 */
import { mcpUrl } from "./mcp.ts";

const EVENT = /^.*?(?:\r\n\r\n|\n\n|\r\r)/s;
const DATA = /(^|[\r\n])data: ?([^\r\n]*)/;

/**
 * The first event of a stream that has data, and where it begins: before it, some servers send comments or a time to retry. Null:
 * more has to come.
 */
export function firstEvent(text: string): { readonly at: number; readonly event: string } | null {
  for (let at = 0; ; ) {
    const [event] = EVENT.exec(text.slice(at)) ?? [];
    if (event === undefined) return null;
    if (DATA.test(event)) return { at, event };
    at += event.length;
  }
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
 * Where a client reaches an address of the server through the gateway: a path with its query, and apart the rest of the path
 * after the server's name, and the query. Null: the address is no page of this server.
 */
export function gatewayEndpoint(
  { server, upstreamUrl, called }: { readonly server: string; readonly upstreamUrl: string; readonly called: string },
  address: string,
): { readonly path: string; readonly rest: string; readonly search: string } | null {
  if (!URL.canParse(address, called)) return null;
  const url = new URL(address, called);
  // The rest of a path is appended to the base, so the base of any path is that of the shortest rest.
  const base = new URL(mcpUrl(upstreamUrl, "/", "", true));
  if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return null;
  for (const name of new URL(upstreamUrl).searchParams.keys()) url.searchParams.delete(name);
  const rest = `/${url.pathname.slice(base.pathname.length)}`;
  return { path: `/mcp/${server}${rest}${url.search}`, rest, search: url.search };
}
