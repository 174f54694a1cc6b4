/**
 * Which parts of a call to an MCP server are sent on, and where to (docs/rules/mcp.md#calls). Bodies are never read as
 * JSON-RPC.
 */

import { CR, LF } from "../../../shared/wire/ascii.ts";
import { queryNames, squashed, stepsOf } from "../request/steering-fields.ts";
import { forwardedHeaders, isPassable } from "../upstream/headers.ts";

/** The name of a call's server, and the rest of its path: empty, or starting with a slash. */
export interface McpTarget {
  readonly server: string;
  readonly rest: string;
}

/** The target of a path `/mcp/{server}[/*]`; null for any other path. */
export function mcpTarget(path: string): McpTarget | null {
  const match = /^\/mcp\/([^/]+)(\/.*)?$/.exec(path);
  return match?.[1] === undefined ? null : { server: match[1], rest: match[2] ?? "" };
}

/** The end of the address of a server with the older transport; its page for messages is beside this one. */
const SSE_PAGE = /\/sse\/*$/;

/** Whether the address belongs to a server whose other pages are beside it, not below it. */
export function hasPagesBeside(upstreamUrl: string): boolean {
  return SSE_PAGE.test(new URL(upstreamUrl).pathname);
}

/**
 * The server's URL with the rest of the path and the query appended; a query in the server's own URL comes first, and its
 * parameters are not the client's to set ({@link parametersOfServer}). `beside`: the rest names a page beside the server's own, if
 * that {@link hasPagesBeside}.
 */
export function mcpUrl(upstreamUrl: string, rest: string, search: string, beside = false): string {
  const url = new URL(upstreamUrl);
  url.hash = "";
  if (rest !== "") {
    const base = beside ? url.pathname.replace(SSE_PAGE, "") : url.pathname;
    url.pathname = base.replace(/\/+$/, "") + rest;
  }
  const query = search.replace(/^\?/, "");
  if (query !== "") url.search = url.search === "" ? query : `${url.search}&${query}`;
  return url.href;
}

/**
 * The parameters of a client's query that the operator has set in the server's URL, however they are spelled: which of two
 * values a server takes is not known.
 */
export function parametersOfServer(upstreamUrl: string, search: string): readonly string[] {
  const own = new Set(queryNames(new URL(upstreamUrl).search).map(plainName));
  return queryNames(search).filter((name) => own.has(plainName(name)));
}

/** The name by which parameters are compared: `read_only[0]` gives `readonly`. */
export function plainName(name: string): string {
  return squashed(stepsOf(name)[0] ?? name);
}

/**
 * Headers of the protocol and of HTTP. Each server has other names of its own with which a client could choose the address, the
 * account or the rights behind the operator's credential, so no other header is sent.
 */
const SENT =
  /^(?:accept|accept-language|baggage|content-(?:encoding|type)|last-event-id|mcp-(?:session-id|protocol-version|method|name|param-.+)|origin|traceparent|tracestate|user-agent)$/;

/** The client's headers as they are sent to the server; the server's stored Authorization value replaces the client's. */
export function mcpRequestHeaders(client: Headers, authorization: string | null): Record<string, string> {
  const headers = forwardedHeaders(client, (name) => SENT.test(name));
  if (authorization !== null) headers["authorization"] = authorization;
  return headers;
}

const ANSWERED = ["content-type", "content-encoding", "mcp-session-id", "mcp-protocol-version"];

/** The server's headers that the client gets. */
export function mcpResponseHeaders(server: Headers): Record<string, string> {
  return Object.fromEntries(
    ANSWERED.flatMap((name) => {
      const value = server.get(name);
      return value === null || !isPassable(name, value) ? [] : [[name, value]];
    }),
  );
}

const ID_FIELD = new TextEncoder().encode("id:");

/**
 * Finds the first event id of a stream: with it a client can request to continue the stream from there (`Last-Event-ID`).
 * Bytes may be split anywhere.
 */
export class EventIdScan {
  /** Bytes of the field name that the current line has matched; -1 once it cannot match any more. */
  #matched = 0;
  #found = false;

  get found(): boolean {
    return this.#found;
  }

  push(chunk: Uint8Array): void {
    for (const byte of chunk) {
      if (this.#found) return;
      if (byte === LF || byte === CR) this.#matched = 0;
      else if (this.#matched >= 0) this.#matched = byte === ID_FIELD[this.#matched] ? this.#matched + 1 : -1;
      this.#found = this.#matched === ID_FIELD.byteLength;
    }
  }
}
