/**
 * The changes of single fields of a tenant, as a table: the schema of the body, the name of the change in the audit log,
 * the columns that follow from the body. Every change locks the row, updates it, writes the audit entry
 * and publishes the keys of the tenant again (docs/rules/tenants.md#writes).
 */
import { eq } from "drizzle-orm";
import type { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import {
  patchTenantSchema,
  type Tenant,
  tenantAllowlistSchema,
  tenantBudgetSchema,
  tenantGroupSchema,
  tenantQuotaSchema,
  tenantScheduleSchema,
  tenantStatusSchema,
  tenantWeightSchema,
  updateTenantSchema,
} from "../../shared/schema/tenant.ts";
import {
  tenantCompressionSchema,
  tenantGuardrailsSchema,
  tenantSyntheticSchema,
  tracingSchema,
} from "../../shared/schema/tenant-policy.ts";
import { type TenantRow, tenants } from "../db/schema/tenancy.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isForeignKeyViolation, isUniqueViolation } from "../kernel/database-errors.ts";
import { parse, parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import {
  checkCapture,
  mergedCompression,
  mergedGuardrails,
  type TenantColumns,
  tenantColumns,
} from "./tenant-columns.ts";
import { lockTenant, tenantRecord } from "./tenant-record.ts";

/** One row of the table. */
interface ChangeRule<Body> {
  readonly body: z.ZodType<Body>;
  /** Action in the audit log (docs/rules/management-api.md#audit-log). */
  readonly action: string | ((body: Body) => string);
  /** Gets the row before the change, and the time of the change. */
  readonly columns: (body: Body, before: TenantRow, now: Date) => TenantColumns;
}

/** A change as a verb, and the schema of its body. */
interface TenantChange {
  readonly body: z.ZodType;
  /** The tenant. Throws 400, 400 `unknown_fairshare_group`, 404, 409. */
  readonly apply: (ctx: VerbContext, id: string, input: unknown) => Promise<Written<Tenant>>;
}

export const tenantChanges = {
  /** Every field at once. */
  all: change({ body: patchTenantSchema, action: "update_tenant", columns: tenantColumns }),
  /** The descriptive fields. */
  details: change({ body: updateTenantSchema, action: "update_tenant", columns: tenantColumns }),
  /** Every status may follow every other. */
  status: change({ body: tenantStatusSchema, action: "set_tenant_status", columns: tenantColumns }),
  /** The tenant's share within its group. */
  weight: change({ body: tenantWeightSchema, action: "update_weight", columns: tenantColumns }),
  /** Limits per minute and the cap of requests in flight; an omitted cap means none. */
  quota: change({ body: tenantQuotaSchema, action: "update_quota", columns: tenantColumns }),
  /** The only change whose body the database may refuse: the group may not exist. */
  group: change({ body: tenantGroupSchema, action: "update_tenant_group", columns: tenantColumns }),
  budget: change({ body: tenantBudgetSchema, action: "set_tenant_budget", columns: tenantColumns }),
  /** When access begins and ends, and the weekly windows (docs/rules/tenants.md#access-windows). */
  schedule: change({ body: tenantScheduleSchema, action: "set_tenant_schedule", columns: tenantColumns }),
  allowlist: change({ body: tenantAllowlistSchema, action: "set_tenant_allowlist", columns: tenantColumns }),
  guardrails: change({
    body: tenantGuardrailsSchema,
    action: "set_tenant_guardrails",
    columns: ({ policy }, before) => ({ guardrails_policy: mergedGuardrails(policy, before, "policy") ?? null }),
  }),
  compression: change({
    body: tenantCompressionSchema,
    action: "set_tenant_compression",
    columns: ({ policy }, before) => ({ compression_policy: mergedCompression(policy, before) ?? null }),
  }),
  /** For all keys of the tenant. */
  tracing: change({
    body: tracingSchema,
    action: ({ tracing_enabled }) => (tracing_enabled ? "enable_tenant_tracing" : "disable_tenant_tracing"),
    columns: tenantColumns,
  }),
  /** Whether the tenant's traffic is benchmark or test traffic. */
  synthetic: change({ body: tenantSyntheticSchema, action: "set_tenant_synthetic", columns: tenantColumns }),
} satisfies Readonly<Record<string, TenantChange>>;

function change<Body>(rule: ChangeRule<Body>): TenantChange {
  return {
    body: rule.body,
    apply: async (ctx, id, input) => await applyChange(ctx, parseId(id), rule, parse(rule.body, input)),
  };
}

async function applyChange<Body>(
  ctx: VerbContext,
  id: string,
  rule: ChangeRule<Body>,
  body: Body,
): Promise<Written<Tenant>> {
  return await write(ctx, async (tx, journal) => {
    const before = await lockTenant(tx, id);
    ctx.checkRecord?.(tenantRecord(before));
    const now = ctx.now();
    const columns = rule.columns(body, before, now);
    checkCapture(ctx, columns.capture_until);
    try {
      const [after] = await tx
        .update(tenants)
        .set({ ...columns, rev: journal.rev, updated_at: now })
        .where(eq(tenants.id, id))
        .returning();
      if (after === undefined) throw new GatewayError("not_found");
      journal.audit({
        action: typeof rule.action === "string" ? rule.action : rule.action(body),
        entityType: "tenant",
        entityId: id,
        detail: changedFields(before, columns),
      });
      journal.tenantChanged(id);
      // also when it is turned on: one may have come after the end of the last time
      if (columns.capture_until === null || (columns.capture_until !== undefined && before.capture_until === null))
        journal.capturesRemoved(id);
      return tenantRecord(after);
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `tenant '${columns.name ?? ""}'`, param: "name" });
      if (isForeignKeyViolation(error))
        throw new GatewayError("unknown_fairshare_group", { value: columns.fairshare_group ?? "" });
      throw error;
    }
  });
}
