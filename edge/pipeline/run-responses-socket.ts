/** `GET /v1/responses` with a WebSocket (docs/rules/realtime.md#responses-over-a-websocket). */
import { GatewayError } from "../../shared/errors.ts";
import { NO_SESSION, sessionOfHeaders } from "../domain/request/session-id.ts";
import { queryNames } from "../domain/request/steering-fields.ts";
import { authenticate } from "./authenticate/authenticate.ts";
import { authenticateNow, beforeAdmission } from "./authenticate/authenticate-now.ts";
import { watchCaller } from "./authenticate/watch-caller.ts";
import type { Call } from "./call/context.ts";
import type { CallAnswer, Known } from "./call/known.ts";
import { ResponsesSocket } from "./realtime/responses-socket.ts";
import { switched } from "./realtime/switched.ts";
import { answer } from "./receive/answer-call.ts";
import type { PipelineInput } from "./receive/start-call.ts";
import { fieldError } from "./resolve-model/field-error.ts";
import { checkHead } from "./resolve-model/resolve-model.ts";
import { run } from "./run.ts";

/** Headers of the connection alone. */
const OF_CONNECTION =
  /^(?:accept-encoding|connection|upgrade|content-.*|expect|origin|transfer-encoding|sec-websocket-(?:key|version|extensions))$/;

const TOO_MANY = "the tenant has too many WebSockets of this path: close some, or connect again later";

/** Never throws. */
export async function runResponsesSocket(received: PipelineInput): Promise<Response> {
  const { response } = await answer(received, async (call, known) => await steps(received, call, known));
  return response;
}

async function steps(received: PipelineInput, call: Call, known: Known): Promise<CallAnswer> {
  const caller = await authenticate(call, known);
  await beforeAdmission(call, caller, async () => {
    checkHead(call);
    const [name] = queryNames(call.search);
    if (name !== undefined) throw fieldError({ param: name, message: "a WebSocket of this path has no query" });
  });
  const current = await authenticateNow(call, caller);
  watchCaller(call, current, true);
  const { headers: asked, url } = call.request;
  const headers = new Headers([...asked].filter(([name]) => !OF_CONNECTION.test(name.toLowerCase())));
  headers.set("content-type", "application/json");
  // the rows of a connection belong together
  if (sessionOfHeaders(headers) === NO_SESSION && call.config.sessionIdDerivation)
    headers.set("x-session-id", call.requestId);
  const { path } = received.place;
  const { 0: theirs, 1: client } = new WebSocketPair();
  const share = call.memory.responseMemory.join(current.principal.tenant.id, client, call.config.realtimeMaxMs);
  if (share === null) throw new GatewayError("realtime_backlog", { complaint: TOO_MANY });
  new ResponsesSocket(call, client, share, async (body, signal) => {
    const request = new Request(new URL(path, url), { method: "POST", headers, body, signal });
    return await run({ ...received, request, place: { path, search: "" } });
  }).start();
  return { response: switched(call, current, theirs), known: current };
}
