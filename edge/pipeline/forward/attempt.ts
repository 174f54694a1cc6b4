/**
 * One attempt at one upstream: credential, body, deadline, answer up to its first bytes. The retry plan, not this file,
 * decides whether another attempt follows. An upstream that refuses the change of an optional transform is called again
 * at once without it, within the same attempt (docs/rules/streams.md#usage-event).
 */
import { GatewayError } from "../../../shared/errors.ts";
import { isUrlAllowed } from "../../../shared/network/ssrf.ts";
import { upstreamUrl } from "../../../shared/network/upstream-url.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import type { Translation } from "../../domain/dialect/contract.ts";
import type { OpenSpan } from "../../domain/trace/trace.ts";
import { childSpanId, traceparentOf } from "../../domain/trace/trace-context.ts";
import type { Target } from "../../domain/upstream/endpoint-order.ts";
import { asJson, asPlain, asUpgrade, upstreamHeaders } from "../../domain/upstream/headers.ts";
import type { TransformPlan } from "../../domain/upstream/transform.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import type { ParsedCall } from "../call/known.ts";
import { AttemptCancellation, type TimeLimits } from "./attempt-cancellation.ts";
import { type BegunAnswer, beginningOf, LOOK_MAX_BYTES, lookAtAnswer, unread } from "./look-at-answer.ts";
import { acceptedPlans, asksForStream, editsOf, noteRefusal, refusedPlans } from "./transform-plans.ts";
import type { UpstreamProgress } from "./upstream-progress.ts";

/** Statuses with which an upstream refuses a field. */
const REFUSAL_STATUSES: ReadonlySet<number> = new Set([400, 422]);

/** No request lasts longer (docs/rules/models.md#timeouts-and-retries). */
const DAY_MS = 86_400_000;

/** Most verdicts on addresses that are remembered. */
const ADDRESSES_MAX = 1000;

/** An answer whose body has not arrived yet, except its `head`. */
export interface UpstreamAnswer extends BegunAnswer {
  /** The upstream that answered. */
  readonly target: Target;
  /** The plans that were applied to the request, and are applied to its answer. */
  readonly applied: readonly TransformPlan[];
  /** What makes it an answer in the client's API; null: it is one. */
  readonly translation: Translation | null;
  /** When the answered attempt was sent, epoch ms. */
  readonly sentMs: number;
  readonly cancellation: AttemptCancellation;
  /** The span of this attempt; its end is set again at the answer's last byte. */
  readonly span: OpenSpan;
}

/** How an attempt ended; `reason` is for operators, and `cause` says more for the log. */
export type AttemptResult =
  | { readonly kind: "answered"; readonly answer: UpstreamAnswer }
  | { readonly kind: "unreachable" | "timed-out" | "unusable"; readonly reason: string; readonly cause?: string };

/** The input of every attempt of a request. */
export interface AttemptInput {
  readonly call: Call;
  readonly model: ModelRecord;
  readonly parsed: ParsedCall;
  /** The changes of transforms to the request, for every upstream. */
  readonly plans: readonly TransformPlan[];
  /** By which the body was translated; null: it was not. */
  readonly translation: Translation | null;
  readonly progress: UpstreamProgress;
  /** The body of a 400 decides whether another model is tried: there is no answer without it. */
  readonly readsErrors: boolean;
}

/** Makes one attempt. Throws ClientGone, or GatewayError for the client's error. */
export async function attempt(sending: AttemptInput, target: Target): Promise<AttemptResult> {
  const { call, model, parsed, progress } = sending;
  if (!target.isDefault && !mayBeCalled(call, target.apiBase)) return { kind: "unusable", reason: "address blocked" };
  const credential = await openCredential(call, model, target);
  if (credential === undefined) return { kind: "unusable", reason: "credential unreadable" };
  if (call.request.signal.aborted) throw new ClientGone();
  if (call.interruption.failure !== null) throw call.interruption.failure;
  const cancellation = new AttemptCancellation(
    call.request.signal,
    limitsOf(call, model, parsed),
    call.timer,
    call.ports.clock,
    call.interruption,
  );
  const span = call.trace.begin("upstream", call.ports.clock());
  span.set({ endpoint: target.name, attempt: call.trace.count("upstream"), status: 0, ttft_ms: 0 });
  if (sending.translation !== null) span.set({ translated_to: model.api_dialect });
  const { status: earlierStatus } = progress;
  progress.begin(target);
  try {
    const answer = await sendOnce(sending, target, credential, cancellation, span);
    cancellation.begun();
    progress.end();
    span.set({ status: answer.response.status });
    if (!answer.response.ok) span.fail();
    span.end(call.ports.clock());
    return { kind: "answered", answer };
  } catch (error) {
    span.fail();
    span.end(call.ports.clock());
    cancellation.abort();
    if (parsed.outgoing.fault !== null) throw parsed.outgoing.fault;
    if (cancellation.clientGone) throw new ClientGone();
    if (cancellation.interrupted !== null) throw cancellation.interrupted;
    if (error instanceof GatewayError) throw error;
    progress.answered(earlierStatus);
    progress.end();
    const { host } = new URL(target.apiBase);
    const { timedOut } = cancellation;
    return timedOut === null
      ? { kind: "unreachable", reason: "connection failed", cause: `${host}: ${rootCause(error)}` }
      : { kind: "timed-out", reason: "timed out", cause: `${host}: ${timedOut}` };
  }
}

/** Addresses are few and the policy does not change: each address is checked once. */
function mayBeCalled({ memory, config }: Call, apiBase: string): boolean {
  const known = memory.addresses.get(apiBase);
  if (known !== undefined) return known;
  const allowed = isUrlAllowed(apiBase, config.ssrf);
  if (memory.addresses.size >= ADDRESSES_MAX) memory.addresses.clear();
  memory.addresses.set(apiBase, allowed);
  return allowed;
}

/** Cancels an answer that will not be read, because its connection would stay open otherwise. Not awaited. */
export function cancelAnswer({ response, cancellation }: UpstreamAnswer): void {
  response.body?.cancel().catch(() => undefined);
  cancellation.abort();
}

/** Sends the request once and returns the answer. */
async function sendOnce(
  sending: AttemptInput,
  target: Target,
  credential: string | null,
  cancellation: AttemptCancellation,
  span: OpenSpan,
): Promise<UpstreamAnswer> {
  const { call, parsed } = sending;
  const headers = upstreamHeaders(call.request.headers, target.access, credential);
  if (call.route.requestType === "realtime") asUpgrade(headers, call.request.headers);
  else if (parsed.outgoing.form) asPlain(headers);
  else if (parsed.outgoing.clientBytes !== null) asJson(headers);
  const context = call.traceContext;
  if (context !== null) headers["traceparent"] = traceparentOf(context, childSpanId(context, span.position));
  const plans = acceptedPlans(sending, target);
  const first = { ...(await send(sending, target, headers, cancellation, plans)), span };
  if (first.response.ok || !parsed.outgoing.resendable) return first;
  const refused = await refusedPlans(sending, plans, first.head);
  if (refused.length === 0) return first;
  await first.response.body?.cancel().catch(() => undefined);
  const others = plans.filter((plan) => !refused.includes(plan));
  const second = await send(sending, target, headers, cancellation, others);
  // Only a successful answer without the optional changes shows that they were refused, and not the rest of the
  // request.
  if (second.response.ok) noteRefusal(sending, target, refused);
  return { ...second, span };
}

async function send(
  sending: AttemptInput,
  target: Target,
  headers: Readonly<Record<string, string>>,
  cancellation: AttemptCancellation,
  applied: readonly TransformPlan[],
): Promise<Omit<UpstreamAnswer, "span">> {
  const { call, model, parsed, progress, translation } = sending;
  const body = parsed.outgoing.open(model.upstream_model, editsOf(applied), () => cancellation.abort());
  const sentMs = call.ports.clock();
  progress.sent(model, sentMs);
  const response = await call.ports.upstream.fetch({
    url:
      translation === null
        ? upstreamUrl(target.apiBase, call.path, call.search)
        : upstreamUrl(target.apiBase, `/v1/${translation.path}`, ""),
    method: call.request.method,
    headers,
    body,
    signal: cancellation.signal,
    trusted: target.isDefault,
  });
  progress.answered(response.status);
  if (response.status === 429 || response.status === 503) progress.count("refused");
  // A client that leaves now owes nothing.
  if (!response.ok) progress.end();
  const begun = await begin(sending, response, applied, cancellation);
  progress.answered(begun.response.status);
  return { ...begun, target, applied, translation, sentMs, cancellation };
}

/** The answer with as much of its body as is needed to decide the next attempt. */
async function begin(
  { call, parsed, readsErrors }: AttemptInput,
  response: Response,
  applied: readonly TransformPlan[],
  { idle }: AttemptCancellation,
): Promise<BegunAnswer> {
  const { answerMemory } = call.memory;
  if (response.ok) return await lookAtAnswer(response, answerMemory, idle, asksForStream(parsed));
  if (readsErrors && response.status === 400) return await beginningOf(response, LOOK_MAX_BYTES, answerMemory, idle);
  const mayBeRefusal = REFUSAL_STATUSES.has(response.status) && applied.some((plan) => plan.optional);
  return mayBeRefusal ? await beginningOf(response, 1, answerMemory, idle) : unread(response);
}

/** A stream whose model limits nothing is not cut while it sends: the default limits its silences instead. */
function limitsOf(call: Call, model: ModelRecord, parsed: ParsedCall): TimeLimits {
  const msOf = (secs: number | null): number | null => secs && secs * 1000;
  const ownMs = msOf(model.request_timeout_secs);
  const { upstreamTimeoutMs: defaultMs } = call.config;
  const isStream = asksForStream(parsed);
  const silenceMs = isStream && ownMs === null ? defaultMs : 0;
  return {
    wholeMs: ownMs ?? (isStream ? DAY_MS : defaultMs),
    firstMs: isStream ? (msOf(model.first_token_timeout_secs) ?? silenceMs) : 0,
    idleMs: msOf(model.idle_timeout_secs) ?? silenceMs,
  };
}

/** Null: the endpoint has none. Undefined: it cannot be read. */
async function openCredential(call: Call, model: ModelRecord, target: Target): Promise<string | null | undefined> {
  if (target.credential === null) return null;
  try {
    return await call.ports.secrets.open(target.credential);
  } catch (error) {
    call.ports.log.event("credential_unreadable", {
      model: model.model_name,
      reason: rootCause(error),
    });
    return undefined;
  }
}
