/**
 * Step 6: a slot by fairshare, in one call to the Cell (design §4, §5). The answer comes at once; a queued request waits on
 * its permit, and lets go of it when its client leaves. An ask that the Cell calls stale is built anew once.
 */
import { issues } from "../../shared/alerts.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { RevItem } from "../../shared/internal.ts";
import type { ModelRecord } from "../../shared/records.ts";
import type { Admitted, Ask, Grant, PermitHandle } from "../domain/ask.ts";
import { billTokens } from "../domain/outcome.ts";
import { type Call, ClientGone, type Prepared, type Principal } from "./context.ts";
import { rowOf } from "./usage-record.ts";

/** What a request is admitted with. */
export interface Subject {
  readonly principal: Principal;
  readonly model: ModelRecord;
}

/** A held slot. Whoever gets it settles it, exactly once. */
export interface Slot extends Subject {
  readonly ask: Ask;
  readonly permit: PermitHandle;
  readonly grant: Grant;
}

/** A slot. `reload` reads key and model anew after stale copies were dropped. Throws 503, or ClientGone. */
export async function admit(
  call: Call,
  subject: Subject,
  prepared: Prepared,
  reload: () => Promise<Subject>,
): Promise<Slot> {
  const { directory, admission } = call.ports;
  let current = subject;
  let ask = askOf(call, current, prepared);
  let admitted = await admission.admit(ask);
  if (admitted.verdict === "stale") {
    directory.forget(admitted.items);
    current = await reload();
    ask = askOf(call, current, prepared);
    admitted = await admission.admit(ask);
  }
  if (admitted.verdict === "stale") throw new GatewayError("key_store_unavailable");
  let held = await waitForSlot(call, admitted);
  if (held === null) {
    // The Cell was reset while the request waited: nobody is dropped for waiting, so it queues anew.
    const again = await admission.admit(ask);
    held = again.verdict === "stale" ? null : await waitForSlot(call, again);
  }
  if (held === null) {
    call.ports.alerts.raise(issues.schedulerUnavailable(admission.cell, "reset again while a request waited"));
    throw new GatewayError("scheduler_unavailable");
  }
  call.facts.queueWaitMs = held.grant.queueWaitMs;
  return { ...current, ask, ...held };
}

type Held = Pick<Slot, "permit" | "grant">;

/** The slot once it is granted; null when the Cell is gone. Throws ClientGone. */
async function waitForSlot(
  call: Call,
  admitted: Exclude<Admitted<PermitHandle>, { verdict: "stale" }>,
): Promise<Held | null> {
  const { permit } = admitted;
  if (admitted.verdict === "granted") return { permit, grant: admitted.grant };
  const grant = await waitForGrant(call, permit);
  return grant === null ? null : { permit, grant };
}

async function waitForGrant(call: Call, permit: PermitHandle): Promise<Grant | null> {
  const gone = new Promise<never>((_, reject) => {
    const leave = () => reject(new ClientGone());
    if (call.request.signal.aborted) leave();
    else call.request.signal.addEventListener("abort", leave, { once: true });
  });
  const granted = permit.granted();
  try {
    return await Promise.race([granted, gone]);
  } catch (error) {
    granted.catch(() => undefined);
    permit[Symbol.dispose]();
    if (error instanceof ClientGone) throw error;
    return null;
  } finally {
    gone.catch(() => undefined);
  }
}

function askOf(call: Call, { principal, model }: Subject, prepared: Prepared): Ask {
  const { key, tenant } = principal;
  const billed = billTokens(model, prepared.estimate, null);
  const revs: readonly RevItem[] = [
    { kind: "key", id: key.key_hash, rev: key.rev },
    { kind: "tenant", id: tenant.id, rev: tenant.rev },
    { kind: "group", id: tenant.fairshare_group, rev: tenant.group_rev },
    { kind: "model", id: model.model_name, rev: model.rev },
    { kind: "all", id: "*", rev: call.ports.directory.epoch() },
  ];
  return {
    requestId: call.requestId,
    tenant: { id: tenant.id, name: tenant.name, weight: tenant.weight, maxInFlight: tenant.max_in_flight },
    group: { name: tenant.fairshare_group, weight: tenant.group_weight },
    model: { name: model.model_name, admissionWeight: model.admission_weight, maxInFlight: model.max_in_flight },
    costTokens: prepared.estimate.totalTokens,
    revs,
    row: rowOf(call, { statusCode: 499, admission: "queued" }),
    estimate: billed,
  };
}
