/** What groups of sign-in providers give, on the Management API (docs/rules/users.md#groups). */
import * as z from "zod";
import { shownTime } from "../fields/common-fields.ts";
import { isWide, USER_ROLES } from "../fields/roles.ts";
import { oneOf, requiredText, storedId, warningsField } from "./common.ts";

const GROUP_MAX = 256;

export const groupGrantSchema = z
  .object({
    id: z.string(),
    provider: z.string().meta({ description: "Id of the provider in `OIDC_PROVIDERS`" }),
    group_name: z.string().meta({ description: "As the provider's claim names it" }),
    role: z.enum(USER_ROLES),
    tenant_id: z.string().nullable(),
    created_at: shownTime,
    warnings: warningsField,
  })
  .meta({ id: "GroupGrant" });
export type GroupGrant = z.infer<typeof groupGrantSchema>;

/** POST /group-grants. */
export const createGroupGrantSchema = z
  .object({
    provider: z.string({ error: "must be a string" }).regex(/^[a-z0-9-]{1,32}$/, "must be the id of a provider"),
    group_name: requiredText(GROUP_MAX),
    role: oneOf(USER_ROLES),
    tenant_id: storedId
      .nullable()
      .default(null)
      .meta({ examples: [null] }),
  })
  .refine(({ role, tenant_id }) => isWide(role) === (tenant_id === null), {
    path: ["tenant_id"],
    error: "choose a tenant for a user or viewer, and none for an admin or auditor",
  })
  .meta({ id: "CreateGroupGrant" });
