/**
 * People who sign in to the console, on the Management API: record, filters and body (docs/rules/users.md).
 */
import * as z from "zod";
import { recordShape } from "../fields/field-table.ts";
import { TENANT_ROLES, USER_ROLES } from "../fields/roles.ts";
import { USER_FIELDS, USER_STATUSES } from "../fields/user-fields.ts";
import { oneOf, queryText, revField, storedId } from "./common.ts";

const MORE_TENANTS_MAX = 100;

const userTenantSchema = z.object({ tenant_id: z.string(), role: z.enum(TENANT_ROLES) }).meta({ id: "UserTenant" });
export type UserTenant = z.infer<typeof userTenantSchema>;

export const userSchema = z
  .object({
    ...recordShape(USER_FIELDS),
    more_tenants: z
      .array(userTenantSchema)
      .meta({ description: "Further tenants than `tenant_id`, as an admin set them" }),
    group_tenants: z.array(userTenantSchema).meta({ description: "Tenants that the provider's groups give" }),
    rev: revField,
  })
  .meta({ id: "User" });

export type User = z.infer<typeof userSchema>;

/** A user in the list. */
export const listedUserSchema = userSchema
  .extend({ tenant_name: z.string().nullable().meta({ description: "Name of the user's tenant" }) })
  .meta({ id: "ListedUser" });
export type ListedUser = z.infer<typeof listedUserSchema>;

/** Filters of GET /users in addition to paging. */
export const usersFilterSchema = z.object({
  status: oneOf(USER_STATUSES).optional(),
  q: queryText.meta({ description: "Part of the email or name, case-insensitive" }).optional(),
});

/** Tenants with a role in each. */
const moreTenants = z
  .array(z.strictObject({ tenant_id: storedId, role: oneOf(TENANT_ROLES) }), { error: "must be a list" })
  .max(MORE_TENANTS_MAX, `must have at most ${MORE_TENANTS_MAX} entries`)
  .refine((list) => new Set(list.map(({ tenant_id }) => tenant_id)).size === list.length, "names a tenant twice");

/** PATCH /users/{id}: omitted fields keep their value. */
export const updateUserSchema = z
  .object({
    status: oneOf(USER_STATUSES),
    role: oneOf(USER_ROLES),
    tenant_id: storedId.nullable(),
    more_tenants: moreTenants,
  })
  .partial()
  .meta({ id: "UpdateUser" });
