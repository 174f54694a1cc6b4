/**
 * The first event of a listening client's stream: where it names the server's address for messages, the client gets the
 * gateway's, and the session in that address is the tenant's before the client knows it (docs/rules/mcp.md#older-transport).
 */

import type { McpTarget } from "../../domain/tools/mcp.ts";
import { mcpUrl } from "../../domain/tools/mcp.ts";
import { endpointOf, firstEvent, gatewayEndpoint, withEndpoint } from "../../domain/tools/mcp-endpoint.ts";
import { idsInQuery } from "../../domain/tools/mcp-session.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";
import type { Call } from "../call/context.ts";
import type { McpAccess } from "./mcp-access.ts";
import { isListening, type McpAnswer } from "./mcp-call.ts";
import { pageId } from "./mcp-session.ts";

/** A stream whose first data begins later has no such address. */
const FIRST_DATA_MAX_BYTES = 8 * 1024;

/** The answer as the client gets it. */
export function withGatewayEndpoint(call: Call, access: McpAccess, target: McpTarget, answer: McpAnswer): McpAnswer {
  const { response } = answer;
  const { body } = response;
  const isStream = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
  if (body === null || !isStream || !isListening(call)) return answer;
  const { status, headers } = response;
  return { ...answer, response: new Response(body.pipeThrough(rewriting(call, access, target)), { status, headers }) };
}

/** Passes bytes on as they came, but for the first event, whose address it replaces. */
function rewriting(call: Call, access: McpAccess, { rest }: McpTarget): TransformStream<Uint8Array, Uint8Array> {
  const { server, principal } = access;
  const called = mcpUrl(server.upstream_url, rest, "");
  let held: Uint8Array | null = new Uint8Array();
  const shown = async (address: string): Promise<string> => {
    const own = gatewayEndpoint({ server: server.name, upstreamUrl: server.upstream_url, called }, address);
    if (own === null) throw new TypeError("the MCP server names an address for messages that is not its own");
    const ids = [pageId(own.rest), ...idsInQuery(own.search)];
    await call.ports.mcpSessions.remember(server.name, ids, principal.tenant.id);
    return own.path;
  };
  return new TransformStream({
    transform: async (chunk, out) => {
      if (held === null) return out.enqueue(chunk);
      const bytes: Uint8Array = concat([held, chunk]);
      held = bytes;
      // A character for each byte, so that places in the text are places of bytes.
      const first = firstEvent(new TextDecoder("latin1").decode(bytes));
      if (first === null && bytes.byteLength <= FIRST_DATA_MAX_BYTES) return;
      held = null;
      if (first === null) return out.enqueue(bytes);
      const end = first.at + first.event.length;
      const event = new TextDecoder().decode(bytes.subarray(first.at, end));
      const address = endpointOf(event);
      if (address === null) return out.enqueue(bytes);
      out.enqueue(bytes.subarray(0, first.at));
      out.enqueue(new TextEncoder().encode(withEndpoint(event, await shown(address))));
      out.enqueue(bytes.subarray(end));
    },
    flush: (out) => {
      if (held !== null && held.byteLength > 0) out.enqueue(held);
    },
  });
}
