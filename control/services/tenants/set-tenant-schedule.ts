/**
 * Replaces when a tenant may be served: the bounds of its term and its weekly windows (decisions §3.2, §3.6).
 */
import { type Tenant, tenantScheduleSchema } from "../../../shared/schema/tenant.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { parse, parseId } from "../../kernel/parse.ts";
import { changeTenant } from "../../resources/change-tenant.ts";

/** The tenant. Throws 400, 404. */
export async function setTenantSchedule(ctx: VerbContext, id: string, input: unknown): Promise<Written<Tenant>> {
  const tenantId = parseId(id);
  const { timezone, active_from, active_until, weekly_windows } = parse(tenantScheduleSchema, input);
  const instant = (text: string | null): Date | null => (text === null ? null : new Date(text));
  return await changeTenant(ctx, tenantId, "set_tenant_schedule", () => ({
    ...(timezone === undefined ? {} : { timezone }),
    active_from: instant(active_from),
    active_until: instant(active_until),
    weekly_windows,
  }));
}
