/**
 * Steps 7 to 9 of a request that has been admitted, a client's or one of the gateway's own (sub-call.ts): its upstream
 * is called, the answer is relayed to the reader of the response, and the permit is settled with the request's own row,
 * exactly once in every case.
 */
import { issues } from "../../../shared/alerts.ts";
import { type ErrorCode, GatewayError } from "../../../shared/errors.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import {
  type Billed,
  type BilledAnswer,
  bill,
  NOTHING_BILLED,
  UNSEEN_STREAM,
  unbelievedCount,
} from "../../domain/usage/billing.ts";
import type { AdmittedRequest, Reload } from "../admit/admit.ts";
import type { AnswerStage } from "../call/boon/answer-stage.ts";
import type { Boon } from "../call/boon/boon.ts";
import { runBoons } from "../call/boon/run-boons.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { AlreadySettled, type CallAnswer, type Prepared, StageFailure, type UpstreamState } from "../call/known.ts";
import { type CapturedCall, capturedCall } from "../capture/captured-call.ts";
import { cancelAnswer, type UpstreamAnswer } from "../forward/attempt.ts";
import { forward } from "../forward/forward.ts";
import { asksForStream } from "../forward/transform-plans.ts";
import { UpstreamProgress } from "../forward/upstream-progress.ts";
import { keepOpenUntilBodyRead } from "../reply/unread-body-reply.ts";
import { type CacheKey, cacheMissFor } from "../response-cache/response-cache.ts";
import { type RequestEnd, Settler } from "../settle/settle.ts";
import { checkNamedObjects } from "../stored/upstream-objects.ts";
import { Fallbacks } from "./fall-back.ts";
import { relay } from "./relay.ts";

/** The least time of an upstream call whose answer is held, in seconds. */
const WHOLE_ANSWER_SECS_MIN = 120;

/** Work for a client's request other than its upstream call; a sub-call has none of it. */
interface ForClient {
  /** Examines the request, unless that was done. */
  readonly guard: (request: Prepared) => Promise<Prepared>;
  /** How it is read again for another model; null: it moves to no other. */
  readonly reload: Reload | null;
  /** Those that may act on the request. */
  readonly boons: readonly Boon[];
  /** What happens to its answer after the boons. */
  readonly lastStages: (call: Call, request: Prepared) => readonly AnswerStage[];
}

const FOR_SUB_CALL: ForClient = { guard: async (request) => request, reload: null, boons: [], lastStages: () => [] };

/** A failure of a model's upstreams. */
const NO_ANSWER: ReadonlySet<string> = new Set<ErrorCode>(["upstream_failed", "upstream_timeout"]);
/** The failure of a model whose API cannot carry the request: such a model is skipped if the client did not name it. */
const NOT_CARRIED: ReadonlySet<string> = new Set<ErrorCode>(["untranslatable_field", "request_too_large"]);

type Admitted = AdmittedRequest & { readonly upstream: UpstreamProgress };

/**
 * The answer of the request's upstream. The end of the answer settles the request. A failure has been settled when it
 * is thrown, as AlreadySettled. `key`: where a complete answer is stored; null: nowhere.
 */
export async function serveAdmitted(
  call: Call,
  admitted: AdmittedRequest,
  key: CacheKey | null,
  client: ForClient = FOR_SUB_CALL,
): Promise<CallAnswer> {
  const upstream = new UpstreamProgress();
  let request: Admitted = { ...admitted, upstream };
  const settler = new Settler(call, request);
  let forwarded: UpstreamAnswer | null = null;
  let captured: CapturedCall | null = null;
  try {
    request = { ...request, ...(await client.guard(request)), upstream };
    request = { ...request, objects: await checkNamedObjects(call, request) };
    const fallbacks = new Fallbacks(call, client.reload);
    let stages: readonly AnswerStage[];
    try {
      for (;;) {
        const asking = request;
        const boosted = await runBoons(call, asking, client.boons);
        request = boosted.request;
        stages = [...boosted.stages, ...client.lastStages(call, request)];
        const asked = await askModel(call, request, stages, fallbacks.readsErrorsOf(asking));
        forwarded = asked.answer;
        const { next, answer } = await fallbacks.after(asking, forwarded);
        forwarded = answer;
        if (next === null) {
          if (forwarded === null) throw asked.failure;
          break;
        }
        if (forwarded !== null) cancelAnswer(forwarded);
        forwarded = null;
        upstream.count("failover");
        settler.moved({ ...next, upstream });
        request = { ...next, ...(await client.guard(next)), upstream };
      }
    } finally {
      captured = capturedCall(call, request);
      settler.keeps(captured);
      request.parsed.outgoing.release();
    }
    const served = request;
    const response = await relay(call, {
      request: served,
      forwarded,
      stages,
      bill: (answered) => billed(call, served, answered),
      settler,
      captured,
      miss: cacheMissFor(call, served.asked === null ? key : null, served),
    });
    return { response: keepOpenUntilBodyRead(call, response, request.parsed.outgoing), known: request };
  } catch (error) {
    const cause = error instanceof StageFailure ? error.cause : error;
    const failure = cause instanceof ClientGone ? (call.interruption.failure ?? cause) : cause;
    settler.end(endOf(call, request, failure));
    if (forwarded !== null) cancelAnswer(forwarded);
    throw new AlreadySettled(failure, request);
  }
}

/** The last answer of the model's upstreams, or the failure when there is none. Throws every other failure. */
async function askModel(
  call: Call,
  request: Admitted,
  stages: readonly AnswerStage[],
  readsErrors: boolean,
): Promise<{ readonly answer: UpstreamAnswer | null; readonly failure: GatewayError | null }> {
  const sent = stages.length === 0 ? request : { ...request, model: withTimeForWholeAnswer(call, request) };
  try {
    return { answer: await forward(call, sent, request.upstream, readsErrors), failure: null };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const isNamed = request.auto === null && request.asked === null;
    if (!NO_ANSWER.has(error.code) && (isNamed || !NOT_CARRIED.has(error.code))) throw error;
    return { answer: null, failure: error };
  } finally {
    request.guarded?.beside?.("admitted");
  }
}

/** An answer that is held needs to be there whole within its time (docs/rules/upstream-calls.md#time-limits). */
function withTimeForWholeAnswer(call: Call, { model, parsed }: Prepared): ModelRecord {
  if (model.request_timeout_secs === null && asksForStream(parsed)) return model;
  const secs = model.request_timeout_secs ?? call.config.upstreamTimeoutMs / 1000;
  return { ...model, request_timeout_secs: Math.max(secs, WHOLE_ANSWER_SECS_MIN) };
}

/**
 * The end of a request that has a slot and no answer: when its client left, or it crashed, while an upstream worked, it
 * is billed at its estimate, and for its input alone when it was to be a stream.
 */
function endOf(call: Call, request: Prepared & { readonly upstream: UpstreamState }, failure: unknown): RequestEnd {
  if (failure instanceof GatewayError) return { statusCode: failure.status, failure };
  const { status, underWay } = request.upstream;
  const owed = underWay || (status >= 200 && status < 300);
  const statusCode = failure instanceof ClientGone ? 499 : 500;
  const seen = request.parsed.stream ? UNSEEN_STREAM : null;
  return { statusCode, billed: owed ? billed(call, request, seen) : NOTHING_BILLED, failure };
}

/** The bill of the answer; an implausible report raises an alert. */
export function billed(call: Call, request: Prepared, given: BilledAnswer | null): Billed {
  const { model, estimate, parsed } = request;
  const answered = parsed.document.root["background"] === true ? inBackground(given) : given;
  const measure = request.measure();
  const refused = unbelievedCount(estimate, measure, answered);
  if (refused !== null) call.ports.alerts.raise(issues.usageNotBelieved(model.model_name, refused));
  return bill(model, estimate, measure, answered);
}

/** The upstream continues without a reader: the unreported part is owed at the estimate. */
function inBackground(answered: BilledAnswer | null): BilledAnswer | null {
  return answered === null || answered.usage.bytes === 0 ? null : { ...answered, complete: true, stream: false };
}
