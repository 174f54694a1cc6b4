/**
 * Step 7: the model's upstreams are called, in the order and as often as the retry plan decides, until one gives the final
 * answer (docs/rules/upstream-calls.md#attempts). Every attempt has its own deadline; waits end when the client leaves. There
 * is no further attempt after the first byte. Invariant: at most one of all answers is kept, and every other one is cancelled.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { orderTargets, type Target } from "../../domain/upstream/endpoint-order.ts";
import {
  type AnsweredStatus,
  type AttemptEnd,
  isRetryable,
  nextStep,
  RETRY_START,
  type RetryRules,
} from "../../domain/upstream/retry-plan.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import type { Resolved } from "../call/known.ts";
import { reportAnswered, reportUnanswered } from "../call/report/upstream-alerts.ts";
import { madeBy } from "../stored/upstream-objects.ts";
import { type AttemptInput, type AttemptResult, attempt, cancelAnswer, type UpstreamAnswer } from "./attempt.ts";
import { diagnoseUpstream } from "./diagnose-upstream.ts";
import { upstreamRetryAfterMs } from "./retry-after.ts";
import { planTransforms } from "./transform-plans.ts";
import { spokenCall } from "./translated-call.ts";
import type { UpstreamProgress } from "./upstream-progress.ts";

/** Totals over the attempts of a request. */
interface AttemptTotals {
  made: number;
  timedOut: number;
  readonly endpoints: Set<string>;
  reason: string;
  cause: string | undefined;
  /** Address of the last attempt; "" before the first. */
  address: string;
}

/**
 * Calls the upstreams of the request's model. `progress` shows how far the calls have come. The caller releases the body.
 * Throws 502, 504, or ClientGone.
 */
export async function forward(
  call: Call,
  request: Resolved,
  progress: UpstreamProgress,
  readsErrors = false,
): Promise<UpstreamAnswer> {
  const { model } = request;
  const targets = targetsOf(call, request);
  const plans = await planTransforms(call, request);
  const spoken = await spokenCall(call, request, plans);
  const sending: AttemptInput = { call, model, ...spoken, progress, readsErrors };
  const totals: AttemptTotals = {
    made: 0,
    timedOut: 0,
    endpoints: new Set(),
    reason: "",
    cause: undefined,
    address: "",
  };
  let kept: UpstreamAnswer | null = null;
  let state = RETRY_START;
  try {
    for (;;) {
      const target = targets[state.target] as Target;
      const attempted = await attempt(sending, target);
      note(sending, totals, target, attempted);
      if (attempted.kind === "answered") {
        if (kept !== null) cancelAnswer(kept);
        kept = attempted.answer;
      }
      const step = nextStep(rulesOf(sending, targets.length), state, endOf(call, attempted));
      if (step.kind === "final" || step.kind === "exhausted") break;
      state = step.state;
      progress.count(step.kind === "again" ? "retry" : "failover");
      // This answer may turn out to be the last one: its deadline stops while other upstreams are called.
      kept?.cancellation.suspend();
      if (step.kind === "again") await pause(call, step.waitMs);
    }
  } catch (error) {
    if (kept !== null) cancelAnswer(kept);
    throw error;
  } finally {
    spoken.release();
  }
  const concluded = conclude(call, request, progress, kept, totals);
  // The client reads a translated answer in the form planned for its own body.
  return spoken.translation === null ? concluded : { ...concluded, applied: plans };
}

/**
 * The upstreams of the request's model, in the order in which they are tried. A form is sent to one endpoint only, because the
 * first attempt may have used up its file (docs/rules/upstream-calls.md#attempts).
 */
export function targetsOf(call: Call, { model, parsed, session, objects }: Resolved): readonly Target[] {
  const nowMs = call.ports.clock();
  const isBound = objects !== undefined && objects.upstreams.length > 0;
  const ordered = orderTargets(model, {
    sessionId: session.id,
    fraction: () => call.ports.random.fraction(),
    isDemoted: (key) => call.memory.endpoints.isFailing(key, nowMs),
    defaultBase: call.config.upstreamBaseUrl,
    every: isBound,
  });
  const targets = isBound ? madeBy(objects, ordered) : ordered;
  return parsed.outgoing.form ? targets.slice(0, 1) : targets;
}

/** A sub-call is attempted once: its request can do without it (docs/rules/settlement-and-rows.md#sub-calls). */
function rulesOf({ call, model, parsed, progress }: AttemptInput, targets: number): RetryRules {
  const { form, resendable } = parsed.outgoing;
  return {
    targets,
    maxRetries: form ? 0 : model.max_retries,
    backoffMs: model.retry_backoff_ms,
    resendable: resendable && (call.parentId === null || progress.calledMs === null),
  };
}

/** Counts an attempt, and records the result of its endpoint in the isolate's memory. */
function note({ call, progress }: AttemptInput, totals: AttemptTotals, target: Target, attempted: AttemptResult): void {
  if (attempted.kind !== "answered") {
    totals.reason = attempted.reason;
    totals.cause = attempted.cause;
  }
  if (attempted.kind === "unusable") return;
  totals.made += 1;
  totals.address = target.apiBase;
  totals.endpoints.add(target.key);
  if (attempted.kind === "timed-out") {
    totals.timedOut += 1;
    progress.count("timeout");
  }
  const { endpoints } = call.memory;
  if (attempted.kind !== "answered" || isRetryable(statusOf(call, attempted.answer)))
    endpoints.failed(target.key, call.ports.clock());
  // The result of a 2xx is known with its last byte: the relay records it.
  else if (!attempted.answer.response.ok) endpoints.answered(target.key);
}

function endOf(call: Call, attempted: AttemptResult): AttemptEnd {
  if (attempted.kind !== "answered") return { kind: attempted.kind };
  return { kind: "answered", ...statusOf(call, attempted.answer) };
}

export function statusOf(call: Call, { response: { status, headers } }: UpstreamAnswer): AnsweredStatus {
  return { status, retryAfterMs: upstreamRetryAfterMs(headers, call.ports.clock()) };
}

/** Waits before the next attempt, until the client leaves or the call is interrupted at the latest. Throws ClientGone. */
async function pause(call: Call, waitMs: number): Promise<void> {
  const over = new AbortController();
  const callOff = call.interruption.listen(() => over.abort());
  await call.ports.sleep(waitMs, AbortSignal.any([call.request.signal, over.signal]));
  callOff();
  if (call.request.signal.aborted) throw new ClientGone();
}

/**
 * The end of the request: the last answer if there was one, otherwise an error (docs/rules/upstream-calls.md#answers).
 */
function conclude(
  call: Call,
  request: Resolved,
  progress: UpstreamProgress,
  kept: UpstreamAnswer | null,
  totals: AttemptTotals,
): UpstreamAnswer {
  const { model } = request;
  if (totals.made > 0) diagnoseUpstream(call, request, totals.address, kept?.response.status ?? null);
  if (kept === null) {
    progress.count("exhausted");
    const { reason, cause, made: attempts } = totals;
    reportUnanswered(call, model, { reason, cause, attempts, endpoints: totals.endpoints.size });
    const everyOneTimedOut = totals.made > 0 && totals.timedOut === totals.made;
    throw new GatewayError(everyOneTimedOut ? "upstream_timeout" : "upstream_failed", { cause: cause ?? reason });
  }
  const { status, ok } = kept.response;
  if (ok || status === 101) progress.count("success");
  if (isRetryable(statusOf(call, kept))) progress.count("exhausted");
  reportAnswered(call, model, status, { attempts: totals.made, endpoints: totals.endpoints.size });
  kept.cancellation.resume();
  return kept;
}
