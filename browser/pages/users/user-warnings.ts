/** What an admin should know before a change of somebody's access is saved (docs/rules/users.md#approval). Pure. */

/** What decides about somebody's access. */
export interface Access {
  readonly status: string;
  readonly role: string;
  readonly tenant_id: string | null;
}

interface AccessChange {
  readonly before: Access;
  readonly after: Access;
  /** The admin who makes the change changes the own account. */
  readonly isSelf: boolean;
  /** Active admins besides this user and the break-glass admin; null: not known. */
  readonly otherAdmins: number | null;
}

type Warning = "self" | "last_admin" | "new_admin" | "no_tenant";

const isAdmin = ({ status, role }: Access): boolean => status === "active" && role === "admin";

/** The warnings of a change, the gravest first; empty when it needs none. */
export function accessWarnings({ before, after, isSelf, otherAdmins }: AccessChange): readonly Warning[] {
  const losesAdmin = isAdmin(before) && !isAdmin(after);
  const warnings: readonly (readonly [Warning, boolean])[] = [
    ["self", losesAdmin && isSelf],
    ["last_admin", losesAdmin && otherAdmins === 0],
    ["new_admin", !isAdmin(before) && isAdmin(after)],
    ["no_tenant", after.status === "active" && after.role === "user" && after.tenant_id === null],
  ];
  return warnings.filter(([, holds]) => holds).map(([warning]) => warning);
}
