/** Invitations to the console, on the Management API (docs/rules/users.md#invitations). */
import * as z from "zod";
import { shownTime } from "../fields/common-fields.ts";
import { isWide, USER_ROLES, type UserRole } from "../fields/roles.ts";
import { oneOf, storedId, whole } from "./common.ts";
import { personEmail } from "./person-email.ts";

const TENANTS_MAX = 100;
const DAYS_MAX = 90;
const DAYS = 7;

export const invitationSchema = z
  .object({
    id: z.string(),
    email: z.string(),
    role: z.enum(USER_ROLES),
    tenant_ids: z.array(z.string()),
    invited_by: z.string().meta({ description: "Who invited, as in the audit log" }),
    expires_at: shownTime,
    created_at: shownTime,
  })
  .meta({ id: "Invitation" });
export type Invitation = z.infer<typeof invitationSchema>;

/** A role for one tenant needs one; a role for all tenants must have none. */
function checkTenants(
  { role, tenant_ids }: { role: UserRole; tenant_ids: readonly string[] },
  context: z.RefinementCtx,
) {
  const refuse = (message: string): void => context.addIssue({ code: "custom", path: ["tenant_ids"], message });
  if (isWide(role) && tenant_ids.length > 0) refuse(`must be empty: the role ${role} is for every tenant`);
  if (!isWide(role) && tenant_ids.length === 0) refuse(`choose a tenant for a ${role}`);
  if (new Set(tenant_ids).size !== tenant_ids.length) refuse("names a tenant twice");
}

/** POST /invitations. */
export const createInvitationSchema = z
  .object({
    email: personEmail,
    role: oneOf(USER_ROLES),
    tenant_ids: z
      .array(storedId, { error: "must be a list" })
      .max(TENANTS_MAX, `must have at most ${TENANTS_MAX} entries`)
      .default([]),
    expires_in_days: whole(1, DAYS_MAX).default(DAYS),
  })
  .superRefine(checkTenants)
  .meta({ id: "CreateInvitation" });
