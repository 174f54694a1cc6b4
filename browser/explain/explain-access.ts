/** Whether a tenant is served at this moment, why not, and until when (docs/rules/tenants.md#access-windows). Pure. */
import { accessRefusal } from "../../shared/access/access-window.ts";
import type { Records } from "../data/api.ts";
import { explainTexts } from "../messages/en/explain.ts";
import { texts } from "../messages/texts.ts";
import { nextAccessChangeMs } from "../time/access-change.ts";
import { formatAge, formatInstant, instantOf } from "../time/instants.ts";

const text = texts("explain", explainTexts);

type Terms = Pick<Records["Tenant"], "status" | "timezone" | "active_from" | "active_until" | "weekly_windows">;

/** Access in words. */
interface AccessExplanation {
  readonly isServed: boolean;
  /** Whether it is served now; else the first reason against it. */
  readonly sentence: string;
  /** When that changes automatically, epoch ms; null if never. */
  readonly changeMs: number | null;
  /** The same in words; null if never. */
  readonly change: string | null;
}

/** By the same rule as the data plane. Times are those of the tenant's clock. */
export function explainAccess(tenant: Terms, nowMs: number): AccessExplanation {
  const { timezone: zone } = tenant;
  const fromMs = instantOf(tenant.active_from);
  const untilMs = instantOf(tenant.active_until);
  const terms = {
    ...tenant,
    weekly_windows: [...tenant.weekly_windows],
    active_from_ms: fromMs,
    active_until_ms: untilMs,
  };
  const refusal = accessRefusal(terms, nowMs);
  const changeMs = nextAccessChangeMs(terms, nowMs);
  const at = (instantMs: number | null) => ({
    instant: formatInstant(zone, instantMs, "minute"),
    age: formatAge(nowMs, instantMs),
  });
  const isServed = refusal === null;
  const change = changeMs === null ? null : text(isServed ? "accessUntil" : "accessFrom", at(changeMs));
  const explained = (sentence: string): AccessExplanation => ({ isServed, sentence, changeMs, change });
  switch (refusal) {
    case null:
      return explained(text("accessOpen"));
    case "tenant_not_started":
      return explained(text("accessNotStarted", at(fromMs)));
    case "tenant_expired":
      return explained(text("accessExpired", at(untilMs)));
    case "outside_access_window":
      return explained(text("accessOutside"));
    default:
      return explained(text("accessInactive"));
  }
}
