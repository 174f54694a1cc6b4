/**
 * Step 7: the model's upstreams are called, in order and as often as the retry plan says, until one answers for good
 * (decisions §22). Every attempt has a deadline of its own; waits end when the client leaves. Never retried after the first
 * byte. Invariant: of all answers at most one is kept, and every other one is let go of.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import { countOutcome } from "../../domain/upstream/attempt-outcomes.ts";
import { orderTargets, type Target } from "../../domain/upstream/endpoint-order.ts";
import {
  type AttemptEnd,
  isRetryable,
  nextStep,
  RETRY_START,
  type RetryRules,
} from "../../domain/upstream/retry-plan.ts";
import { type Call, ClientGone, type ParsedCall } from "../call/context.ts";
import { reportAnswered, reportUnanswered } from "../report/upstream-alerts.ts";
import { type AttemptInput, type AttemptResult, attempt, cancelAnswer, type UpstreamAnswer } from "./attempt.ts";
import { diagnoseUpstream } from "./diagnose-upstream.ts";
import { upstreamRetryAfterMs } from "./retry-after.ts";

/** What the attempts of a request have come to. */
interface AttemptTotals {
  made: number;
  timedOut: number;
  readonly endpoints: Set<string>;
  reason: string;
  /** Address of the last attempt; "" before the first. */
  address: string;
}

/** Calls the model's upstreams. `onFirstSend` is told once, before the first byte leaves. Throws 502, 504, or ClientGone. */
export async function forward(
  call: Call,
  model: ModelRecord,
  parsed: ParsedCall,
  onFirstSend: () => void,
): Promise<UpstreamAnswer> {
  const targets = targetsOf(call, model, parsed);
  const sending: AttemptInput = { call, model, parsed, onFirstSend };
  const tally: AttemptTotals = { made: 0, timedOut: 0, endpoints: new Set(), reason: "", address: "" };
  let kept: UpstreamAnswer | null = null;
  let state = RETRY_START;
  try {
    for (;;) {
      const target = targets[state.target] as Target;
      const attempted = await attempt(sending, target);
      note(call, tally, target, attempted);
      if (attempted.kind === "answered") {
        if (kept !== null) cancelAnswer(kept);
        kept = attempted.answer;
      }
      const step = nextStep(rulesOf(model, parsed, targets.length), state, endOf(call, attempted));
      if (step.kind === "final" || step.kind === "exhausted") break;
      state = step.state;
      countOutcome(call.facts.upstreamOutcomes, step.kind === "again" ? "retry" : "failover");
      // An answer may yet be the last one there was: its time stands still while others are asked.
      kept?.stop.suspend();
      if (step.kind === "again") await pause(call, step.waitMs);
    }
  } catch (error) {
    if (kept !== null) cancelAnswer(kept);
    throw error;
  } finally {
    parsed.outgoing.release();
  }
  return conclude(call, model, kept, tally);
}

/** A form is sent to one endpoint: its file may be gone with the first attempt (decisions §22.2). */
function targetsOf(call: Call, model: ModelRecord, parsed: ParsedCall): readonly Target[] {
  const nowMs = call.ports.clock();
  const targets = orderTargets(model, {
    sessionId: call.facts.prepared?.session.id ?? "",
    fraction: () => call.ports.random.fraction(),
    isTriedLast: (key) => call.memory.endpoints.isDemoted(key, nowMs),
    defaultBase: call.config.upstreamBaseUrl,
  });
  return parsed.outgoing.form ? targets.slice(0, 1) : targets;
}

function rulesOf(model: ModelRecord, parsed: ParsedCall, targets: number): RetryRules {
  const { form, resendable } = parsed.outgoing;
  return { targets, maxRetries: form ? 0 : model.max_retries, backoffMs: model.retry_backoff_ms, resendable };
}

/** Counts an attempt, and tells the isolate's memory of the endpoint how it went. */
function note(call: Call, tally: AttemptTotals, target: Target, attempted: AttemptResult): void {
  if (attempted.kind !== "answered") tally.reason = attempted.reason;
  if (attempted.kind === "unusable") return;
  tally.made += 1;
  tally.address = target.apiBase;
  tally.endpoints.add(target.key);
  if (attempted.kind === "timed-out") {
    tally.timedOut += 1;
    countOutcome(call.facts.upstreamOutcomes, "timeout");
  }
  const { endpoints } = call.memory;
  if (attempted.kind !== "answered" || isRetryable(attempted.answer.response.status))
    endpoints.failed(target.key, call.ports.clock());
  // How a 2xx went is known with its last byte: the relay tells.
  else if (!attempted.answer.response.ok) endpoints.answered(target.key);
}

function endOf(call: Call, attempted: AttemptResult): AttemptEnd {
  if (attempted.kind !== "answered") return { kind: attempted.kind };
  const { response } = attempted.answer;
  const { status } = response;
  const waitMs = isRetryable(status) ? upstreamRetryAfterMs(response.headers, call.ports.clock()) : null;
  return { kind: "answered", status, retryAfterMs: waitMs };
}

/** Waits before the next attempt, no longer than the client stays. Throws ClientGone. */
async function pause(call: Call, waitMs: number): Promise<void> {
  await call.ports.sleep(waitMs, call.request.signal);
  if (call.request.signal.aborted) throw new ClientGone();
}

/** What the request ends with: the last answer there was, else an error (decisions §22.6). */
function conclude(call: Call, model: ModelRecord, kept: UpstreamAnswer | null, tally: AttemptTotals): UpstreamAnswer {
  const { upstreamOutcomes } = call.facts;
  if (tally.made > 0) diagnoseUpstream(call, model, tally.address, kept?.response.status ?? null);
  if (kept === null) {
    countOutcome(upstreamOutcomes, "exhausted");
    reportUnanswered(call, model, { reason: tally.reason, attempts: tally.made, endpoints: tally.endpoints.size });
    const everyOneTimedOut = tally.made > 0 && tally.timedOut === tally.made;
    throw new GatewayError(everyOneTimedOut ? "upstream_timeout" : "upstream_failed");
  }
  const { status, ok } = kept.response;
  if (ok) countOutcome(upstreamOutcomes, "success");
  if (isRetryable(status)) countOutcome(upstreamOutcomes, "exhausted");
  reportAnswered(call, model, status, { attempts: tally.made, endpoints: tally.endpoints.size });
  kept.stop.resume();
  return kept;
}
