/**
 * Step 6: a slot by fairshare, then tokens and money, by the decision of the Cell (docs/rules/admission.md#membership,
 * docs/rules/freshness.md#revisions, docs/rules/budgets.md#leases). The answer comes at once; a request that must wait waits on
 * its permit, and gives it up when its client leaves. An admission request that the Cell calls stale is built again, and
 * refused if it is stale for the same change. One that waited keeps its place meanwhile, and is refused when the new records
 * refuse it (docs/rules/admission.md#checked-again). A refused request holds nothing, and its row is handed in through the
 * permit.
 */
import { servedUntilMs } from "../../../shared/access/caller-access.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { adaptiveBounds } from "../../../shared/fields/model-fields.ts";
import type { RevItem } from "../../../shared/wire/internal.ts";
import type { AdmissionRequest, Decision, Grant, Stale } from "../../domain/admission/rpc.ts";
import { nanoUsdOf } from "../../domain/budget/amounts.ts";
import { endUserLimitsOf, limitsOf } from "../../domain/budget/limits.ts";
import { impliedLimitTokens } from "../../domain/dialect/translation.ts";
import { reservedOutputTokens } from "../../domain/request/token-estimate.ts";
import { bill, reservedCostUsd, totalTokens } from "../../domain/usage/billing.ts";
import type { AdmissionOutcome, Permit } from "../../ports.ts";
import { subjectRevs } from "../authenticate/freshness.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { AlreadySettled, type Known, type Prepared, StageFailure } from "../call/known.ts";
import { reportEnd } from "../call/report/report-end.ts";
import { withSpan } from "../call/report/spans.ts";
import { usageRowOf } from "../call/report/usage-row.ts";
import { refusalError } from "../reply/rate-limit.ts";

/** After step 6: a request with a slot, which must be settled exactly once. */
export interface AdmittedRequest extends Prepared {
  /** The admission request with which the Cell admitted it. */
  readonly message: AdmissionRequest;
  readonly permit: Permit;
  /** The admission class for its row; `boon`: a sub-call, which does not wait. */
  readonly admission: Grant["admission"] | "boon";
}

/**
 * The request with its slot. `reload` reads key and model again after stale copies were dropped. Throws the failure of 503, or
 * AlreadySettled with the budgets' 400, 429, 403 or 503, or when the client leaves. `before`: it moves to another model; it
 * returns what it holds first, and the caller always handles its row.
 */
export async function admit(
  call: Call,
  request: Prepared,
  reload: Reload,
  before: AdmittedRequest | null = null,
): Promise<AdmittedRequest> {
  return await withSpan(call, "admission", async (span) => {
    span.set({ class: "rejected", queue_wait_ms: 0, group: request.principal.tenant.fairshare_group });
    const admitted = await new SlotSeeker(call, request, reload, before).seek();
    admitted.permit.whenLost?.(() => call.interruption.interrupt(new GatewayError("scheduler_unavailable")));
    const { admission, queueWaitMs } = admitted;
    span.set({ class: admission, queue_wait_ms: queueWaitMs, group: admitted.message.group.name });
    return admitted;
  });
}

/** Reads key, tenant and model of a request again. Throws their refusal. */
export type Reload = (request: Prepared) => Promise<Prepared>;

/** One request on its way to its slot. */
class SlotSeeker {
  readonly #call: Call;
  readonly #reload: Reload;
  /** As its records were read last. */
  #request: Prepared;
  /** Its holding at the Cell: a place, from the first answer on. */
  #permit: Permit | null;
  /** Since when it waits, epoch ms; null: it does not. */
  #sinceMs: number | null;
  readonly #isMove: boolean;

  constructor(call: Call, request: Prepared, reload: Reload, before: AdmittedRequest | null) {
    this.#call = call;
    this.#request = request;
    this.#reload = reload;
    this.#isMove = before !== null;
    this.#permit = before?.permit ?? null;
    this.#sinceMs = before === null ? null : call.ports.clock() - before.queueWaitMs;
  }

  async seek(): Promise<AdmittedRequest> {
    let changes: readonly RevItem[] | null = null;
    let anew = false;
    for (;;) {
      const message = { ...admissionMessage(this.#call, this.#request, this.#waitedMs), anew };
      const answer = await this.#ask(message);
      anew = false;
      if (answer.verdict === "stale") {
        if (changes !== null && isStillOlder(message.revs, answer.items, changes))
          throw this.#refused(new GatewayError("key_store_unavailable"));
        changes = answer.items;
        await this.#checkAgain(answer.items);
        continue;
      }
      changes = null;
      this.#permit = answer.permit;
      const decision = answer.verdict === "waiting" ? await this.#decision(answer.permit) : answer;
      if (decision === null) {
        anew = true;
        this.#request = { ...this.#request, queueEntryUnknown: true };
        await this.#checkAgain([]);
      } else if (decision.verdict === "stale") await this.#checkAgain(decision.items);
      else return this.#admitted(decision, message, answer.permit);
    }
  }

  get #waitedMs(): number | null {
    return this.#sinceMs === null ? null : Math.max(0, this.#call.ports.clock() - this.#sinceMs);
  }

  /**
   * Sends the admission request, and awaits the answer even when the client leaves. Without an answer the Cell may have the
   * request: its row returns everything that the Cell grants it, even later.
   */
  async #ask(message: AdmissionRequest): Promise<AdmissionOutcome> {
    try {
      return await this.#call.ports.admission.admit(message, this.#permit);
    } catch (error) {
      const queueWaitMs = this.#waitedMs ?? this.#request.queueWaitMs;
      throw new StageFailure(error, { ...this.#request, queueWaitMs, queueEntryUnknown: true });
    }
  }

  /** Reads the current key, tenant and model. Throws their refusal: AlreadySettled if the request has a place. */
  async #checkAgain(items: readonly RevItem[]): Promise<void> {
    this.#call.ports.directory.forget(items);
    try {
      this.#request = await this.#reload(this.#request);
    } catch (error) {
      throw this.#refused(error);
    }
  }

  /**
   * A refusal in its thrown form. A request with a place hands in its row through the permit; the row names the key and tenant.
   */
  #refused(error: unknown): StageFailure {
    const failure = StageFailure.of(error, this.#request);
    if (this.#permit === null) return failure;
    const { cause } = failure;
    const known = { ...failure.known, queueWaitMs: this.#waitedMs ?? 0 };
    const whose = { ...known, principal: known.principal ?? this.#request.principal };
    const status = cause instanceof GatewayError ? cause.status : 500;
    return this.#ended(known, this.#permit, cause instanceof ClientGone ? left(cause) : refused(status, cause), whose);
  }

  /** The failure that ends a request with a place, whose row is handed in. */
  #ended(known: Known, permit: Permit, end: EndWithoutSlot, whose = known): StageFailure {
    if (this.#isMove) return new StageFailure(end.failure, known);
    settleWithoutSlot(this.#call, whose, permit, end);
    return new AlreadySettled(end.failure, known);
  }

  /**
   * The Cell's decision once it is made; null when the place is lost. Throws the failure of 503 when the Cell stays away, and
   * AlreadySettled when the client leaves.
   */
  async #decision(permit: Permit): Promise<Decision | Stale | null> {
    const { clock } = this.#call.ports;
    const { signal } = this.#call.request;
    this.#sinceMs ??= clock();
    const gone = Promise.withResolvers<never>();
    const leave = () => gone.reject(new ClientGone());
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    const { interruption } = this.#call;
    const callOff = interruption.listen(() => gone.reject(interruption.failure));
    const decision = permit.decision();
    try {
      return await Promise.race([decision, gone.promise]);
    } catch (error) {
      decision.catch(() => undefined);
      if (error !== null && error === interruption.failure) throw this.#refused(error);
      const known = { ...this.#request, queueWaitMs: this.#waitedMs ?? 0 };
      if (error instanceof GatewayError) throw new StageFailure(error, { ...known, queueEntryUnknown: true });
      if (!(error instanceof ClientGone)) return null;
      throw this.#ended(known, permit, left(error));
    } finally {
      callOff();
      gone.promise.catch(() => undefined);
    }
  }

  /** The request with its slot. Throws AlreadySettled with the budgets' refusal. */
  #admitted(decision: Decision, message: AdmissionRequest, permit: Permit): AdmittedRequest {
    const request = { ...this.#request, queueWaitMs: this.#waitedMs ?? this.#request.queueWaitMs };
    if (decision.verdict === "granted") {
      const { grant } = decision;
      return { ...request, message, permit, ...grant, admission: this.#call.sharesSlot ? "boon" : grant.admission };
    }
    const { refusal } = decision;
    const error = refusalError(refusal, message);
    throw this.#ended({ ...request, level: refusal.level }, permit, refused(error.status, error));
  }
}

/**
 * Whether records that were read after these changes were known are older than they are. An answer may be to an earlier admission
 * request; one without changes says that none could be decided.
 */
function isStillOlder(revs: readonly RevItem[], changes: readonly RevItem[], known: readonly RevItem[]): boolean {
  const hasIt = (items: readonly RevItem[], { kind, id, rev }: RevItem) =>
    items.some((item) => item.kind === kind && item.id === id && item.rev >= rev);
  return changes.length === 0 || changes.some((change) => hasIt(known, change) && !hasIt(revs, change));
}

/** How a request without a slot ends. */
interface EndWithoutSlot {
  readonly statusCode: number;
  readonly admission: "rejected" | "queued";
  readonly failure: unknown;
}

const left = (failure: ClientGone): EndWithoutSlot => ({ statusCode: 499, admission: "queued", failure });
const refused = (statusCode: number, failure: unknown): EndWithoutSlot => ({
  statusCode,
  admission: "rejected",
  failure,
});

/**
 * Hands in the row of a request that its budgets refused, or whose client left while it waited, without delaying the answer.
 * The row goes through the permit, so it is written once, even if this Worker dies (docs/rules/admission.md#membership); the
 * request holds no slot and no tokens any more.
 */
function settleWithoutSlot(call: Call, known: Known, permit: Permit, end: EndWithoutSlot): void {
  const row = usageRowOf(call, known, end);
  reportEnd(call, known, row, end);
  call.waitUntil(permit.settle({ row, actualTokens: 0 }));
}

/** `waitedMs`: how long the request has waited; null: it has no place in the queue. */
export function admissionMessage(call: Call, request: Prepared, waitedMs: number | null = null): AdmissionRequest {
  const { principal, model, estimate } = request;
  const { key, tenant } = principal;
  const measure = request.measure();
  const billed = bill(model, estimate, measure, null);
  // Term budgets reserve the client's stated limits, so that simultaneous requests cannot exceed them together
  // (docs/rules/token-estimates.md#client-limits).
  const impliedTokens = impliedLimitTokens(call.path, model.api_dialect);
  const stated = { ...estimate, outputTokens: reservedOutputTokens(estimate, impliedTokens) };
  return {
    requestId: call.requestId,
    tenant: { id: tenant.id, name: tenant.name, weight: tenant.weight, maxInFlight: tenant.max_in_flight },
    group: { name: tenant.fairshare_group, weight: tenant.group_weight },
    model: {
      name: model.model_name,
      admissionWeight: model.admission_weight,
      maxInFlight: model.max_in_flight,
      adaptive: adaptiveBounds(model),
    },
    costTokens: estimate.totalTokens,
    batch: call.line === undefined ? undefined : true,
    revs: subjectRevs(call, request),
    openUntilMs: servedUntilMs(principal, call.ports.clock()),
    waitedMs,
    limits: limitsOf(key, tenant),
    endUserLimits: endUserLimitsOf(request.endUser, tenant),
    need: {
      bucketTokens: measure.kind === "free" ? 0 : estimate.totalTokens,
      // counted already for the model that was asked
      requests: request.asked === null && call.isUncounted !== true ? 1 : 0,
      termTokens: Math.max(totalTokens(stated), 1),
      nanoUsd: nanoUsdOf(reservedCostUsd(model, stated, measure)),
    },
    row: usageRowOf(call, request, { ...left(new ClientGone()), ...(call.sharesSlot ? { admission: "boon" } : {}) }),
    ...(call.sharesSlot ? { reserves: true } : {}),
    estimate: billed,
  };
}
