import type { Records } from "../../data/api.ts";
import type { ReadPath } from "../../data/reads.ts";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";

export type User = Records["User"];
export type ListedUser = Records["ListedUser"];

/** The strongest role for every tenant, set by hand or given by groups; else the one in the first tenant. */
export function shownRole({ role, group_role }: Pick<User, "role" | "group_role">): User["role"] {
  return role === "admin" || group_role === "admin" ? "admin" : (group_role ?? role);
}

/** What shows users. */
export const USER_READS: readonly ReadPath[] = ["/api/v1/users", "/api/v1/users/{id}", "/api/v1/audit"];

/** What shows invitations. */
export const INVITATION_READS: readonly ReadPath[] = ["/api/v1/invitations", "/api/v1/audit"];

/** What shows the roles of groups. */
export const GRANT_READS: readonly ReadPath[] = ["/api/v1/group-grants", "/api/v1/audit"];

/** The provider of the break-glass admin. */
export const BREAK_GLASS = "local";

const TONES: Readonly<Record<User["status"], Tone>> = { pending: "warn", active: "good", disabled: "neutral" };

export function UserBadge({ status }: { readonly status: User["status"] }) {
  return <Badge tone={TONES[status]}>{choiceLabel(status)}</Badge>;
}
