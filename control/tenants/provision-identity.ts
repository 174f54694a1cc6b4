/**
 * A key for a subject of an OIDC provider, at its first use (docs/rules/identities.md#keys-of-subjects). The tenant is
 * created with its defaults when no tenant has that name. A key that exists is left as it is; its copy is written again,
 * because the Worker did not find it.
 */
import { eq } from "drizzle-orm";
import { keyPrefix } from "../../shared/access/api-key.ts";
import { GatewayError } from "../../shared/errors.ts";
import { NO_RATES } from "../../shared/fields/rates.ts";
import { identityKeyHash, type ProvisionedIdentity, provisionIdentitySchema } from "../../shared/schema/identity.ts";
import { createTenantSchema } from "../../shared/schema/tenant.ts";
import type { Transaction } from "../db/connect.ts";
import { apiKeys, tenants } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import type { WriteJournal } from "../kernel/write-journal.ts";
import { insertTenant } from "./insert-tenant.ts";

/** Less than the Worker waits. A copy that is published later would be missing when the Worker looks for the key. */
const PUBLISH_WITHIN_MS = 12_000;

/** The key's hash, and whether its tenant is new. Throws 400. */
export async function provisionIdentity(ctx: VerbContext, input: unknown): Promise<Written<ProvisionedIdentity>> {
  const identity = parse(provisionIdentitySchema, input);
  const hash = identityKeyHash(identity.issuer, identity.subject);
  return await write(
    ctx,
    async (tx, journal) => {
      const [known] = await tx.select({ id: apiKeys.id }).from(apiKeys).where(eq(apiKeys.key_hash, hash));
      if (known !== undefined) {
        journal.republishKey(hash);
        return { key_hash: hash, tenant_created: false };
      }
      const now = ctx.now();
      const tenant = await tenantNamed(tx, journal, identity.tenant, now);
      const [row] = await tx
        .insert(apiKeys)
        .values({
          tenant_id: tenant.id,
          name: identity.name,
          description: "",
          key_prefix: keyPrefix(hash),
          key_hash: hash,
          disabled: false,
          tracing_enabled: false,
          ...NO_RATES,
          admin_limits: {},
          created_at: now,
          updated_at: now,
          rev: journal.rev,
        })
        .returning();
      if (row === undefined) throw new GatewayError("internal_error");
      journal.audit({
        action: "provision_identity",
        entityType: "api_key",
        entityId: row.id,
        detail: { tenant_id: tenant.id, name: row.name, key_prefix: row.key_prefix, issuer: identity.issuer },
      });
      journal.keyChanged(row);
      return { key_hash: hash, tenant_created: tenant.created };
    },
    PUBLISH_WITHIN_MS,
  );
}

/** The tenant with a name, locked (docs/rules/freshness.md#write-path), or a new one. */
async function tenantNamed(
  tx: Transaction,
  journal: WriteJournal,
  name: string,
  now: Date,
): Promise<{ readonly id: string; readonly created: boolean }> {
  const [found] = await tx.select({ id: tenants.id }).from(tenants).where(eq(tenants.name, name)).for("update");
  if (found !== undefined) return { id: found.id, created: false };
  const row = await insertTenant(tx, journal, parse(createTenantSchema, { name }), now);
  return { id: row.id, created: true };
}
