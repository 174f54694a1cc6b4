/**
 * Reads, deletes or cancels a stored answer, at the upstream that made it (docs/rules/routes.md#objects-of-upstreams). It needs
 * no slot, and costs only one of the requests per minute. But it shows the use of an answer made in the background: if that
 * exceeds the answer's charge, the difference is charged with the read
 * (docs/rules/settlement-and-rows.md#answers-made-in-the-background).
 */
import { issues } from "../../shared/alerts.ts";
import { GatewayError } from "../../shared/errors.ts";
import { atOnce } from "../../shared/steps.ts";
import { queryFault } from "../domain/request/steering-fields.ts";
import { estimateTokens } from "../domain/request/token-estimate.ts";
import {
  type Billed,
  type BilledAnswer,
  beyondCharged,
  NOTHING_BILLED,
  partsWithin,
  unbelievedCount,
} from "../domain/usage/billing.ts";
import { NO_PARTS } from "../domain/usage/reported-counts.ts";
import { wholeDocument } from "../domain/wire/json/document.ts";
import type { ObjectPlace } from "../ports.ts";
import { admitSubCall } from "./admit/admit-sub-call.ts";
import { authenticate } from "./authenticate/authenticate.ts";
import { beforeAdmission } from "./authenticate/authenticate-now.ts";
import type { Call } from "./call/context.ts";
import {
  AlreadySettled,
  type Authenticated,
  NO_EDITS,
  type Prepared,
  type Resolved,
  StageFailure,
} from "./call/known.ts";
import { reportEnd } from "./call/report/report-end.ts";
import { usageRowOf } from "./call/report/usage-row.ts";
import { DEFAULT_UPSTREAM } from "./forward/default-upstream.ts";
import { UpstreamProgress } from "./forward/upstream-progress.ts";
import { outputGuards } from "./guardrails/guard-output.ts";
import { prepared } from "./prepare/prepare.ts";
import { answer } from "./receive/answer-call.ts";
import type { PipelineInput } from "./receive/start-call.ts";
import { isRequestCounted, readLevel } from "./reply/rate-limit.ts";
import { fieldError } from "./resolve-model/field-error.ts";
import { parseNamed } from "./resolve-model/parse-call.ts";
import { NO_BODY } from "./resolve-model/passthrough-body.ts";
import { checkModelHead, resolveModel } from "./resolve-model/resolve-model.ts";
import { forwardProbe, resolveCurrent } from "./run-models.ts";
import { type RequestEnd, Settler } from "./settle/settle.ts";
import { fromBeginning, laterEvents, storedStreamOf } from "./stored/stored-stream.ts";
import { placeOfObject } from "./stored/upstream-objects.ts";

/** Never throws. */
export async function runStored(received: PipelineInput, id: string): Promise<Response> {
  const { response } = await answer(received, async (call, known) => {
    const caller = await authenticate(call, known);
    const { tenant } = caller.principal;
    const place = await beforeAdmission(call, caller, async () => {
      checkModelHead(call);
      const fault = queryFault(call.search, call.config.passthroughFields, { hasBody: false });
      if (fault !== null) throw fieldError(fault);
      storedStreamOf(call);
      return await placeOfObject(call, tenant.id, id);
    }).catch(async (error: unknown) => await refuseUnknown(call, caller, error));
    const objects = { named: new Map([[id, null]]), upstreams: [place.upstream] };
    // The end user of the answer has used it, not its reader.
    const asked = parseNamed(call, caller, place.model);
    const { isStream, startingAfter } = storedStreamOf(call);
    const named = { ...asked, parsed: { ...asked.parsed, stream: isStream }, endUser: place.charged?.endUser ?? "" };
    const resolved = await resolveCurrent(call, named, async (_, reader) => ({
      ...(await resolveModel(call, reader)),
      objects,
    }));
    // A background answer was empty when it was made, so no guardrail has seen it yet.
    const guards = outputGuards(call, unestimated(call, resolved));
    const reading = startingAfter === null ? call : { ...call, search: fromBeginning(call.search) };
    return await forwardProbe(reading, resolved, {
      counts: true,
      stagesOf: () => (startingAfter === null ? guards : [...guards, laterEvents(call, startingAfter)]),
      bill: (_, read, answered) => billed(call, unestimated(call, read), place, answered),
      charge: (_, read, end) => call.waitUntil(charge(call, id, read, end)),
    });
  });
  return response;
}

/**
 * Throws the error of the lookup. A lookup that found nothing counts as one of the requests per minute: nobody may try ids
 * without end.
 */
async function refuseUnknown(call: Call, caller: Authenticated, error: unknown): Promise<never> {
  const failure = StageFailure.of(error, caller);
  const { cause } = failure;
  if (!(cause instanceof GatewayError) || cause.code !== "object_not_found") throw failure;
  const known = { ...caller, level: await readLevel(call, caller) };
  if (!isRequestCounted(call, known)) throw new StageFailure(cause, known);
  const parsed = { document: wholeDocument({}), modelName: "", stream: false, outgoing: NO_BODY, edits: NO_EDITS };
  const read = {
    ...known,
    parsed,
    model: DEFAULT_UPSTREAM,
    energy: null,
    boons: null,
    upstream: new UpstreamProgress(),
  };
  call.waitUntil(settleRead(call, read, { statusCode: cause.status, failure: cause }));
  throw new AlreadySettled(cause, known);
}

/** The body of a read says nothing about tokens. */
function unestimated(call: Call, read: Resolved): Prepared {
  return prepared(call, read, atOnce(estimateTokens("nothing", read.parsed.document)));
}

/** The use of the answer, as far as it was seen, beyond its charge when it was made. */
function billed(call: Call, request: Prepared, { charged }: ObjectPlace, answered: BilledAnswer): Billed {
  if (charged === undefined) return NOTHING_BILLED;
  const { model, estimate } = request;
  const refused = unbelievedCount(estimate, request.measure(), answered);
  if (refused !== null) call.ports.alerts.raise(issues.usageNotBelieved(model.model_name, refused));
  const { reported, parts, seenTokens, upToDate } = answered.usage;
  const believed = refused === null ? reported : null;
  const reportedTokens = believed?.outputTokens ?? 0;
  const outputTokens = believed !== null && upToDate ? reportedTokens : Math.max(reportedTokens, seenTokens);
  const whole = { inputTokens: believed?.inputTokens ?? 0, outputTokens };
  const reportedParts = partsWithin(whole, believed === null ? NO_PARTS : parts);
  const beyond = beyondCharged(model, { ...whole, ...reportedParts }, charged);
  return { ...beyond, ...partsWithin(beyond, reportedParts) };
}

/**
 * Charges the tenant, as for a sub-call, the part of the answer that nobody else charges: it can create a debt. Without the
 * Cell only the row shows the amount owed.
 */
async function charge(
  call: Call,
  id: string,
  read: Resolved & { readonly upstream: UpstreamProgress },
  ending: RequestEnd,
): Promise<void> {
  const owed = ending.refunded === true ? NOTHING_BILLED : (ending.billed ?? NOTHING_BILLED);
  const taken = (await call.ports.upstreamObjects.takeOver(read.principal.tenant.id, id, owed)) ?? NOTHING_BILLED;
  await settleRead(call, read, { ...ending, billed: { ...owed, ...taken, ...partsWithin(taken, owed) } });
}

/** Hands in the row, which counts as a request. */
async function settleRead(
  call: Call,
  read: Resolved & { readonly upstream: UpstreamProgress },
  end: RequestEnd,
): Promise<void> {
  const request = unestimated(call, read);
  try {
    const admitted = await admitSubCall(call, request, 1);
    new Settler(call, { ...admitted, upstream: read.upstream, admission: "fast" }).end(end);
  } catch {
    const row = usageRowOf(call, read, { ...end, admission: "fast" });
    reportEnd(call, read, row, end);
    await call.ports.admission.settleOrphan(row);
  }
}
