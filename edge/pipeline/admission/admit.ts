/**
 * Step 6: a slot by fairshare, then tokens and money, by the decision of the Cell (docs/rules/admission.md#membership,
 * docs/rules/freshness.md#revisions, docs/rules/budgets.md#leases). The answer comes at once; a request that has to
 * wait waits on its permit, and gives it up when its client leaves. An admission request that the Cell calls stale is
 * built again once. One that waited keeps its place meanwhile, and is refused when the new records refuse it
 * (docs/rules/admission.md#judged-again). A refused request holds nothing, and its row is handed in through the permit.
 */
import { servedUntilMs } from "../../../shared/caller-access.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { RevItem } from "../../../shared/internal.ts";
import type { AdmissionRequest, Decision, Grant, Stale } from "../../domain/admission/rpc.ts";
import { nanoUsdOf } from "../../domain/budget/amounts.ts";
import { limitsOf } from "../../domain/budget/limits.ts";
import { bill, reservedCostUsd, totalTokens } from "../../domain/usage/billing.ts";
import type { AdmissionOutcome, Permit } from "../../ports.ts";
import { subjectRevs } from "../access/freshness.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { AlreadySettled, type Known, type Prepared, StageFailure } from "../call/known.ts";
import { refusalHeaders } from "../reply/rate-limit.ts";
import { reportEnd } from "../report/report-end.ts";
import { withSpan } from "../report/spans.ts";
import { usageRowOf } from "../report/usage-row.ts";

/** After step 6: a request with a slot, which has to be settled exactly once. */
export interface AdmittedRequest extends Prepared {
  /** The admission request with which the Cell admitted it. */
  readonly message: AdmissionRequest;
  readonly permit: Permit;
  /** The admission class for its row; `boon`: a sub-call, which does not wait. */
  readonly admission: Grant["admission"] | "boon";
}

/**
 * The request with its slot. `reload` reads key and model again after stale copies were dropped. Throws the failure of
 * 503, or AlreadySettled with the budgets' 429, 403 or 503, or when the client leaves.
 */
export async function admit(call: Call, request: Prepared, reload: Reload): Promise<AdmittedRequest> {
  return await withSpan(call, "admission", async (span) => {
    span.set({ class: "rejected", queue_wait_ms: 0, group: request.principal.tenant.fairshare_group });
    const admitted = await seekSlot(call, request, reload);
    admitted.permit.whenLost?.(() => call.slotLoss.lose());
    const { admission, queueWaitMs } = admitted;
    span.set({ class: admission, queue_wait_ms: queueWaitMs, group: admitted.message.group.name });
    return admitted;
  });
}

/** A request's place in the queue, if it has one. */
interface Waiting {
  /** Since when the request waits, epoch ms; null: it does not. */
  sinceMs: number | null;
  /** Its place, from the first answer on. */
  permit: Permit | null;
  /** It gives its place back, and asks for another one. */
  anew: boolean;
}

type Reload = (request: Prepared) => Promise<Prepared>;

async function seekSlot(call: Call, request: Prepared, reload: Reload): Promise<AdmittedRequest> {
  const waiting: Waiting = { sinceMs: null, permit: null, anew: false };
  let current = request;
  let wasStale = false;
  for (;;) {
    const message = admissionMessage(call, current, waiting);
    const answer = await requestAdmission(call, current, message, waiting);
    waiting.anew = false;
    if (answer.verdict === "stale") {
      if (wasStale) {
        const failure = new StageFailure(new GatewayError("key_store_unavailable"), current);
        throw refusedInPlace(call, failure, current, waiting);
      }
      wasStale = true;
      current = await judgedAgain(call, answer.items, current, waiting, reload);
      continue;
    }
    wasStale = false;
    const { permit } = answer;
    waiting.permit = permit;
    const decision = answer.verdict === "waiting" ? await waitForDecision(call, current, permit, waiting) : answer;
    if (decision === null) {
      waiting.anew = true;
      current = await judgedAgain(call, [], { ...current, queueEntryUnknown: true }, waiting, reload);
    } else if (decision.verdict === "stale")
      current = await judgedAgain(call, decision.items, current, waiting, reload);
    else {
      current = { ...current, queueWaitMs: waitedMs(call, waiting) ?? current.queueWaitMs };
      return admittedBy(call, current, { message, permit }, decision);
    }
  }
}

/**
 * The request with key, tenant and model as they are now. Throws their refusal: AlreadySettled when the request has a
 * place.
 */
async function judgedAgain(
  call: Call,
  items: readonly RevItem[],
  before: Prepared,
  waiting: Waiting,
  reload: Reload,
): Promise<Prepared> {
  call.ports.directory.forget(items);
  try {
    return await reload(before);
  } catch (error) {
    throw refusedInPlace(call, StageFailure.of(error, before), before, waiting);
  }
}

/**
 * A refusal in the form in which it is thrown. A request with a place hands in its row through the permit; the row
 * names the key and tenant.
 */
function refusedInPlace(call: Call, failure: StageFailure, before: Prepared, waiting: Waiting): StageFailure {
  const { permit } = waiting;
  if (permit === null) return failure;
  const { cause } = failure;
  const known = { ...failure.known, queueWaitMs: waitedMs(call, waiting) ?? 0 };
  const whose = { ...known, principal: known.principal ?? before.principal };
  if (cause instanceof ClientGone)
    settleWithoutSlot(call, whose, permit, { statusCode: 499, admission: "queued", failure: cause });
  else {
    const statusCode = cause instanceof GatewayError ? cause.status : 500;
    settleWithoutSlot(call, whose, permit, { statusCode, failure: cause });
  }
  return new AlreadySettled(cause, known);
}

function waitedMs(call: Call, { sinceMs }: Waiting): number | null {
  return sinceMs === null ? null : Math.max(0, call.ports.clock() - sinceMs);
}

/** The result of a decision: the request with its slot. Throws AlreadySettled with the budgets' refusal. */
function admittedBy(
  call: Call,
  request: Prepared,
  held: Pick<AdmittedRequest, "message" | "permit">,
  decision: Decision,
): AdmittedRequest {
  if (decision.verdict === "refused") {
    const { refusal } = decision;
    const error = new GatewayError(refusal.code, {
      headers: refusalHeaders(refusal, held.message),
    });
    const known: Known = { ...request, level: refusal.level };
    settleWithoutSlot(call, known, held.permit, { statusCode: error.status, failure: error });
    throw new AlreadySettled(error, known);
  }
  const { grant } = decision;
  const { admission, queueWaitMs, level } = grant;
  return { ...request, ...held, admission, queueWaitMs, level };
}

/**
 * Sends the admission request, and awaits the answer even when the client leaves. Without an answer the Cell may have the request:
 * its row gives back whatever the Cell grants it, even later.
 */
async function requestAdmission(
  call: Call,
  request: Prepared,
  message: AdmissionRequest,
  waiting: Waiting,
): Promise<AdmissionOutcome> {
  try {
    return await call.ports.admission.admit(message, waiting.permit);
  } catch (error) {
    const queueWaitMs = waitedMs(call, waiting) ?? request.queueWaitMs;
    throw new StageFailure(error, { ...request, queueWaitMs, queueEntryUnknown: true });
  }
}

/**
 * The Cell's decision once it is made; null when the place is lost. Throws the failure of 503 when the Cell stays away, and
 * AlreadySettled when the client leaves.
 */
async function waitForDecision(
  call: Call,
  request: Prepared,
  permit: Permit,
  waiting: Waiting,
): Promise<Decision | Stale | null> {
  waiting.sinceMs ??= call.ports.clock();
  const gone = Promise.withResolvers<never>();
  const leave = () => gone.reject(new ClientGone());
  if (call.request.signal.aborted) leave();
  else call.request.signal.addEventListener("abort", leave, { once: true });
  const decision = permit.decision();
  try {
    return await Promise.race([decision, gone.promise]);
  } catch (error) {
    decision.catch(() => undefined);
    const known = { ...request, queueWaitMs: waitedMs(call, waiting) ?? 0 };
    if (error instanceof GatewayError) throw new StageFailure(error, { ...known, queueEntryUnknown: true });
    if (!(error instanceof ClientGone)) return null;
    settleWithoutSlot(call, known, permit, { statusCode: 499, admission: "queued", failure: error });
    throw new AlreadySettled(error, known);
  } finally {
    gone.promise.catch(() => undefined);
  }
}

/** How a request without a slot ends. */
interface EndWithoutSlot {
  readonly statusCode: number;
  readonly admission?: "rejected" | "queued";
  readonly failure: unknown;
}

/**
 * Hands in the row of a request that its budgets refused, or whose client left while it waited, without delaying the
 * answer. The row goes through the permit, so that it is written once whatever happens to this Worker
 * (docs/rules/admission.md#membership); the request holds no slot and no tokens any more.
 */
function settleWithoutSlot(call: Call, known: Known, permit: Permit, end: EndWithoutSlot): void {
  const row = usageRowOf(call, known, { ...end, admission: end.admission ?? "rejected" });
  reportEnd(call, known, row, end);
  call.waitUntil(permit.settle({ row, actualTokens: 0 }));
}

/** The admission request; `waiting`: the request's place in the queue, which it usually does not have. */
export function admissionMessage(call: Call, request: Prepared, waiting: Waiting | null = null): AdmissionRequest {
  const { principal, model, estimate } = request;
  const { key, tenant } = principal;
  const measure = request.measure();
  const billed = bill(model, estimate, measure, null);
  // Term budgets reserve the limit that the client states, so that a client which states one cannot exceed its budget
  // (docs/rules/token-estimates.md#client-limits).
  const stated = { ...estimate, outputTokens: estimate.statedOutputTokens ?? estimate.outputTokens };
  return {
    requestId: call.requestId,
    tenant: { id: tenant.id, name: tenant.name, weight: tenant.weight, maxInFlight: tenant.max_in_flight },
    group: { name: tenant.fairshare_group, weight: tenant.group_weight },
    model: { name: model.model_name, admissionWeight: model.admission_weight, maxInFlight: model.max_in_flight },
    costTokens: estimate.totalTokens,
    revs: subjectRevs(call, request),
    openUntilMs: servedUntilMs(principal, call.ports.clock()),
    waitedMs: waiting === null ? null : waitedMs(call, waiting),
    anew: waiting?.anew === true,
    limits: limitsOf(key, tenant),
    need: {
      bucketTokens: measure.kind === "free" ? 0 : estimate.totalTokens,
      requests: 1,
      termTokens: Math.max(totalTokens(stated), 1),
      nanoUsd: nanoUsdOf(reservedCostUsd(model, stated, measure)),
    },
    row: usageRowOf(call, request, { statusCode: 499, admission: "queued" }),
    estimate: billed,
  };
}
