/** The answer that switches a client to WebSocket. */
import { subprotocolsOf } from "../../domain/request/credential.ts";
import type { Call } from "../call/context.ts";
import type { Known } from "../call/known.ts";
import { gatewayHeaders } from "../reply/response-headers.ts";

/** The subprotocol that is answered to a client that offers it. */
const PROTOCOL = "realtime";

/** `theirs`: the client's end of the connection. */
export function switched(call: Call, known: Known, theirs: WebSocket): Response {
  const isOffered = subprotocolsOf(call.request.headers).includes(PROTOCOL);
  const headers = { ...gatewayHeaders(call, known), ...(isOffered ? { "sec-websocket-protocol": PROTOCOL } : {}) };
  return new Response(null, { status: 101, webSocket: theirs, headers });
}
