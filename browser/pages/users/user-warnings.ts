/** What an admin should know before a change of somebody's access is saved (docs/rules/users.md#approval). Pure. */

/** What decides about somebody's access. */
export interface Access {
  readonly status: string;
  readonly role: string;
  readonly tenant_id: string | null;
  /** Further tenants. */
  readonly more_tenants?: readonly unknown[];
}

interface AccessChange {
  readonly before: Access;
  readonly after: Access;
  /** The admin who makes the change changes the own account. */
  readonly isSelf: boolean;
  /** Active admins besides this user and the break-glass admin; null: not known. */
  readonly otherAdmins: number | null;
}

type Warning = "self" | "last_admin" | "new_admin" | "new_auditor" | "no_tenant";

const isActiveAs = ({ status, role }: Access, ...roles: readonly string[]): boolean =>
  status === "active" && roles.includes(role);
const isAdmin = (access: Access): boolean => isActiveAs(access, "admin");

/** The warnings of a change, the gravest first; empty when it needs none. */
export function accessWarnings({ before, after, isSelf, otherAdmins }: AccessChange): readonly Warning[] {
  const losesAdmin = isAdmin(before) && !isAdmin(after);
  const warnings: readonly (readonly [Warning, boolean])[] = [
    ["self", losesAdmin && isSelf],
    ["last_admin", losesAdmin && otherAdmins === 0],
    ["new_admin", !isAdmin(before) && isAdmin(after)],
    ["new_auditor", !isActiveAs(before, "admin", "auditor") && isActiveAs(after, "auditor")],
    ["no_tenant", isActiveAs(after, "user", "viewer") && after.tenant_id === null && !after.more_tenants?.length],
  ];
  return warnings.filter(([, holds]) => holds).map(([warning]) => warning);
}
