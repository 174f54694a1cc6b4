/**
 * `/v1/files` and `/v1/batches`: the control service answers them for the caller, whose key was checked here
 * (docs/rules/batches.md#routes). They need no slot, cost nothing and write no row; few are under way at once. Bodies are never
 * held, and have the time limits of every body. A transfer under way ends with its key (docs/rules/keys.md#running-requests).
 */
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { GatewayError } from "../../shared/errors.ts";
import { authenticateNow } from "./authenticate/authenticate-now.ts";
import { watchCaller } from "./authenticate/watch-caller.ts";
import { pulledStream } from "./call/body-stream.ts";
import type { Call } from "./call/context.ts";
import type { Authenticated } from "./call/known.ts";
import { logEnd } from "./call/report/report-end.ts";
import { usageRowOf } from "./call/report/usage-row.ts";
import { answer } from "./receive/answer-call.ts";
import type { PipelineInput } from "./receive/start-call.ts";
import { watchedBody } from "./relay/watched-body.ts";
import { gatewayHeaders } from "./reply/response-headers.ts";
import { openBody } from "./resolve-model/read-body.ts";
import { checkHead } from "./resolve-model/resolve-model.ts";

type ForwardedRequest = Pick<Request, "method" | "headers" | "body" | "signal">;

/** The control service, which keeps the files and runs the batches. */
interface FileService {
  /** Rejects without an answer. */
  forward(
    target: string,
    request: ForwardedRequest,
    caller: { readonly tenantId: string; readonly keyId: string },
  ): Promise<Response>;
}

/** The fields of a form other than its file. */
const FORM_BYTES = 1024 * 1024;
const PASSED_ON = ["content-type", "content-length", "content-disposition", "retry-after"];
const AGAIN_SECS = 1;

/** Answers with the response of the control service. */
export async function runFiles(received: PipelineInput, control: FileService): Promise<Response> {
  const { response } = await answer(received, async (call, known) => {
    const caller = await authenticateNow(call, known);
    watchCaller(call, caller, true);
    checkHead(call);
    const onEnd = call.memory.fileCalls.begin(caller.principal.tenant.id);
    if (onEnd === null) throw new GatewayError("files_busy", { headers: { "retry-after": String(AGAIN_SECS) } });
    try {
      return { response: await passedOn(call, caller, control, onEnd), known: caller };
    } catch (error) {
      onEnd();
      throw error;
    }
  });
  return response;
}

/** The answer of the control service; `onEnd` is called when its body has ended. */
async function passedOn(call: Call, caller: Authenticated, control: FileService, onEnd: () => void): Promise<Response> {
  const { key, tenant } = caller.principal;
  const from = { tenantId: tenant.id, keyId: key.key_id };
  const { request, cut } = forwarded(call);
  const callOff = call.interruption.listen(() => cut.abort(call.interruption.failure));
  const answered = await control
    .forward(`${call.path}${call.search}`, request, from)
    .catch((cause: unknown) => {
      throw cut.signal.aborted ? cut.signal.reason : new GatewayError("files_unavailable", { cause });
    })
    .finally(callOff);
  if (answered.status >= 500) {
    await answered.body?.cancel();
    throw new GatewayError("files_unavailable", { cause: `the control service answered ${answered.status}` });
  }
  const headers = new Headers(gatewayHeaders(call, caller));
  for (const name of PASSED_ON) {
    const value = answered.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  logEnd(call, caller, usageRowOf(call, caller, { statusCode: answered.status, admission: "fast" }));
  const { body, status } = answered;
  if (body === null) onEnd();
  const bytes = Number(answered.headers.get("content-length") ?? Number.NaN);
  const size = Number.isInteger(bytes) ? bytes : null;
  return new Response(body && watchedBody(call, body, { size, onEnd }), { status, headers });
}

/** The request with its body within its limits; `cut` is aborted with the fault of the body, and ends the request. */
function forwarded(call: Call): { readonly request: ForwardedRequest; readonly cut: AbortController } {
  const { method, headers, body } = call.request;
  const cut = new AbortController();
  const signal = AbortSignal.any([call.request.signal, cut.signal]);
  if (body === null) return { request: { method, headers, body, signal }, cut };
  const source = openBody(call, LIMITS.fileBytes + FORM_BYTES);
  const stream = pulledStream(source.declaredBytes, {
    pull: async (controller) => {
      try {
        const chunk = await source.next();
        if (chunk === null) controller.close();
        else controller.enqueue(chunk);
      } catch (error) {
        // a failing stream may look complete to its reader
        cut.abort(error);
        throw error;
      }
    },
  });
  return { request: { method, headers, body: stream, signal }, cut };
}
