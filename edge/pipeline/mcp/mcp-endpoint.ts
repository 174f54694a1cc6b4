/**
 * A listening client's stream: where an event names the server's address for messages, the client gets the gateway's, and
 * the session in that address is the tenant's before the client knows it (docs/rules/mcp.md#older-transport).
 */

import type { Steps } from "../../../shared/steps.ts";
import { readEvent, writeEvent } from "../../domain/message-texts/answer-events.ts";
import type { McpTarget } from "../../domain/tools/mcp.ts";
import { mcpUrl } from "../../domain/tools/mcp.ts";
import { gatewayEndpoint, isEndpoint, isReadVariously } from "../../domain/tools/mcp-endpoint.ts";
import { givenInQuery, SESSION_IDS_MAX } from "../../domain/tools/mcp-session.ts";
import { SseFilter } from "../../domain/wire/sse/sse-filter.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import { isEventStream } from "../reply/response-headers.ts";
import type { McpAccess } from "./mcp-access.ts";
import { isListening, type McpAnswer } from "./mcp-call.ts";
import { ownIfNobodys, pageId } from "./mcp-session.ts";

/** Most addresses for messages that one stream names: servers name one, and each is kept for a day. */
const ENDPOINTS_MAX = 4;
/** A longer event names no address of a server: those have some hundred bytes, and more of them would be long work. */
const ENDPOINT_MAX_BYTES = 8 * 1024;
/** Work for a byte of an address, in units. */
const ADDRESS_UNITS = 8;
/** Of an event that is only looked at. */
const BYTES_PER_UNIT = 8;

/** The answer as the client gets it. */
export function withGatewayEndpoint(call: Call, access: McpAccess, target: McpTarget, answer: McpAnswer): McpAnswer {
  const { response } = answer;
  const { body } = response;
  if (body === null || !isEventStream(response.headers.get("content-type")) || !isListening(call)) return answer;
  const { status, headers } = response;
  return { ...answer, response: new Response(body.pipeThrough(rewriting(call, access, target)), { status, headers }) };
}

/** Passes whole events on, and replaces every address for messages. Any event may have one, so each is seen whole. */
function rewriting(call: Call, access: McpAccess, { rest }: McpTarget): TransformStream<Uint8Array, Uint8Array> {
  const { server, principal } = access;
  const called = mcpUrl(server.upstream_url, rest, "");
  const paths = new Set<string>();
  let named: readonly { readonly rest: string; readonly ids: readonly string[] }[] = [];
  const event = function* (bytes: Uint8Array): Steps<Uint8Array> {
    yield bytes.byteLength / BYTES_PER_UNIT;
    const text = new TextDecoder().decode(bytes);
    if (!isEndpoint(text)) return bytes;
    if (isReadVariously(text))
      throw new TypeError("the MCP server names an address for messages that clients read differently");
    if (bytes.byteLength > ENDPOINT_MAX_BYTES)
      throw new TypeError("the MCP server names an address for messages that is too long");
    const { fields, data } = yield* readEvent(bytes);
    if (data === null) return bytes;
    const own = gatewayEndpoint({ server: server.name, upstreamUrl: server.upstream_url, called }, data);
    if (own === null) throw new TypeError("the MCP server names an address for messages that is not its own");
    const ids = givenInQuery(own.search);
    yield data.length * ADDRESS_UNITS;
    if (!paths.has(own.path)) named = [...named, { rest: own.rest, ids }];
    paths.add(own.path);
    if (paths.size > ENDPOINTS_MAX || ids.length > SESSION_IDS_MAX)
      throw new TypeError("the MCP server names too many addresses for messages, or sessions in one");
    return new TextEncoder().encode(writeEvent(fields, own.path));
  };
  const filter = new SseFilter([{ concerns: () => true, event }], true);
  const passed = async (bytes: Uint8Array, out: TransformStreamDefaultController<Uint8Array>): Promise<void> => {
    const { id } = principal.tenant;
    for (const { rest: page, ids } of named) {
      await call.ports.mcpSessions.remember(server.name, [pageId(page)], server.name);
      await ownIfNobodys(call, server.name, ids, id);
    }
    named = [];
    if (bytes.byteLength > 0) out.enqueue(bytes);
  };
  return new TransformStream({
    transform: async (chunk, out) => await passed(await inTurns(call, filter.pushing(chunk)), out),
    flush: async (out) => await passed(filter.finish(), out),
  });
}
