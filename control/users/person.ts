/**
 * What a person may see and do now (docs/rules/users.md#roles): what an admin set and what the provider's groups gave add
 * up, and the stronger role counts. Pure.
 */
import { isWide, type TenantRole, USER_ROLES, type UserRole } from "../../shared/fields/roles.ts";
import type { UserRow } from "../db/schema/users.ts";

/** A tenant that a person may open, with the role there. */
interface PersonTenant {
  readonly id: string;
  readonly name: string;
  readonly role: TenantRole;
}

/** A user with the role and the tenant that count in a session. */
export interface ConsolePerson extends UserRow {
  /** Of the session. */
  readonly session_id: string;
  /** All that the person may open, by name; empty for who sees every tenant. */
  readonly tenants: readonly PersonTenant[];
}

/** One way in which somebody has got a tenant. */
export interface TenantGrant {
  readonly id: string;
  readonly name: string;
  /** Of the row beside the user; null: the tenant is that of the user's own row. */
  readonly role: TenantRole | null;
}

/**
 * The person of a session; `grants` are sorted by the tenants' names, and `chosen` is the tenant of the session. A tenant
 * that the person has lost is not chosen any more.
 */
export function personFrom(
  user: UserRow,
  grants: readonly TenantGrant[],
  { id, chosen }: { readonly id: string; readonly chosen: string | null },
): ConsolePerson {
  const wide = strongest([user.role, ...(user.group_role === null ? [] : [user.group_role])]);
  if (isWide(wide)) return { ...user, role: wide, tenant_id: null, session_id: id, tenants: [] };
  const own = user.role as TenantRole;
  const tenants = [...Map.groupBy(grants, (grant) => grant.id).values()].map((ways): PersonTenant => {
    const [{ id: tenantId, name } = { id: "", name: "" }] = ways;
    const roles = ways.flatMap(({ role }) => (role === null ? [] : [role]));
    return { id: tenantId, name, role: strongest(tenantId === user.tenant_id ? [own, ...roles] : roles) };
  });
  const current =
    tenants.find((one) => one.id === chosen) ?? tenants.find((one) => one.id === user.tenant_id) ?? tenants[0];
  return { ...user, role: current?.role ?? own, tenant_id: current?.id ?? null, session_id: id, tenants };
}

/** True for who spends money of the tenant, whichever one the session shows. */
export function mayCallAs({ status, role, tenants }: ConsolePerson, tenantId: string): boolean {
  if (status !== "active") return false;
  return role === "admin" || tenants.some((one) => one.id === tenantId && one.role === "user");
}

/** True for who may see what this person saw `before`, whichever tenant the session shows by now. */
export function seesStill({ role, tenants }: ConsolePerson, before: ConsolePerson): boolean {
  if (isWide(before.role) || isWide(role)) return role === "admin" || role === before.role;
  return tenants.some(({ id }) => id === before.tenant_id);
}

/** The strongest of these roles; there is at least one. */
export function strongest<R extends UserRole>(roles: readonly R[]): R {
  return USER_ROLES.find((role) => (roles as readonly UserRole[]).includes(role)) as R;
}
