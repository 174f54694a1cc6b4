/**
 * Calls that the gateway makes on its own behalf while it serves a client's request
 * (docs/rules/settlement-and-rows.md#sub-calls). A sub-call has its own request id and row, is charged to the same key and
 * tenant, and ends with its request; it takes no slot, so it may be made before the request is admitted as well as after. It is
 * served like every request (serve-admitted.ts). An unbilled call goes to a model's upstream by the same rules and leaves no
 * row. A failure has been settled when it is thrown, and does not make the client's request fail.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { ModelRecord } from "../../shared/records.ts";
import type { RequestType } from "../../shared/usage/usage-row.ts";
import { traceparentOf } from "../domain/trace/trace-context.ts";
import { clientStatus } from "../domain/usage/billing.ts";
import { isJsonObject, type JsonObject } from "../domain/wire/json/document.ts";
import { parsedInSteps } from "../domain/wire/json/parse-in-steps.ts";
import { admit } from "./admit/admit.ts";
import { admitSubCall } from "./admit/admit-sub-call.ts";
import { epochRev, modelRev } from "./authenticate/freshness.ts";
import { ClientGone } from "./call/client-gone.ts";
import { type Call, MODEL_TEXT_MAX } from "./call/context.ts";
import { inTurns } from "./call/in-turns.ts";
import { Interruption } from "./call/interruption.ts";
import { type Authenticated, NO_BOONS, NO_UPSTREAM, type Parsed, type Prepared, type Resolved } from "./call/known.ts";
import { BoundedBuffer } from "./call/memory/bounded-buffer.ts";
import { attempt, cancelAnswer, type UpstreamAnswer } from "./forward/attempt.ts";
import { targetsOf } from "./forward/forward.ts";
import { spokenCall } from "./forward/translated-call.ts";
import { UpstreamProgress } from "./forward/upstream-progress.ts";
import { prepare } from "./prepare/prepare.ts";
import { causeOf } from "./receive/answer-call.ts";
import { startCall } from "./receive/start-call.ts";
import { serveAdmitted } from "./relay/serve-admitted.ts";
import { writtenCall } from "./resolve-model/json-outgoing.ts";
import { energyTermsOf } from "./resolve-model/resolve-model.ts";

/** Every sub-call is a chat completion. */
const PATH = "/v1/chat/completions";

/** Largest answer that is collected (docs/rules/streams.md#buffered-answers). */
const ANSWER_MAX_BYTES = 4 * 1024 * 1024;

/** How often a model's record is read when the Cell knows a newer one. */
const LOOKS_MAX = 3;

/** The request to a model. */
interface OwnCall {
  /** A registered and enabled model ({@link currentModel}). */
  readonly model: ModelRecord;
  /**
   * A chat completion; it need not name its model. The gateway requests the usage of a streamed one, as it does for clients
   * (docs/rules/streams.md#usage-event).
   */
  readonly body: JsonObject;
  /** The longest time from sending to its last byte. */
  readonly timeoutMs: number;
}

/** A request to a model that is billed. */
export interface SubCall extends OwnCall {
  /** The request type in its row. */
  readonly requestType: RequestType;
  /** Ends the call like a client that leaves; when it is omitted, the client of the request does. */
  readonly signal?: AbortSignal;
  /** Called with the request as it is checked and billed. */
  readonly onPrepared?: (prepared: Prepared) => void;
}

/** The model's answer. */
type SubCallAnswer =
  /** The answer with its status, which may be an error; undefined: it is not JSON. */
  | { readonly kind: "answered"; readonly status: number; readonly value: unknown }
  /** The answer was larger than is collected, or than there is memory for. */
  | { readonly kind: "too-large" };

/**
 * The record of a model that is registered and enabled now; null if there is none. A sub-call's model is the operator's choice,
 * so the tenant's list of models does not matter. Throws GatewayError `key_store_unavailable` or `scheduler_unavailable` when
 * that cannot be decided.
 */
export async function currentModel(call: Call, name: string): Promise<ModelRecord | null> {
  // A name that cannot be registered is not looked up, like a client's (resolve-model.ts).
  if (name.length > MODEL_TEXT_MAX || !name.isWellFormed()) return null;
  const { directory, admission } = call.ports;
  for (let look = 1; look <= LOOKS_MAX; look += 1) {
    let found = await directory.model(name);
    if (found?.record.enabled === false && found.source === "memory")
      found = await directory.model(name, { fresh: true });
    if (found?.record.enabled !== true) return null;
    const stale = await admission.view.staleAmong([modelRev(found.record), epochRev(call)]);
    if (stale.length === 0) return found.record;
    directory.forget(stale);
  }
  throw new GatewayError("key_store_unavailable");
}

/**
 * Makes a sub-call and returns its answer as soon as its headers are here; its status may be an error. Read the answer to its
 * end, or cancel it: that settles the call. Throws, with its row on its way, GatewayError `scheduler_unavailable`,
 * `upstream_failed` or `upstream_timeout`, and ClientGone when the client of the request left. A client that leaves later, or
 * an upstream that breaks off, ends the body as it ends a client's answer.
 */
export async function openSubCall(parent: Call, request: Prepared, asked: SubCall): Promise<Response> {
  return await openAs(childOf(parent, request, asked.requestType, asked.signal), request, asked);
}

/**
 * Makes a sub-call that is not streamed, and collects its answer. Its row is on its way when this returns or throws what
 * {@link openSubCall} throws; an answer that breaks off is `upstream_failed`.
 */
export async function subCall(parent: Call, request: Prepared, asked: SubCall): Promise<SubCallAnswer> {
  const call = childOf(parent, request, asked.requestType, asked.signal);
  const { status, body } = await openAs(call, request, asked);
  try {
    return await collect(call, status, body);
  } catch (error) {
    throw call.request.signal.aborted ? new ClientGone() : new GatewayError("upstream_failed", { cause: error });
  }
}

/**
 * Calls the upstream of a model once, not streamed, and collects its answer. The call is not billed, not admitted and leaves no
 * row: it is for the gateway's own questions about a request that has no model yet. Its time limit may be much shorter than a
 * client's, so a failure raises no alert and says nothing about the endpoint. Throws GatewayError `upstream_failed` or
 * `upstream_timeout`, and ClientGone.
 */
export async function unbilledCall(parent: Call, caller: Parsed, asked: OwnCall): Promise<SubCallAnswer> {
  const call = childOf(parent, caller);
  const request = { ...caller, ...(await ownOf(call, asked)), energy: null, boons: null };
  const { model } = request;
  const spoken = await spokenCall(call, request, []);
  try {
    const sending = { call, model, ...spoken, progress: new UpstreamProgress(), readsErrors: false };
    for (const target of targetsOf(call, request)) {
      const attempted = await attempt(sending, target);
      if (attempted.kind === "answered") return await collectOnce(call, attempted.answer);
      const { cause } = attempted;
      if (attempted.kind === "timed-out") throw new GatewayError("upstream_timeout", { cause });
      if (attempted.kind === "unreachable") throw new GatewayError("upstream_failed", { cause });
    }
  } finally {
    spoken.release();
  }
  throw new GatewayError("upstream_failed", { cause: "no endpoint can be called" });
}

async function collectOnce(call: Call, answer: UpstreamAnswer): Promise<SubCallAnswer> {
  const { response, head, cancellation, translation } = answer;
  try {
    const status = clientStatus(response.status);
    const collected = await collect(call, status, response.body, cancellation.signal, head);
    if (translation === null || collected.kind === "too-large") return collected;
    const { value } = collected;
    if (!response.ok) return { ...collected, value: translation.error(status, value) };
    return isJsonObject(value) ? { ...collected, value: await inTurns(call, translation.answer(value)) } : collected;
  } catch (error) {
    if (cancellation.clientGone) throw new ClientGone();
    if (cancellation.timedOut !== null) throw new GatewayError("upstream_timeout", { cause: cancellation.timedOut });
    throw new GatewayError("upstream_failed", { cause: error });
  } finally {
    cancelAnswer(answer);
  }
}

async function openAs(call: Call, parent: Prepared, asked: SubCall): Promise<Response> {
  // Nothing was sent anywhere, so there is no row.
  if (call.interruption.failure !== null) throw call.interruption.failure;
  try {
    const prepared = await preparedOf(call, parent, asked);
    asked.onPrepared?.(prepared);
    // Its records have just been compared.
    const admitted = await (call.sharesSlot
      ? admit(call, prepared, async (again) => again)
      : admitSubCall(call, prepared));
    const { response } = await serveAdmitted(call, admitted, null);
    return response;
  } catch (error) {
    throw causeOf(call, error);
  }
}

/** A separate call, whose client counts as gone when the parent's client leaves. */
function childOf(
  parent: Call,
  { principal }: Authenticated,
  requestType: RequestType = "chat",
  signal = parent.request.signal,
): Call {
  const { ports, config, memory, waitUntil, traceContext, requestId, reservesJudgement } = parent;
  const headers = traceContext === null ? {} : { traceparent: traceparentOf(traceContext, traceContext.spanId) };
  const url = new URL(PATH, parent.request.url);
  const request = new Request(url, { method: "POST", headers, signal });
  memory.turns.belongs(request, principal.tenant.id);
  const call = startCall({ ports, config, memory, waitUntil, request, place: { path: PATH, search: "" } });
  const interruption = new Interruption(parent.interruption);
  const reserving = reservesJudgement && requestType === "guardrails_boon" ? ({ sharesSlot: true } as const) : {};
  return { ...call, ...reserving, interruption, route: { ...call.route, requestType }, parentId: requestId };
}

/** The same caller and session, with another body and model. */
async function preparedOf(call: Call, parent: Prepared, asked: SubCall): Promise<Prepared> {
  const energy = await energyTermsOf(call, asked.model);
  const fresh = {
    cacheStatus: "off",
    boons: null,
    auto: null,
    asked: null,
    boonReport: NO_BOONS,
    queueWaitMs: 0,
    queueEntryUnknown: false,
    upstream: NO_UPSTREAM,
  } as const;
  return await prepare(call, { ...parent, ...(await ownOf(call, asked)), ...fresh, energy });
}

/** A call's own parts: body, model and time limit; no boon acts on it. */
async function ownOf(
  call: Call,
  { model, body, timeoutMs }: OwnCall,
): Promise<Pick<Resolved, "parsed" | "modelText" | "model" | "boons">> {
  const modelText = model.model_name;
  const parsed = await inTurns(
    call,
    writtenCall({ model: modelText, ...body }, modelText, (name) => call.ports.transforms.edits(name)),
  );
  return { parsed, modelText, model: { ...model, request_timeout_secs: timeoutMs / 1000 }, boons: null };
}

/** Reads an answer after its `head` to its end, unless the signal ends it before. Rejects when the answer breaks off. */
async function collect(
  call: Call,
  status: number,
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal = call.request.signal,
  head = new Uint8Array(0),
): Promise<SubCallAnswer> {
  const buffer = new BoundedBuffer(ANSWER_MAX_BYTES, call.memory.answerMemory.open());
  try {
    buffer.push(head);
    if (body !== null) await readInto(buffer, body, signal);
    const bytes = buffer.take();
    if (bytes === null) return { kind: "too-large" };
    return { kind: "answered", status, value: await inTurns(call, parsedInSteps(new TextDecoder().decode(bytes))) };
  } finally {
    buffer.close();
  }
}

/** Stops when the buffer is full: the call then ends as one whose client left. */
async function readInto(buffer: BoundedBuffer, body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void> {
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (signal.aborted) throw new Error("the call was ended");
      if (done) return;
      buffer.push(value);
      if (!buffer.isWhole) return await reader.cancel();
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
