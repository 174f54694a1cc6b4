/** Roles of people in the console (docs/rules/users.md#roles). Without schemas: pages load it at once. */

/** The strongest first. `admin` and `auditor` see every tenant, the others one at a time. */
export const USER_ROLES = ["admin", "auditor", "user", "viewer"] as const;
export type UserRole = (typeof USER_ROLES)[number];

export const WIDE_ROLES = ["admin", "auditor"] as const satisfies readonly UserRole[];
/** A role for every tenant. */
export type WideRole = (typeof WIDE_ROLES)[number];

export const TENANT_ROLES = ["user", "viewer"] as const satisfies readonly UserRole[];
/** A role in one tenant. */
export type TenantRole = (typeof TENANT_ROLES)[number];

/** True for a role that sees every tenant. */
export function isWide(role: UserRole): role is WideRole {
  return role === "admin" || role === "auditor";
}

/** True for a role that changes nothing. */
export function isReadOnly(role: UserRole): boolean {
  return role === "auditor" || role === "viewer";
}
