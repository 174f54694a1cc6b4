/** Why a queue waits, and what would let it go (docs/rules/fairshare.md#why-a-request-waits). Pure. */
import type { FairshareLive, TenantLoad, WaitingQueue } from "../../shared/schema/load.ts";
import { explainTexts } from "../messages/en/explain.ts";
import { texts } from "../messages/texts.ts";
import { formatCount, formatMs } from "../ui/format.ts";
import { type LinkTarget, pageTarget, tenantTarget } from "./link-target.ts";

const text = texts("explain", explainTexts);

/** A queue in words. */
interface WaitingExplanation {
  /** The limit, in two or three words. */
  readonly reason: string;
  readonly sentence: string;
  /** What lets it go. */
  readonly remedy: string;
  /** Where the limit can be changed; null where it is on this page, or ends automatically. */
  readonly link: LinkTarget | null;
}

/** A queue that a limit holds up, in words. */
export function explainWaiting(queue: WaitingQueue): WaitingExplanation {
  const { reason, tenant, model, group, queued, tenant_id } = queue;
  return {
    reason: text(`wait_${reason}_name`, { group }),
    sentence: text("waiting", { count: queued, tenant, model, why: text(`wait_${reason}`, { group }) }),
    remedy: text(`wait_${reason}_fix`),
    link: linkOf(reason, tenant_id, model),
  };
}

/** A call that has no answer yet. */
interface WaitingCall {
  /** Undefined: of any tenant, as with a pasted key. */
  readonly tenantId: string | undefined;
  readonly model: string;
  /** How long ago it was sent, at the time of the live view; negative: it was sent after that. */
  readonly waitedMs: number;
}

/** How old the live view can be, and how long the relay can take until the gateway has the request: it may create a key first. */
const LIVE_AGE_MS = 5000;

/** Why a call has no slot yet, its place, and who holds the slots; null: no request waits in its queue for as long as the call. */
export function explainCallWait(live: FairshareLive, { tenantId, model, waitedMs }: WaitingCall): string | null {
  const queue = live.waiting.find(
    (one) =>
      mayWait(one.oldest_wait_ms, waitedMs) &&
      (tenantId === undefined || one.tenant_id === tenantId) &&
      (model === "auto" || one.model === model),
  );
  if (queue === undefined) return null;
  const place = queue.queued === 1 ? text("waitFirst") : text("waitAhead", { count: queue.queued - 1 });
  return `${explainWaiting(queue).sentence} ${place} ${slotHolders(live)}`;
}

/** Whether the request with the longest wait can be the call; if only younger ones wait, the call has its slot. */
function mayWait(oldestMs: number, waitedMs: number): boolean {
  return waitedMs >= 0 && oldestMs + LIVE_AGE_MS > waitedMs;
}

/** The same of what a tenant's people see of its load. */
export function explainOwnCallWait(load: TenantLoad, waitedMs: number): string | null {
  return load.oldest_wait_ms !== null && mayWait(load.oldest_wait_ms, waitedMs) ? explainLoad(load) : null;
}

/** What a tenant's requests do now, and why some of them wait. */
export function explainLoad({ in_flight: running, queued, oldest_wait_ms: oldestMs, waits_for }: TenantLoad): string {
  const longest = oldestMs === null ? "" : text("loadLongest", { duration: formatMs(oldestMs) });
  const why = waits_for === null ? "" : ` ${text(`waits_${waits_for}`)}`;
  return `${loadText(running, queued)}${longest}.${why}`;
}

/** How many requests run and wait; null: not known. */
export function loadText(running: number | null, queued: number | null): string {
  return text("load", { running: formatCount(running), queued: formatCount(queued) });
}

/** How many slots of the cell are in use, and by which tenants, the most first. */
function slotHolders(live: Pick<FairshareLive, "global_in_flight" | "max_in_flight" | "tenants">): string {
  const holders = live.tenants.filter(({ in_flight }) => in_flight > 0).sort((a, b) => b.in_flight - a.in_flight);
  return text("slotHolders", {
    used: live.global_in_flight,
    all: live.max_in_flight,
    names: holders.map(({ name, in_flight }) => `${name} ${in_flight}`).join(", "),
  });
}

function linkOf(reason: WaitingQueue["reason"], tenantId: string, model: string): LinkTarget | null {
  switch (reason) {
    case "tenant_cap":
    case "tenant_share":
      return tenantTarget(tenantId, "overview");
    case "budget":
      return tenantTarget(tenantId, "budget");
    case "model_cap":
      return pageTarget("/logs", { model });
    case "group_share":
    case "cell_full":
    case "headroom":
      return null;
    default:
      return reason satisfies never;
  }
}
