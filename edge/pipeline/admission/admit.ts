/**
 * Step 6: a slot by fairshare, then tokens and money, by the word of the Cell
 * (design §4, §5, §7). The answer comes at once; a request that has to wait does so on its permit, and lets go of it when
 * its client leaves. An ask that the Cell calls stale is built anew once; one that waited keeps its place meanwhile, and is
 * refused by what it finds (decisions §20.4). A refusal holds nothing, and its row travels by the permit.
 */
import { openUntilMs } from "../../../shared/access-window.ts";
import { issues } from "../../../shared/alerts.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { RevItem } from "../../../shared/internal.ts";
import type { AdmissionRequest, Decision, Grant, PermitHandle, Stale } from "../../domain/admission/rpc.ts";
import { nanoUsdOf } from "../../domain/budget/amounts.ts";
import { limitsOf } from "../../domain/budget/limits.ts";
import { bill, totalTokens } from "../../domain/usage/billing.ts";
import type { AdmissionOutcome } from "../../ports.ts";
import { type AdmissionSubject, subjectRevs } from "../access/freshness.ts";
import { AlreadySettled, type Call, ClientGone, type Prepared } from "../call/context.ts";
import { refusalHeaders } from "../reply/rate-limit.ts";
import { withSpan } from "../report/spans.ts";
import { usageRowOf } from "../report/usage-row.ts";
import { settleWithoutSlot } from "./settle-without-slot.ts";

/** Places in the queue that a request may lose to resets of its Cell, which come a few times a week. */
const REQUEUES_MAX = 10;

/** A held slot. Whoever gets it settles it, exactly once. */
export interface Slot extends AdmissionSubject {
  readonly ask: AdmissionRequest;
  readonly permit: PermitHandle;
  readonly grant: Grant;
  /** The grant came with the Cell's answer to the ask; the Cell takes it to be in use. */
  readonly atOnce: boolean;
  /** Resolves when the isolate's session is lost, by which it is held; null: the permit is its own. */
  readonly sessionLost: Promise<void> | null;
}

/**
 * A slot. `reload` reads key and model anew after stale copies were dropped. Throws 503, or Settled with the
 * budgets' 429, 403 or 503, or when the client leaves.
 */
export async function admit(
  call: Call,
  subject: AdmissionSubject,
  prepared: Prepared,
  reload: () => Promise<AdmissionSubject>,
): Promise<Slot> {
  return await withSpan(call, "admission", async (span) => {
    span.set({ class: "rejected", queue_wait_ms: 0, group: subject.principal.tenant.fairshare_group });
    const slot = await seekSlot(call, subject, prepared, reload);
    const { admission, queueWaitMs } = slot.grant;
    span.set({ class: admission, queue_wait_ms: queueWaitMs, group: slot.ask.group.name });
    return slot;
  });
}

/** What a request has of a place in the queue. */
interface Waiting {
  /** Since when it waits, epoch ms; null: it does not. */
  sinceMs: number | null;
  /** Keeps the place until the next ask takes it: the request is judged again, or the call that waited has failed. */
  permit: PermitHandle | null;
}

async function seekSlot(
  call: Call,
  subject: AdmissionSubject,
  prepared: Prepared,
  reload: () => Promise<AdmissionSubject>,
): Promise<Slot> {
  const waiting: Waiting = { sinceMs: null, permit: null };
  let current = subject;
  for (let resets = 0; resets < REQUEUES_MAX; ) {
    let ask = askOf(call, current, prepared, waiting);
    let admitted = await askCell(call, ask);
    if (admitted.verdict === "stale") {
      if (admitted.placeLost === true) {
        waiting.sinceMs ??= call.ports.clock();
        call.facts.queueEntryUnknown = true;
      }
      current = await judgedAgain(call, admitted.items, current, waiting, reload);
      ask = askOf(call, current, prepared, waiting);
      admitted = await askCell(call, ask);
    }
    if (admitted.verdict === "stale")
      throw refusedInPlace(call, new GatewayError("key_store_unavailable"), current, waiting);
    // The Cell has put the new permit in the place of the one before.
    waiting.permit?.[Symbol.dispose]();
    waiting.permit = null;
    const { permit } = admitted;
    if (admitted.verdict !== "waiting") {
      const sessionLost = admitted.sessionLost?.() ?? null;
      return { ...slotOf(call, current, ask, admitted), atOnce: true, sessionLost };
    }
    waiting.sinceMs ??= call.ports.clock();
    const decided = await waitForDecision(call, permit, waiting);
    if (decided === null) {
      // The Cell was reset while the request waited: nobody is dropped for waiting, so it queues anew. Should only the call
      // have failed, the place is not given up before it is taken again: that would be a row of a request that goes on.
      waiting.permit = permit;
      call.facts.queueEntryUnknown = true;
      resets += 1;
      // The next life of the Cell knows what changed lately, and not since when this one waits.
      current = await judgedAgain(call, [], current, waiting, reload);
    } else if (decided.verdict === "stale") {
      waiting.permit = permit;
      current = await judgedAgain(call, decided.items, current, waiting, reload);
    } else {
      call.facts.queueWaitMs = waitedMs(call, waiting) ?? 0;
      const sessionLost = admitted.sessionLost?.() ?? null;
      return { ...slotOf(call, current, ask, { ...decided, permit }), atOnce: false, sessionLost };
    }
  }
  waiting.permit?.[Symbol.dispose]();
  const { alerts, admission } = call.ports;
  alerts.raise(issues.schedulerUnavailable(admission.cell, "reset again and again while a request waited"));
  throw new GatewayError("scheduler_unavailable");
}

/** Key, tenant and model as they are now. Throws what they refuse the request with: Settled when it has a place. */
async function judgedAgain(
  call: Call,
  items: readonly RevItem[],
  before: AdmissionSubject,
  waiting: Waiting,
  reload: () => Promise<AdmissionSubject>,
): Promise<AdmissionSubject> {
  call.ports.directory.forget(items);
  try {
    return await reload();
  } catch (error) {
    throw refusedInPlace(call, error, before, waiting);
  }
}

/** A refusal as it is to be thrown. The row of a request with a place goes by its permit, and says whose it was. */
function refusedInPlace(call: Call, error: unknown, before: AdmissionSubject, waiting: Waiting): unknown {
  const { permit } = waiting;
  if (permit === null) return error;
  const { facts } = call;
  const { principal } = facts;
  facts.failure = error;
  facts.queueWaitMs = waitedMs(call, waiting) ?? 0;
  facts.principal ??= before.principal;
  settleWithoutSlot(call, permit, error instanceof GatewayError ? error.status : 500);
  facts.principal = principal;
  return new AlreadySettled(error);
}

function waitedMs(call: Call, { sinceMs }: Waiting): number | null {
  return sinceMs === null ? null : Math.max(0, call.ports.clock() - sinceMs);
}

/** What was decided, as a slot. Throws Settled with the budgets' refusal. */
function slotOf(
  call: Call,
  subject: AdmissionSubject,
  ask: AdmissionRequest,
  decided: Decided,
): Omit<Slot, "atOnce" | "sessionLost"> {
  const { permit } = decided;
  if (decided.verdict === "refused") {
    const { refusal } = decided;
    call.facts.level = refusal.level;
    const error = new GatewayError(refusal.code, {
      headers: refusalHeaders(refusal, ask.costTokens, subject.principal.tenant.tokens_per_minute),
    });
    call.facts.failure = error;
    settleWithoutSlot(call, permit, error.status);
    throw new AlreadySettled(error);
  }
  const { grant } = decided;
  call.facts.queueWaitMs = grant.queueWaitMs;
  call.facts.level = grant.level;
  return { ...subject, ask, permit, grant };
}

/**
 * Asks the Cell. Until its answer is here nobody knows whether it holds a place for the request. The answer is waited for,
 * also when the client leaves: a grant in it counts as used at once, and is told otherwise only by whoever gets to see it.
 */
async function askCell(call: Call, ask: AdmissionRequest): Promise<AdmissionOutcome> {
  const before = call.facts.queueEntryUnknown;
  call.facts.queueEntryUnknown = true;
  const admitted = await call.ports.admission.admit(ask);
  call.facts.queueEntryUnknown = before;
  return admitted;
}

type Decided = Decision & { readonly permit: PermitHandle };

/** The Cell's decision once it is made; null when the Cell or the way to it is gone. Throws Settled when the client leaves. */
async function waitForDecision(call: Call, permit: PermitHandle, waiting: Waiting): Promise<Decision | Stale | null> {
  const gone = new Promise<never>((_, reject) => {
    const leave = () => reject(new ClientGone());
    if (call.request.signal.aborted) leave();
    else call.request.signal.addEventListener("abort", leave, { once: true });
  });
  const decision = permit.decision();
  try {
    return await Promise.race([decision, gone]);
  } catch (error) {
    decision.catch(() => undefined);
    if (!(error instanceof ClientGone)) return null;
    // A disposal is not heard while a decision is pending and this context lives on; and the row is to be somebody's.
    call.facts.queueWaitMs = waitedMs(call, waiting) ?? 0;
    settleWithoutSlot(call, permit, 499, "queued");
    throw new AlreadySettled(error);
  } finally {
    gone.catch(() => undefined);
  }
}

function askOf(call: Call, subject: AdmissionSubject, prepared: Prepared, waiting: Waiting): AdmissionRequest {
  const { principal, model } = subject;
  const { key, tenant } = principal;
  const { estimate } = prepared;
  const measure = prepared.measure();
  const billed = bill(model, estimate, measure, null);
  // Term budgets reserve what the client states, so that a client that states it cannot overrun (decisions §19.2).
  const stated = { ...estimate, outputTokens: estimate.statedOutputTokens ?? estimate.outputTokens };
  return {
    requestId: call.requestId,
    tenant: { id: tenant.id, name: tenant.name, weight: tenant.weight, maxInFlight: tenant.max_in_flight },
    group: { name: tenant.fairshare_group, weight: tenant.group_weight },
    model: { name: model.model_name, admissionWeight: model.admission_weight, maxInFlight: model.max_in_flight },
    costTokens: estimate.totalTokens,
    revs: subjectRevs(call, subject),
    openUntilMs: openUntilMs(tenant, call.ports.clock()),
    waitedMs: waitedMs(call, waiting),
    limits: limitsOf(key, tenant),
    need: {
      bucketTokens: estimate.totalTokens,
      termTokens: Math.max(totalTokens(stated), 1),
      nanoUsd: nanoUsdOf(bill(model, stated, measure, null).costUsd),
    },
    row: usageRowOf(call, { statusCode: 499, admission: "queued" }),
    estimate: billed,
  };
}
