/**
 * What groups of sign-in providers give (docs/rules/users.md#groups): a role for every tenant, or a role in one. It is
 * applied when somebody signs in, beside what an admin has set by hand.
 */
import { and, asc, eq, inArray, sql } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { isWide, type TenantRole } from "../../shared/fields/roles.ts";
import { createGroupGrantSchema, type GroupGrant, groupGrantSchema } from "../../shared/schema/group-grant.ts";
import type { Transaction } from "../db/connect.ts";
import { groupGrants, type UserRow, users, userTenants } from "../db/schema/users.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isForeignKeyViolation, isUniqueViolation, withDatabaseErrors } from "../kernel/database-errors.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";
import { fieldError, parse, parseId } from "../kernel/parse.ts";
import { auditedWarnings, withWarnings } from "../kernel/warnings.ts";
import { write } from "../kernel/write.ts";
import { strongest } from "./person.ts";
import { setUserTenants } from "./user-tenants.ts";

/** More would be a mistake: a row is one group. */
const GRANTS_MAX = 1000;

const grantRecord = (row: typeof groupGrants.$inferSelect): GroupGrant => groupGrantSchema.parse(withIsoTimes(row));

/** All of them, by provider and group. */
export async function listGroupGrants(ctx: VerbContext): Promise<readonly GroupGrant[]> {
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select()
      .from(groupGrants)
      .orderBy(asc(groupGrants.provider), asc(groupGrants.group_name), asc(groupGrants.id)),
  );
  return rows.map(grantRecord);
}

/** The new grant. `providers`: the ids of those that name groups; null: they are not known here. Throws 400, 409. */
export async function createGroupGrant(
  ctx: VerbContext,
  input: unknown,
  providers: readonly string[] | null,
): Promise<Written<GroupGrant>> {
  const body = parse(createGroupGrantSchema, input);
  const warnings =
    providers === null || providers.includes(body.provider)
      ? []
      : [`no provider '${body.provider}' of OIDC_PROVIDERS has groups_claim, so this row gives nothing`];
  return await write(ctx, async (tx, journal) => {
    if ((await tx.$count(groupGrants)) >= GRANTS_MAX)
      throw fieldError("group_name", `is one too many: there can be ${GRANTS_MAX} rows`);
    try {
      const [row] = await tx
        .insert(groupGrants)
        .values({ ...body, created_at: ctx.now() })
        .returning();
      const record = grantRecord(row as typeof groupGrants.$inferSelect);
      const detail = { ...body, ...auditedWarnings(warnings) };
      journal.audit({ action: "create_group_grant", entityType: "group_grant", entityId: record.id, detail });
      return withWarnings(record, warnings);
    } catch (error) {
      if (isForeignKeyViolation(error)) throw fieldError("tenant_id", "is not a tenant");
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `this for group '${body.group_name}'`, param: "group_name" });
      throw error;
    }
  });
}

/** Takes a grant away: from each person at the next sign-in. Throws 400, 404. */
export async function deleteGroupGrant(ctx: VerbContext, id: string): Promise<Written<null>> {
  const grantId = parseId(id);
  return await write(ctx, async (tx, journal) => {
    const [row] = await tx.delete(groupGrants).where(eq(groupGrants.id, grantId)).returning();
    if (row === undefined) throw new GatewayError("not_found");
    const { provider, group_name, role, tenant_id } = row;
    const detail = { provider, group_name, role, tenant_id };
    journal.audit({ action: "delete_group_grant", entityType: "group_grant", entityId: grantId, detail });
    return null;
  });
}

/** What the groups of a person give now. */
export interface Granted {
  readonly group_role: UserRow["group_role"];
  readonly tenants: readonly { readonly tenant_id: string; readonly role: TenantRole }[];
}

export function givesAny({ group_role, tenants }: Granted): boolean {
  return group_role !== null || tenants.length > 0;
}

/** `groups`: those that the provider has named. */
export async function grantedBy(tx: Transaction, provider: string, groups: readonly string[]): Promise<Granted> {
  if (groups.length === 0) return { group_role: null, tenants: [] };
  const rows = await tx
    .select()
    .from(groupGrants)
    .where(and(eq(groupGrants.provider, provider), inArray(groupGrants.group_name, [...groups])));
  const wide = rows.flatMap(({ role }) => (isWide(role) ? [role] : []));
  const ofTenants = rows.flatMap(({ role, tenant_id }) =>
    isWide(role) || tenant_id === null ? [] : [{ tenant_id, role }],
  );
  return {
    group_role: wide.length === 0 ? null : strongest(wide),
    tenants: [...Map.groupBy(ofTenants, ({ tenant_id }) => tenant_id)].map(([tenant_id, ways]) => ({
      tenant_id,
      role: strongest(ways.map(({ role }) => role)),
    })),
  };
}

/** Gives a user exactly this by groups, and approves who waits and is given something. Says what has changed; null: nothing. */
export async function applyGranted(
  tx: Transaction,
  user: UserRow,
  { granted, now }: { readonly granted: Granted; readonly now: Date },
): Promise<UserRow | null> {
  const { group_role, tenants: given } = granted;
  const rows = await tx
    .select({ tenant_id: userTenants.tenant_id, role: userTenants.role })
    .from(userTenants)
    .where(and(eq(userTenants.user_id, user.id), eq(userTenants.source, "group")));
  const textOf = (list: Granted["tenants"]) =>
    list
      .map(({ tenant_id, role }) => `${tenant_id} ${role}`)
      .sort()
      .join();
  const isApproved = user.status === "pending" && givesAny(granted);
  if (!isApproved && user.group_role === group_role && textOf(rows) === textOf(given)) return null;
  await setUserTenants(tx, user.id, { source: "group", given });
  const rev = sql<number>`nextval('config_rev')`;
  const [row] = await tx
    .update(users)
    .set({ group_role, ...(isApproved ? { status: "active" } : {}), rev, updated_at: now })
    .where(eq(users.id, user.id))
    .returning();
  return row ?? null;
}
