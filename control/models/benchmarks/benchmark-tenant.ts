/**
 * The tenant of one benchmark (docs/rules/benchmarks.md#tenant): synthetic, with a key that ends when the benchmark must have
 * ended, named in the benchmark's row from the moment on in which it is there.
 */
import { hashKeySecret, keyPrefix, makeKeySecret, pepperId } from "../../../shared/access/api-key.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { NO_RATES } from "../../../shared/fields/rates.ts";
import { createTenantSchema } from "../../../shared/schema/tenant.ts";
import type { Transaction } from "../../db/connect.ts";
import { apiKeys } from "../../db/schema/tenancy.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { parse } from "../../kernel/parse.ts";
import type { WriteJournal } from "../../kernel/write-journal.ts";
import { deleteTenant } from "../../tenants/delete-tenant.ts";
import { insertTenant } from "../../tenants/insert-tenant.ts";
import type { BenchmarkRow } from "./tables.ts";

/** Makes the tenant and its key within the transaction that makes the row. */
export async function makeTenant(
  ctx: VerbContext,
  tx: Transaction,
  journal: WriteJournal,
  { id, model, deadline }: { readonly id: string; readonly model: string; readonly deadline: Date },
): Promise<{ readonly tenantId: string; readonly secret: string }> {
  const now = ctx.now();
  const body = parse(createTenantSchema, {
    name: `gateway-benchmark-${id}`,
    description: "Created for one benchmark and removed when it ends",
    synthetic: true,
  });
  const tenant = await insertTenant(tx, journal, body, now);
  const secret = makeKeySecret(ctx.randomBytes(24));
  const [key] = await tx
    .insert(apiKeys)
    .values({
      tenant_id: tenant.id,
      name: "benchmark",
      description: "",
      key_prefix: keyPrefix(secret),
      key_hash: hashKeySecret(secret, ctx.pepper),
      key_pepper: pepperId(ctx.pepper),
      disabled: false,
      tracing_enabled: false,
      ...NO_RATES,
      expires_at: deadline,
      allowed_models: [model],
      created_at: now,
      updated_at: now,
      rev: journal.rev,
    })
    .returning();
  if (key === undefined) throw new GatewayError("internal_error");
  journal.keyChanged(key);
  return { tenantId: tenant.id, secret };
}

/** Removes the tenant of a benchmark with its key; one that is gone already is fine. */
export async function removeTenant(ctx: VerbContext, { tenant_id }: Pick<BenchmarkRow, "tenant_id">): Promise<void> {
  if (tenant_id === null) return;
  try {
    await deleteTenant(ctx, tenant_id);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== "not_found") throw error;
  }
}
