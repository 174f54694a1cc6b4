/**
 * One attempt at one upstream: credential, body, deadline, answer up to its headers. It never decides whether another one
 * follows; that is the retry plan's. An upstream that refuses the usage option is asked again at once without it, within
 * the same attempt (decisions §22.5).
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import { isUrlAllowed } from "../../../shared/ssrf.ts";
import { upstreamUrl } from "../../../shared/upstream-url.ts";
import type { OpenSpan } from "../../domain/trace/trace.ts";
import { childSpanId, traceparentOf } from "../../domain/trace/trace-context.ts";
import type { Target } from "../../domain/upstream/endpoint-order.ts";
import { asForm, asJson, upstreamHeaders } from "../../domain/upstream/headers.ts";
import { asksForUsage } from "../../domain/upstream/request-body.ts";
import { type Call, ClientGone, type ParsedCall } from "../call/context.ts";
import { AttemptCancellation } from "./attempt-cancellation.ts";

/** How long an upstream that refuses the usage option is remembered (decisions §22.5). */
const OPTION_REFUSED_MS = 10 * 60 * 1000;

/** Upstreams that are remembered; forgetting one that refuses the option costs a call. */
const OPTION_REFUSERS_MAX = 1000;

/** Verdicts on addresses that are remembered. */
const ADDRESSES_MAX = 1000;

/** An answer whose body is still to come. */
export interface UpstreamAnswer {
  readonly response: Response;
  /** Who answered. */
  readonly target: Target;
  /** The usage event was asked for on the client's behalf and is to be withheld. */
  readonly usageAdded: boolean;
  /** When the answered attempt was sent, epoch ms. */
  readonly sentMs: number;
  readonly stop: AttemptCancellation;
  /** Of this attempt; it ends anew with the answer's last byte. */
  readonly span: OpenSpan;
}

/** How an attempt ended; `reason` is for operators. */
export type AttemptResult =
  | { readonly kind: "answered"; readonly answer: UpstreamAnswer }
  | { readonly kind: "unreachable" | "timed-out" | "unusable"; readonly reason: string };

/** What is sent, to whichever upstream. */
export interface AttemptInput {
  readonly call: Call;
  readonly model: ModelRecord;
  readonly parsed: ParsedCall;
  /** Told once, before the first byte leaves. */
  readonly onFirstSend: () => void;
}

/** Makes one attempt. Throws ClientGone, or GatewayError for what the client did wrong. */
export async function attempt(sending: AttemptInput, target: Target): Promise<AttemptResult> {
  const { call, model, parsed } = sending;
  if (!target.isDefault && !mayBeCalled(call, target.apiBase)) return { kind: "unusable", reason: "address blocked" };
  const credential = await openCredential(call, model, target);
  if (credential === undefined) return { kind: "unusable", reason: "credential unreadable" };
  if (call.request.signal.aborted) throw new ClientGone();
  const stop = new AttemptCancellation(call.request.signal, timeoutMsOf(call, model), call.timer);
  const span = call.trace.begin("upstream", call.ports.clock());
  span.set({ endpoint: target.name, attempt: call.trace.count("upstream"), status: 0, ttft_ms: 0 });
  call.facts.endpoint = target.name;
  try {
    const answer = await ask(sending, target, credential, stop, span);
    call.facts.upstreamUnderWay = false;
    span.set({ status: answer.response.status });
    if (!answer.response.ok) span.fail();
    span.end(call.ports.clock());
    return { kind: "answered", answer };
  } catch (error) {
    span.fail();
    span.end(call.ports.clock());
    stop.release();
    if (parsed.outgoing.fault !== null) throw parsed.outgoing.fault;
    if (stop.clientGone) throw new ClientGone();
    if (error instanceof GatewayError) throw error;
    call.facts.upstreamUnderWay = false;
    return stop.timedOut
      ? { kind: "timed-out", reason: "timed out" }
      : { kind: "unreachable", reason: "connection failed" };
  }
}

/** Addresses are few and the policy stays as it is: each is looked at once. */
function mayBeCalled({ memory, config }: Call, apiBase: string): boolean {
  const known = memory.addresses.get(apiBase);
  if (known !== undefined) return known;
  const allowed = isUrlAllowed(apiBase, config.ssrf);
  if (memory.addresses.size >= ADDRESSES_MAX) memory.addresses.clear();
  memory.addresses.set(apiBase, allowed);
  return allowed;
}

/** Lets go of an answer that nobody will read; its connection would stay open otherwise. Nobody waits for that. */
export function cancelAnswer({ response, stop }: UpstreamAnswer): void {
  response.body?.cancel().catch(() => undefined);
  stop.abort();
}

/** The answer, from sending on. */
async function ask(
  sending: AttemptInput,
  target: Target,
  credential: string | null,
  stop: AttemptCancellation,
  span: OpenSpan,
): Promise<UpstreamAnswer> {
  const { call, model, parsed } = sending;
  const headers = upstreamHeaders(call.request.headers, credential);
  if (parsed.outgoing.form) asForm(headers);
  else if (parsed.outgoing.clientBytes !== null) asJson(headers);
  const context = call.traceContext;
  if (context !== null) headers["traceparent"] = traceparentOf(context, childSpanId(context, span.position));
  const first = { ...(await send(sending, target, headers, stop, addsUsage(sending, target))), span };
  if (!first.usageAdded || first.response.status !== 400 || !parsed.outgoing.resendable) return first;
  await first.response.body?.cancel().catch(() => undefined);
  const second = await send(sending, target, headers, stop, false);
  // Only an answer that is better without it shows that the option was to blame, and not the rest of the request.
  if (second.response.ok) noteRefusal(call, optionKey(model, target));
  return { ...second, span };
}

async function send(
  { call, model, parsed, onFirstSend }: AttemptInput,
  target: Target,
  headers: Readonly<Record<string, string>>,
  stop: AttemptCancellation,
  usageAdded: boolean,
): Promise<Omit<UpstreamAnswer, "span">> {
  const body = parsed.outgoing.open(model.upstream_model, usageAdded, () => stop.abort());
  const sentMs = call.ports.clock();
  if (call.facts.upstreamCalledMs === null) onFirstSend();
  call.facts.upstreamCalledMs ??= sentMs;
  call.facts.upstreamUnderWay = true;
  const response = await call.ports.upstream.fetch({
    url: upstreamUrl(target.apiBase, call.path, call.search),
    method: call.request.method,
    headers,
    body,
    signal: stop.signal,
    trusted: target.isDefault,
  });
  call.facts.upstreamStatus = response.status;
  return { response, target, usageAdded, sentMs, stop };
}

function timeoutMsOf(call: Call, model: ModelRecord): number {
  return model.request_timeout_secs === null ? call.config.upstreamTimeoutMs : model.request_timeout_secs * 1000;
}

function noteRefusal({ memory, ports }: Call, upstream: string): void {
  const { usageOptionRefused } = memory;
  if (usageOptionRefused.size >= OPTION_REFUSERS_MAX) usageOptionRefused.clear();
  usageOptionRefused.set(upstream, ports.clock() + OPTION_REFUSED_MS);
}

function optionKey({ id, upstream_model }: ModelRecord, { apiBase }: Target): string {
  return JSON.stringify([id, upstream_model, apiBase]);
}

/** The client reads a stream and has not asked for its usage event, so that the gateway does (decisions §22.5). */
function addsUsage({ call, model, parsed }: AttemptInput, target: Target): boolean {
  if (!call.route.usageOption || !parsed.stream || asksForUsage(parsed.document.root)) return false;
  const { usageOptionRefused } = call.memory;
  if (usageOptionRefused.size === 0) return true;
  const untilMs = usageOptionRefused.get(optionKey(model, target));
  return untilMs === undefined || untilMs <= call.ports.clock();
}

/** Null: none is set. Undefined: it cannot be read. */
async function openCredential(call: Call, model: ModelRecord, target: Target): Promise<string | null | undefined> {
  if (target.credential === null) return null;
  try {
    return await call.ports.secrets.open(target.credential);
  } catch (error) {
    call.ports.log.event("credential_unreadable", {
      model: model.model_name,
      reason: error instanceof Error ? error.name : "unknown",
    });
    return undefined;
  }
}
