/** Whether a tenant is served at this moment, and why not (docs/rules/tenants.md#access-windows). Pure. */
import { accessRefusal } from "../../../shared/access-window.ts";
import type { Records } from "../../data/api.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { formatAge, formatInstant, instantOf } from "../../time/instants.ts";

const text = texts("tenant", tenantTexts);

type Terms = Pick<Records["Tenant"], "status" | "timezone" | "active_from" | "active_until" | "weekly_windows">;

/** By the same rule as the data plane; the sentence names the first reason. */
export function servedNow(tenant: Terms, nowMs: number): { readonly isServed: boolean; readonly sentence: string } {
  const fromMs = instantOf(tenant.active_from);
  const untilMs = instantOf(tenant.active_until);
  const terms = {
    ...tenant,
    weekly_windows: [...tenant.weekly_windows],
    active_from_ms: fromMs,
    active_until_ms: untilMs,
  };
  const refusal = accessRefusal(terms, nowMs);
  const reason = (at: number | null, id: "reason_tenant_not_started" | "reason_tenant_expired"): string =>
    text(id, { instant: formatInstant(tenant.timezone, at, "minute"), age: formatAge(nowMs, at) });
  switch (refusal) {
    case null:
      return { isServed: true, sentence: text("isServed") };
    case "tenant_not_started":
      return { isServed: false, sentence: text("servedNot", { reason: reason(fromMs, "reason_tenant_not_started") }) };
    case "tenant_expired":
      return { isServed: false, sentence: text("servedNot", { reason: reason(untilMs, "reason_tenant_expired") }) };
    case "outside_access_window":
      return { isServed: false, sentence: text("servedNot", { reason: text("reason_outside_access_window") }) };
    default:
      return { isServed: false, sentence: text("servedNot", { reason: text("reason_tenant_not_active") }) };
  }
}
