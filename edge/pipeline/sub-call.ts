/**
 * A call that the gateway makes on its own behalf while it serves a client's request: it has a request id, a permit and
 * a row of its own, is charged to the same key and tenant, and ends with its request
 * (docs/rules/settlement-and-rows.md#sub-calls). It is served like every request (serve-admitted.ts), except that it is
 * admitted without waiting and that its answer is collected here. A failure has been settled when it is thrown, and
 * does not make the client's request fail.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { ModelRecord } from "../../shared/records.ts";
import type { RequestType } from "../../shared/usage-row.ts";
import { type JsonObject, wholeDocument } from "../domain/json/document.ts";
import { scanTopLevel } from "../domain/json/top-level.ts";
import { traceparentOf } from "../domain/trace/trace-context.ts";
import { energyTermsOf } from "./access/resolve-model.ts";
import { admitSubCall } from "./admission/admit-sub-call.ts";
import { prepare } from "./admission/prepare.ts";
import { JsonOutgoing } from "./body/json-outgoing.ts";
import { ClientGone } from "./call/client-gone.ts";
import type { Call } from "./call/context.ts";
import { AlreadySettled, NO_BOONS, NO_UPSTREAM, type ParsedCall, type Prepared, StageFailure } from "./call/known.ts";
import { startCall } from "./call/start-call.ts";
import { BoundedBuffer } from "./memory/bounded-buffer.ts";
import { handInRefusal } from "./reply/answer-call.ts";
import { usageRowOf } from "./report/usage-row.ts";
import { serveAdmitted } from "./serve-admitted.ts";

/** Every sub-call is a chat completion. */
const PATH = "/v1/chat/completions";

/** Largest answer that is collected (docs/rules/streams.md#buffered-answers). */
const ANSWER_MAX_BYTES = 4 * 1024 * 1024;

/** The request to a model. */
interface SubCall {
  /** The request type in its row. */
  readonly requestType: RequestType;
  /** A registered and enabled model that the tenant may use: the caller has checked that. */
  readonly model: ModelRecord;
  /** A chat completion that is not streamed; it need not name its model. */
  readonly body: JsonObject;
  /** The longest time from sending to its last byte. */
  readonly timeoutMs: number;
}

/** The model's answer. */
type SubCallAnswer =
  /** The answer with its status, which may be an error; undefined: it is not JSON. */
  | { readonly kind: "answered"; readonly status: number; readonly value: unknown }
  /** The answer was larger than is collected, or than there is memory for. */
  | { readonly kind: "too-large" };

/**
 * Makes a sub-call of a request that has been admitted. Its row is on its way when this returns or throws: GatewayError
 * `scheduler_unavailable`, `upstream_failed` or `upstream_timeout`, and ClientGone when the client of the request left.
 */
export async function subCall(parent: Call, request: Prepared, asked: SubCall): Promise<SubCallAnswer> {
  const call = childOf(parent, asked);
  try {
    const prepared = await preparedOf(call, request, asked);
    const { response } = await serveAdmitted(call, await admitSubCall(call, prepared), null);
    return await collect(call, response);
  } catch (error) {
    if (!(error instanceof StageFailure)) throw error;
    const { cause, known } = error;
    if (!(error instanceof AlreadySettled)) {
      const statusCode = cause instanceof GatewayError ? cause.status : 500;
      const row = usageRowOf(call, known, { statusCode, admission: "rejected" });
      call.waitUntil(handInRefusal(call, known, row, cause));
    }
    throw cause;
  }
}

/** A call of its own, whose client counts as gone when the parent's client leaves. */
export function childOf(parent: Call, { requestType }: Pick<SubCall, "requestType">): Call {
  const { ports, config, memory, waitUntil, traceContext, requestId } = parent;
  const headers = traceContext === null ? {} : { traceparent: traceparentOf(traceContext, traceContext.spanId) };
  const url = new URL(PATH, parent.request.url);
  const request = new Request(url, { method: "POST", headers, signal: parent.request.signal });
  const call = startCall({ ports, config, memory, waitUntil, request, place: { path: PATH, search: "" } });
  return { ...call, route: { ...call.route, requestType }, parentId: requestId };
}

/** The same caller and session, with a body and a model of its own. */
async function preparedOf(call: Call, parent: Prepared, { model, body, timeoutMs }: SubCall): Promise<Prepared> {
  const parsed = parsedOf({ model: model.model_name, ...body }, model.model_name);
  const own = { ...model, request_timeout_secs: timeoutMs / 1000 };
  const energy = await energyTermsOf(call, model);
  const { principal, identity, session } = parent;
  const { modelName: modelText } = parsed;
  const resolved = { ...parent, principal, identity, parsed, modelText, model: own, energy, boons: null, auto: null };
  const fresh = {
    cacheStatus: "off",
    boonReport: NO_BOONS,
    queueWaitMs: 0,
    queueEntryUnknown: false,
    upstream: NO_UPSTREAM,
  } as const;
  return { ...prepare(call, { ...resolved, ...fresh }), session };
}

/** A body of the gateway's own as it is sent. */
export function parsedOf(body: JsonObject, modelName: string): ParsedCall {
  const bytes = new Uint8Array(new TextEncoder().encode(JSON.stringify(body)));
  const top = scanTopLevel(bytes, (name) => name === "model");
  if (top === null) throw new Error("a body that was just written is an object");
  return {
    document: wholeDocument(body),
    modelName,
    stream: false,
    outgoing: new JsonOutgoing([bytes], top),
    edits: [],
  };
}

/** Reads the answer to its end, which settles the call. */
async function collect(call: Call, { status, body }: Response): Promise<SubCallAnswer> {
  const buffer = new BoundedBuffer(ANSWER_MAX_BYTES, call.memory.answerMemory.open());
  try {
    if (body !== null) await readInto(buffer, body);
    const bytes = buffer.take();
    return bytes === null ? { kind: "too-large" } : { kind: "answered", status, value: parseJson(bytes) };
  } catch (error) {
    throw call.request.signal.aborted ? new ClientGone() : new GatewayError("upstream_failed", { cause: error });
  } finally {
    buffer.close();
  }
}

/** Stops when the buffer is full: the call then ends as one whose client left. */
async function readInto(buffer: BoundedBuffer, body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer.push(value);
    if (!buffer.isWhole) return await reader.cancel();
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
