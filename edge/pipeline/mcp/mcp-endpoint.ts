/**
 * The first event of a listening client's stream: where it names the server's address for messages, the client gets the
 * gateway's, and the session in that address is the tenant's before the client knows it (docs/rules/mcp.md#older-transport).
 */

import type { McpTarget } from "../../domain/tools/mcp.ts";
import { mcpUrl } from "../../domain/tools/mcp.ts";
import { endpointOf, firstEvent, gatewayEndpoint, withEndpoint } from "../../domain/tools/mcp-endpoint.ts";
import { idsInQuery } from "../../domain/tools/mcp-session.ts";
import type { Call } from "../call/context.ts";
import type { McpAccess } from "./mcp-access.ts";
import { isListening, type McpAnswer } from "./mcp-call.ts";

/** A first event that is longer than this is no address. */
const FIRST_EVENT_MAX_BYTES = 8 * 1024;

/** The answer as the client gets it. */
export function withGatewayEndpoint(call: Call, access: McpAccess, target: McpTarget, answer: McpAnswer): McpAnswer {
  const { response } = answer;
  const { body } = response;
  const isStream = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
  if (body === null || !isStream || !isListening(call)) return answer;
  const { status, headers } = response;
  return { ...answer, response: new Response(body.pipeThrough(rewriting(call, access, target)), { status, headers }) };
}

function rewriting(call: Call, access: McpAccess, { rest }: McpTarget): TransformStream<Uint8Array, Uint8Array> {
  const { server, principal } = access;
  const called = mcpUrl(server.upstream_url, rest, "");
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let held: string | null = "";
  const shown = async (event: string): Promise<string> => {
    const address = endpointOf(event);
    if (address === null) return event;
    const own = gatewayEndpoint({ server: server.name, upstreamUrl: server.upstream_url, called }, address);
    if (own === null) throw new TypeError("the MCP server names an address for messages that is not its own");
    await call.ports.mcpSessions.remember(server.name, idsInQuery(own.search), principal.tenant.id);
    return withEndpoint(event, own.path);
  };
  return new TransformStream({
    transform: async (chunk, out) => {
      if (held === null) return out.enqueue(chunk);
      held += decoder.decode(chunk, { stream: true });
      const first = firstEvent(held);
      if (first === null && held.length <= FIRST_EVENT_MAX_BYTES) return;
      const text = first === null ? held : (await shown(first)) + held.slice(first.length);
      held = null;
      out.enqueue(encoder.encode(text));
    },
    flush: (out) => {
      if (held !== null && held !== "") out.enqueue(encoder.encode(held));
    },
  });
}
